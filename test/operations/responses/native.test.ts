// Responses at providers that speak them themselves: requests, answers and events pass, but for what must differ.
import { describe, expect, test } from "bun:test";
import { handleCall } from "../../../src/engine/handle.ts";
import type { Json, JsonObject } from "../../../src/core/json.ts";
import { KeptObjects } from "../../../src/engine/keeping/kept-objects.ts";
import { RESPONSES } from "../../../src/operations/responses/responses.ts";
import { type CannedAnswer, cannedUpstream, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";

function gateway(answer: CannedAnswer, options: StubOptions = {}) {
  const stub = stubGateway({ permissions: [], upstream: cannedUpstream(answer), ...options });
  const ask = (body: JsonObject | string, headers: Record<string, string> = {}): Promise<Response> =>
    handleCall(
      RESPONSES,
      new Request("http://gateway.test/api/v1/responses", {
        method: "POST",
        headers: { authorization: stub.authorization, "content-type": "application/json", ...headers },
        body: typeof body === "string" ? body : JSON.stringify(body),
      }),
      stub.context,
    );
  return { ...stub, ask };
}

const JSON_TYPE = { "content-type": "application/json" };
const STREAM_TYPE = { "content-type": "text/event-stream" };
const ASKED = { model: "openai:gpt-9", input: "Why?" };

const WHOLE: JsonObject = {
  id: "resp_vendor",
  object: "response",
  created_at: 1_700_000_000,
  status: "completed",
  model: "gpt-9-2099-01-01",
  output: [
    { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAA+/=" },
    { id: "x_1", type: "item_of_tomorrow", of: { a: 1 } },
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: "Hé", annotations: [], logprobs: [] }],
    },
  ],
  store: false,
  new_member: { a: 1.5 },
  usage: {
    input_tokens: 11,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 3,
    output_tokens_details: { reasoning_tokens: 1 },
    total_tokens: 14,
  },
};

const headersOf = (body: string, extra: Record<string, string> = JSON_TYPE): CannedAnswer => ({
  headers: {
    ...extra,
    "openai-version": "2020-10-01",
    "openai-organization": "org-1",
    "x-ratelimit-remaining-requests": "9",
    "set-cookie": "a=b",
  },
  body,
});

describe("requests", () => {
  test("[d12.3] go out byte for byte, but for model, x_gateway and store", async () => {
    const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
    const text =
      '{"x_gateway":{"timeout":9}, "model" : "openai:gpt-9","store":true,"input":[ {"type":"item_of_tomorrow","of":1.0}, {"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"gAAA\\/"},{"role":"user","content":[{"type":"input_hologram","at":[1e2]}]}], "reasoning":{"context":"all_turns"},"unknown":{"n":12345678901234567890} }';
    expect((await ask(text, { "openai-beta": "one=v1", "openai-project": "p" })).status).toBe(200);
    expect(sent[0]!.body).toBe(
      '{"model" : "gpt-9","store":false,"input":[ {"type":"item_of_tomorrow","of":1.0}, {"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"gAAA\\/"},{"role":"user","content":[{"type":"input_hologram","at":[1e2]}]}], "reasoning":{"context":"all_turns"},"unknown":{"n":12345678901234567890} }',
    );
    expect(sent[0]!.url).toBe("https://api.openai.com/v1/responses");
    expect(sent[0]!.headers).toEqual({
      authorization: "Bearer stored-key",
      "openai-beta": "one=v1",
      "content-type": "application/json",
    });
  });

  test("[d12.15] store goes out as false unless the provider says vendor_store", async () => {
    const settings = { id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey("stored-key")] };
    for (const [vendorStore, text] of [
      [false, '"store":false'],
      [true, '"store":true'],
    ] as const) {
      const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)), {
        providers: [providerSettings({ ...settings, vendorStore })],
      });
      await ask({ ...ASKED, store: true });
      expect(sent[0]!.body).toContain(text);
    }
    const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
    await ask(ASKED);
    expect(sent[0]!.body).toBe('{"model":"gpt-9","input":"Why?","store":false}');
  });

  test("[d12.3, d6.10] options of a background that the vendor does not run are left out and told", async () => {
    for (const more of [
      { background_options: { completion_window: "soonest", continuation_id: "c" } },
      { background_options: { completion_window: "2h" }, x_gateway: { drop_params: true } },
    ]) {
      const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
      const response = await ask({ ...ASKED, ...more });
      expect(response.headers.get("x-gateway-dropped-params")).toBe("background_options");
      expect(sent[0]!.body).toBe('{"model":"gpt-9","input":"Why?","store":false}');
    }
  });

  test("[d12.3, d7.1] the empty answer to a request that only prepares the prompt cache is the answer, and is not asked for again", async () => {
    const body = { ...ASKED, prompt_cache_options: { prewarm: true }, x_gateway: { num_retries: 1 } };
    const whole = { ...WHOLE, output: [], usage: { input_tokens: 2000, output_tokens: 0, total_tokens: 2000 } };
    const created = { type: "response.created", response: { ...whole, status: "in_progress" } };
    const events = [created, { type: "response.completed", response: whole }];
    for (const [answer, stream] of [
      [headersOf(JSON.stringify(whole)), false],
      [{ headers: STREAM_TYPE, body: sse(events) }, true],
    ] as const) {
      const { ask, sent } = gateway(answer);
      const response = await ask({ ...body, stream });
      expect(await response.text()).toContain('"output":[]');
      expect(sent).toHaveLength(1);
    }
    const translated = gateway(headersOf("{}"));
    const refused = await translated.ask({ ...body, model: "mistral:m", x_gateway: { drop_params: true } });
    expect([refused.status, translated.sent.length]).toEqual([400, 0]);
    expect(await refused.text()).toContain("prompt_cache_options.prewarm");
  });

  test("[d12.3] templates, addresses of tools, and tools that run at the vendor need what the page says", async () => {
    const hosted = { ...ASKED, tools: [{ type: "image_generation" }] };
    const refused: readonly (readonly [JsonObject, number, string])[] = [
      [{ ...ASKED, prompt: { id: "pmpt_1" } }, 403, "prompt"],
      [{ ...ASKED, background: true }, 400, "background"],
      [{ ...ASKED, background_options: { completion_window: "8h" } }, 400, "background_options"],
      [hosted, 400, "tools[0]"],
      [{ ...ASKED, tools: [{ type: "shell", environment: { type: "container_auto" } }] }, 400, "tools[0]"],
    ];
    for (const [body, status, param] of refused) {
      const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
      const response = await ask(body);
      expect({ status: response.status, sent: sent.length }).toEqual({ status, sent: 0 });
      expect((((await response.json()) as JsonObject)["error"] as JsonObject)["param"]).toBe(param);
    }
    const local = {
      ...ASKED,
      tools: [
        { type: "shell", environment: { type: "local" } },
        { type: "custom", name: "c" },
      ],
    };
    expect((await gateway(headersOf(JSON.stringify(WHOLE))).ask(local)).status).toBe(200);
    const settings = { id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey("stored-key")] };
    const allowed = gateway(headersOf(JSON.stringify(WHOLE)), {
      providers: [providerSettings({ ...settings, hostedTools: ["image_generation"] })],
    });
    expect((await allowed.ask(hosted)).status).toBe(200);
  });

  test("[d12.3] so do the tools that items of the input and namespaces bring", async () => {
    const said = { role: "user", content: "Why?" };
    const items = (type: string, tools: readonly JsonObject[]): JsonObject => ({
      ...ASKED,
      input: [said, { type, role: "developer", tools }],
    });
    const image = { type: "image_generation" };
    const server = { type: "mcp", server_label: "s", connector_id: "connector_gmail" };
    const within = { type: "namespace", name: "n", description: "", tools: [image] };
    const refused: readonly (readonly [JsonObject, number, string])[] = [
      [items("additional_tools", [{ type: "function", name: "f" }, image]), 400, "input[1].tools[1]"],
      [items("tool_search_output", [image]), 400, "input[1].tools[0]"],
      [items("additional_tools", [server]), 403, "input[1].tools[0].connector_id"],
      [items("additional_tools", [within]), 400, "input[1].tools[0].tools[0]"],
      [{ ...ASKED, tools: [within] }, 400, "tools[0].tools[0]"],
    ];
    for (const [body, status, param] of refused) {
      const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
      const response = await ask(body);
      const { error } = (await response.json()) as { readonly error: JsonObject };
      expect({ status: response.status, param: error["param"], sent: sent.length }).toEqual({ status, param, sent: 0 });
    }
    const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
    const left = await ask({
      ...items("additional_tools", [image, { type: "custom", name: "c" }]),
      x_gateway: { drop_params: true },
    });
    expect([left.status, left.headers.get("x-gateway-dropped-params")]).toEqual([200, "input[1].tools[0]"]);
    expect(JSON.parse(sent[0]!.body).input[1].tools).toEqual([{ type: "custom", name: "c" }]);
    const settings = { id: "openai", baseUrl: "https://api.openai.com/v1", credentials: [storedKey("stored-key")] };
    const allowed = gateway(headersOf(JSON.stringify(WHOLE)), {
      providers: [providerSettings({ ...settings, hostedTools: ["image_generation"] })],
    });
    expect((await allowed.ask(items("additional_tools", [image]))).status).toBe(200);
  });

  test("[d12.9] reasoning without its content that is unknown here is left out, and a warning says so", async () => {
    const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
    const said = { role: "user", content: "Why?" };
    const response = await ask({ ...ASKED, input: [{ id: "rs_9", type: "reasoning", summary: [] }, said] });
    expect(response.headers.get("x-gateway-warnings")).toContain("reasoning_left_out");
    expect(JSON.parse(sent[0]!.body).input).toEqual([said]);
  });

  test("[d12.15] an image of an earlier answer without its content is a reference to what the vendor has stored", async () => {
    const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)));
    const image = { id: "ig_1", type: "image_generation_call" };
    const refused = await ask({ ...ASKED, input: [image] });
    const { error } = (await refused.json()) as { readonly error: JsonObject };
    expect({ status: refused.status, ...error }).toMatchObject({
      status: 400,
      code: "unknown_reference",
      param: "input[0].id",
    });
    expect(sent).toHaveLength(0);
    expect((await ask({ ...ASKED, input: [{ ...image, result: "aGk=" }] })).status).toBe(200);
  });

  test("[d12.9] a vendor's 404 about an item is an error about the item, and not about the model", async () => {
    const message = "Item with id 'fc_1' not found. Items are not persisted when `store` is set to false.";
    const error = { message, type: "invalid_request_error", param: "input", code: null };
    const { ask } = gateway({ status: 404, headers: JSON_TYPE, body: JSON.stringify({ error }) });
    const response = await ask(ASKED);
    expect(response.status).toBe(400);
    expect(((await response.json()) as JsonObject)["error"]).toMatchObject({ code: "unknown_reference", message });
  });

  test("[d12.15] ids of responses, items, files and stores at the vendor are refused with their path", async () => {
    const user = (content: JsonObject): JsonObject => ({ ...ASKED, input: [{ role: "user", content: [content] }] });
    const refused: readonly (readonly [JsonObject, string])[] = [
      [user({ type: "input_file", file_id: "file-1" }), "input[0].content[0].file_id"],
      [{ ...ASKED, tools: [{ type: "file_search", vector_store_ids: ["vs_1"] }] }, "tools[0].vector_store_ids"],
    ];
    const settings = {
      id: "openai",
      baseUrl: "https://api.openai.com/v1",
      credentials: [storedKey("stored-key")],
      hostedTools: ["file_search"],
    };
    for (const [body, param] of refused) {
      const { ask, sent } = gateway(headersOf(JSON.stringify(WHOLE)), { providers: [providerSettings(settings)] });
      const response = await ask(body);
      expect(response.status).toBe(400);
      expect((await response.json()) as JsonObject).toMatchObject({ error: { code: "unknown_reference", param } });
      expect(sent).toHaveLength(0);
      const allowed = gateway(headersOf(JSON.stringify(WHOLE)), {
        providers: [providerSettings(settings)],
        permissions: ["vendor_objects"],
      });
      expect((await allowed.ask(body)).status).toBe(200);
    }
  });

  test("[d12.3] a provider whose address is not the row's own is translated unless its entry says that it speaks the operation", async () => {
    const settings = {
      id: "openai",
      baseUrl: "http://own.test/v1",
      credentials: [storedKey("stored-key")],
      isElsewhere: true,
    };
    const chat =
      '{"id":"c","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}';
    const translated = gateway(headersOf(chat), { providers: [providerSettings(settings)] });
    expect((await translated.ask(ASKED)).status).toBe(200);
    expect(translated.sent[0]!.url).toBe("http://own.test/v1/chat/completions");
    const native = gateway(headersOf(JSON.stringify(WHOLE)), {
      providers: [providerSettings({ ...settings, native: ["responses"] })],
    });
    expect((await native.ask(ASKED)).status).toBe(200);
    expect(native.sent[0]!.url).toBe("http://own.test/v1/responses");
  });
});

describe("answers", () => {
  test("[d12.3 d12.8] with something else among the items pass, and are not kept", async () => {
    const clock = { now: () => 1_767_225_600_000, monotonic: () => performance.now() };
    for (const odd of [null, "text", 7, []]) {
      const output = [odd, ...(WHOLE["output"] as readonly Json[])];
      const { ask } = gateway(headersOf(JSON.stringify({ ...WHOLE, output })), { clock, kept: new KeptObjects(clock) });
      const response = await ask(ASKED);
      expect([odd, response.status]).toEqual([odd, 200]);
      const { id, output: passed } = (await response.json()) as { readonly id: string; readonly output: Json };
      expect(passed).toEqual(output);
      expect(response.headers.get("x-gateway-response-kept-until")).toBeNull();
      expect((await ask({ ...ASKED, previous_response_id: id })).status).toBe(400);
    }
  });

  test("[d12.3] pass with the client's own word for the model, the gateway's id, and what was missing", async () => {
    const text = JSON.stringify(WHOLE);
    const { ask, records } = gateway(headersOf(text));
    const response = await ask(ASKED);
    const body = await response.text();
    const { id } = JSON.parse(body) as { readonly id: string };
    expect(id).toMatch(/^resp_[0-9a-f]{32}$/);
    // what the provider sent stands there as it was written, and what it left out follows
    expect(body).toStartWith(text.replace("resp_vendor", id).replace("gpt-9-2099-01-01", "openai:gpt-9").slice(0, -1));
    expect(JSON.parse(body)).toMatchObject({
      error: null,
      incomplete_details: null,
      parallel_tool_calls: true,
      metadata: {},
    });
    expect(records[0]).toMatchObject({
      operation: "responses",
      usage: { prompt_tokens: 11, completion_tokens: 3 },
      providerModel: "gpt-9-2099-01-01",
      dispositions: { input: "native" },
    });
    expect(response.headers.get("openai-version")).toBe("2020-10-01");
    for (const name of ["openai-organization", "x-ratelimit-remaining-requests", "set-cookie"])
      expect(response.headers.get(name)).toBeNull();
  });

  test("[d12.6] the provider's own 400 passes unchanged, also for a model that it does not have", async () => {
    const unknown = '{"error":{"message":"No such model","type":"invalid_request_error","code":"model_not_found"}}';
    const missing = await gateway({ status: 400, headers: JSON_TYPE, body: unknown }).ask(ASKED);
    expect([missing.status, await missing.text()]).toEqual([400, unknown]);
    const refusal =
      '{ "error":{"message":"Unsupported value","type":"invalid_request_error","param":"reasoning.effort","code":"unsupported_value","new":[1.0]} }';
    const response = await gateway({ status: 400, headers: JSON_TYPE, body: refusal }).ask(ASKED);
    expect(response.status).toBe(400);
    expect(await response.text()).toBe(refusal);
  });
});

type Event = JsonObject & { readonly type: string };
const sse = (events: readonly Event[], named = true): string =>
  events.map((event) => `${named ? `event: ${event.type}\n` : ""}data: ${JSON.stringify(event)}\n\n`).join("");

const DELTA = (delta: string, number: number): Event => ({
  type: "response.output_text.delta",
  sequence_number: number,
  item_id: "msg_1",
  output_index: 0,
  content_index: 0,
  delta,
  logprobs: [],
  obfuscation: "x",
});
const MESSAGE = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };
const STREAM: readonly Event[] = [
  {
    type: "response.created",
    sequence_number: 0,
    response: { ...WHOLE, status: "in_progress", output: [], usage: null },
  },
  {
    type: "response.in_progress",
    sequence_number: 1,
    response: { ...WHOLE, status: "in_progress", output: [], usage: null },
  },
  { type: "response.output_item.added", sequence_number: 2, output_index: 0, item: MESSAGE },
  {
    type: "response.content_part.added",
    sequence_number: 3,
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    part: { type: "output_text", text: "", annotations: [], logprobs: [] },
  },
  DELTA("H", 4),
  DELTA("é", 5),
  DELTA("\n", 6),
  { type: "response.event_of_tomorrow", sequence_number: 7, of: [1] },
  {
    type: "response.output_text.done",
    sequence_number: 8,
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    text: "Hé\n",
    logprobs: [],
  },
  {
    type: "response.content_part.done",
    sequence_number: 9,
    item_id: "msg_1",
    output_index: 0,
    content_index: 0,
    part: { type: "output_text", text: "Hé\n", annotations: [], logprobs: [] },
  },
  {
    type: "response.output_item.done",
    sequence_number: 10,
    output_index: 0,
    item: {
      ...MESSAGE,
      status: "completed",
      content: [{ type: "output_text", text: "Hé\n", annotations: [], logprobs: [] }],
    },
  },
  {
    type: "response.completed",
    sequence_number: 11,
    response: {
      ...WHOLE,
      output: [
        {
          ...MESSAGE,
          status: "completed",
          content: [{ type: "output_text", text: "Hé\n", annotations: [], logprobs: [] }],
        },
      ],
    },
  },
];

function eventsIn(text: string): readonly Event[] {
  return text
    .trim()
    .split("\n\n")
    .filter((one) => one !== "data: [DONE]")
    .map((one) => {
      const [, name, json] = /^event: (\S+)\ndata: (.*)$/.exec(one)!;
      const event = JSON.parse(json!) as Event;
      expect(event.type).toBe(name!);
      return event;
    });
}

/** The events without what may differ of a response. */
function comparable({ response, ...event }: JsonObject): JsonObject {
  if (response === undefined) return event;
  const { id: _id, model: _model, ...rest } = response as JsonObject;
  return { ...event, response: rest };
}

describe("streams", () => {
  test("[d12.5] events pass with the model alone replaced and the gateway's id, in any chunks", async () => {
    for (const chunk of [1, 11, 4096]) {
      const { ask, records } = gateway({ headers: STREAM_TYPE, body: sse(STREAM), chunk });
      const text = await (await ask({ ...ASKED, stream: true })).text();
      expect(text).toEndWith("data: [DONE]\n\n");
      const events = eventsIn(text);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(STREAM.map((_, index) => index));
      for (const [index, event] of events.entries())
        expect(comparable(event)).toMatchObject(comparable(STREAM[index]!));
      const responses = events.flatMap(({ response }) => (response === undefined ? [] : [response as JsonObject]));
      expect(new Set(responses.map(({ id }) => id)).size).toBe(1);
      for (const { model } of responses) expect(model).toBe("openai:gpt-9");
      expect(records[0]).toMatchObject({ status: 200, usage: { prompt_tokens: 11, completion_tokens: 3 } });
    }
  });

  test("[d12.5] what a server leaves out is supplied: names, numbers, the first events, items, parts, and what a response has", async () => {
    const bare: readonly Event[] = [
      { type: "response.created", response: {} },
      { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0, delta: "Hi" },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { ...MESSAGE, status: "completed", content: [{ type: "output_text", text: "Hi" }] },
      },
      { type: "response.completed", response: { status: "completed" } },
    ];
    const { ask } = gateway({ headers: STREAM_TYPE, body: sse(bare, false) });
    const events = eventsIn(await (await ask({ ...ASKED, stream: true })).text());
    expect(events.map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(events.map(({ sequence_number: number }) => number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8]);
    expect(events[0]!["response"]).toMatchObject({
      object: "response",
      status: "in_progress",
      model: "openai:gpt-9",
      output: [],
    });
    const last = events.at(-1)!["response"] as JsonObject;
    expect(((last["output"] as readonly Json[])[0] as JsonObject)["id"]).toBe("msg_1");
  });

  test("[d12.5] what is supplied comes once, and each delta once, however many deltas pass", async () => {
    const deltas = ["a", "b", "c", "d"].map((delta, index) => ({
      type: "response.output_text.delta",
      sequence_number: index + 1,
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta,
    }));
    const bare: readonly Event[] = [
      { type: "response.created", sequence_number: 0, response: {} },
      ...deltas,
      { type: "response.completed", sequence_number: 5, response: { status: "completed" } },
    ];
    for (const named of [true, false]) {
      const { ask } = gateway({ headers: STREAM_TYPE, body: sse(bare, named), chunk: "event" });
      const events = eventsIn(await (await ask({ ...ASKED, stream: true })).text());
      expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        ...deltas.map(() => "output_text.delta"),
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
      ]);
      expect(events.flatMap(({ delta }) => delta ?? [])).toEqual(["a", "b", "c", "d"]);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    }
  });

  test("[d12.5] a text that imitates members, events and ends of events passes as text", async () => {
    const hostile = [
      '","sequence_number":9,"x":"',
      '"}\n\nevent: error\ndata: {"type":"error"}\n\n',
      '\\","sequence_number":5}',
      "\u0001\u0001",
      String.raw`\u0001`,
      "response.completed",
      '"sequence_number":7',
    ];
    const whole = hostile.join("");
    const part = { type: "output_text", text: whole, annotations: [], logprobs: [] };
    const item = { ...MESSAGE, status: "completed", content: [part] };
    const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const stream = [
      ...STREAM.slice(0, 4),
      ...hostile.map((text, index) => DELTA(text, index + 4)),
      { type: "response.output_text.done", ...place, text: whole, logprobs: [] },
      { type: "response.content_part.done", ...place, part },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...WHOLE, output: [item] } },
    ].map((event, index): Event => ({ ...event, sequence_number: index }));
    for (const chunk of ["whole", "event", 7] as const) {
      const { ask, records } = gateway({ headers: STREAM_TYPE, body: sse(stream), chunk });
      const events = eventsIn(await (await ask({ ...ASKED, stream: true })).text());
      expect(events.map(({ type }) => type)).toEqual(stream.map(({ type }) => type));
      expect(events.flatMap(({ delta }) => delta ?? [])).toEqual(hostile);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      expect(records[0]).toMatchObject({ status: 200, usage: { completion_tokens: 3 } });
    }
  });

  test("[d12.5] a text that passes is counted once where the provider reports no usage", async () => {
    const { usage: _usage, ...unmetered } = WHOLE;
    const text = "forty characters of text in this delta. ";
    const whole = text.repeat(5);
    const part = { type: "output_text", text: whole, annotations: [], logprobs: [] };
    const item = { ...MESSAGE, status: "completed", content: [part] };
    const place = { item_id: "msg_1", output_index: 0, content_index: 0 };
    const stream: readonly Event[] = [
      ...STREAM.slice(0, 4).map(({ response, ...event }) => ({
        ...event,
        ...(response !== undefined && { response: { ...unmetered, status: "in_progress", output: [] } }),
      })),
      ...Array.from({ length: 5 }, (_, index) => DELTA(text, index + 4)),
      { type: "response.output_text.done", sequence_number: 9, ...place, text: whole, logprobs: [] },
      { type: "response.content_part.done", sequence_number: 10, ...place, part },
      { type: "response.output_item.done", sequence_number: 11, output_index: 0, item },
      { type: "response.completed", sequence_number: 12, response: { ...unmetered, output: [item] } },
    ] as readonly Event[];
    for (const chunk of ["whole", "event"] as const) {
      const { ask, records } = gateway({ headers: STREAM_TYPE, body: sse(stream), chunk });
      await (await ask({ ...ASKED, stream: true })).text();
      expect(records[0]).toMatchObject({ usageSource: "estimated", usage: { completion_tokens: 50 } });
    }
  });

  test("[d12.5] a stream that is cut fails with what there is, and never looks complete", async () => {
    for (const count of [5, 7, 11]) {
      const { ask, records } = gateway({ headers: STREAM_TYPE, body: sse(STREAM.slice(0, count)), chunk: "event" });
      const events = eventsIn(await (await ask({ ...ASKED, stream: true })).text());
      expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
      expect(events.some(({ type }) => type === "response.completed")).toBe(false);
      const { output } = events.at(-1)!["response"] as JsonObject;
      expect(output).toMatchObject([{ type: "message", status: count === 11 ? "completed" : "incomplete" }]);
      expect(records[0]!.code).toBe("upstream_incomplete");
    }
  });

  test("[d12.5] with a head that goes first, the stream has one beginning, one id, and numbers without gaps", async () => {
    const { ask } = gateway({ headers: STREAM_TYPE, body: sse(STREAM), chunk: "event" }, { limits: { headHoldMs: 0 } });
    const events = eventsIn(await (await ask({ ...ASKED, stream: true })).text());
    expect(events.filter(({ type }) => type === "response.created")).toHaveLength(1);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    const ids = events.flatMap(({ response }) => (response === undefined ? [] : [(response as JsonObject)["id"]]));
    expect(new Set(ids).size).toBe(1);
  });
});

test.each<readonly [value: string, path: string, body: JsonObject]>([
  ["a temperature that no model takes", "temperature", { temperature: 7 }],
  ["a share in words", "top_p", { top_p: "most" }],
  ["a bound of nothing", "max_output_tokens", { max_output_tokens: 0 }],
  ["an unknown truncation", "truncation", { truncation: "middle" }],
  ["an effort that is a number", "reasoning.effort", { reasoning: { effort: 3 } }],
  [
    "an output without its call",
    "input[0].call_id",
    { input: [{ type: "function_call_output", call_id: "zz", output: "x" }] },
  ],
  [
    "an output that names its tool and no call, which the vendor's SDK allows",
    "input[0].call_id",
    { input: [{ type: "function_call_output", name: "f", output: "x" }] },
  ],
  ["a word of tomorrow for the choice of tools", "tool_choice", { tool_choice: "validated" }],
  [
    "a mode of tomorrow",
    "tool_choice.mode",
    {
      tools: [{ type: "function", name: "f" }],
      tool_choice: { type: "allowed_tools", mode: "validated", tools: [{ type: "function", name: "f" }] },
    },
  ],
  ["a role of the vendor's own", "input[0].role", { input: [{ role: "critic", content: "Say less." }] }],
])("[d12.3] %s goes to the form's own vendor as it is, and to no other target", async (_value, path, body) => {
  const native = gateway({ headers: JSON_TYPE, body: JSON.stringify(WHOLE) });
  expect((await native.ask({ ...ASKED, ...body })).status).toBe(200);
  expect(JSON.parse(native.sent[0]!.body)).toMatchObject(body);
  const translated = gateway({ headers: JSON_TYPE, body: "{}" });
  const refused = await translated.ask({ ...ASKED, model: "mistral:m", ...body });
  expect({ status: refused.status, sent: translated.sent.length }).toEqual({ status: 400, sent: 0 });
  expect(await refused.text()).toContain(path);
});
