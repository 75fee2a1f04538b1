// The native way of requests, answers and streams: what the client wrote goes out, and what the provider wrote comes
// back.
import { describe, expect, test } from "bun:test";
import type { JsonObject } from "../../../src/core/json.ts";
import { cannedUpstream } from "../../harness/in-process.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { ANSWER_HEADERS, nativeGateway, type NativeStub, sse } from "./native-world.ts";

const ANSWER =
  '{ "model":"claude-x-20990101", "id":"msg_1","type":"message","role":"assistant",\n "content":[{"type":"text","text":"Hé"},{"type":"new_block","of":[1.0,2e3]}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":3,"new_counter":1.50},"new_member":{"a":[]} }';

const START =
  '{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}';
const TEXT_START = '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}';
const TEXT = (text: string): string =>
  `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":${JSON.stringify(text)}}}`;
const TEXT_STOP = '{"type":"content_block_stop","index":0}';
const END =
  '{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}';
const STOP = '{"type":"message_stop"}';

function gateway(
  body: string,
  more: { readonly status?: number; readonly headers?: Record<string, string>; readonly chunk?: number | "event" } = {},
  options: Parameters<typeof nativeGateway>[0] = {},
): NativeStub {
  return nativeGateway({
    permissions: [],
    upstream: cannedUpstream({
      headers: { "content-type": "text/event-stream", ...ANSWER_HEADERS, ...more.headers },
      body,
      ...(more.status !== undefined && { status: more.status }),
      ...(more.chunk !== undefined && { chunk: more.chunk }),
    }),
    ...options,
  });
}

const ASKED = { model: "anthropic:claude-x", max_tokens: 9, messages: [{ role: "user", content: "Why?" }] };

describe("what goes out", () => {
  test("[d12.3] what the client wrote goes out byte for byte, but for model and x_gateway", async () => {
    const { ask, sent } = gateway(ANSWER);
    const text =
      '{ "x_gateway":{"timeout":30},\n  "model" : "anthropic:claude-x", "max_tokens":9.0e0, "messages":[{"role":"user","content":[{"type":"hologram","of":[1.0,1e2, "\\u00e9"]}]}], "unknown":{"b":1,"a":12345678901234567890} }';
    expect((await ask(text)).status).toBe(200);
    expect(sent[0]!.body).toBe(
      '{ "model" : "claude-x", "max_tokens":9.0e0, "messages":[{"role":"user","content":[{"type":"hologram","of":[1.0,1e2, "\\u00e9"]}]}], "unknown":{"b":1,"a":12345678901234567890} }',
    );
    expect(sent[0]!.url).toBe("https://api.anthropic.com/v1/messages");
  });

  test("[d12.4] members of extra_body are sent, by the translation, and an empty one changes nothing", async () => {
    const chat =
      '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}';
    const { ask, sent } = gateway(chat);
    expect((await ask({ ...ASKED, x_gateway: { extra_body: { unheard_of: { of: 1 } } } })).status).toBe(200);
    expect((await ask({ ...ASKED, more: 1, x_gateway: { extra_body: {} } })).status).toBe(200);
    const [translated, native] = sent.map(({ body }) => JSON.parse(body));
    expect(translated).toMatchObject({ model: "claude-x", unheard_of: { of: 1 } });
    expect(native).toEqual({ ...ASKED, model: "claude-x", more: 1 });
  });

  test("[d12.4] a member of an entry of fallbacks is sent under its name, also under one that every object has", async () => {
    const { ask, sent } = gateway('{"error":{"message":"no"}}', { status: 500 });
    const entry = { model: "anthropic:claude-y", constructor: { of: 1 } };
    await ask({ ...ASKED, x_gateway: { num_retries: 0, fallbacks: [entry] } });
    expect(sent.map(({ body }) => JSON.parse(body))).toEqual([
      { ...ASKED, model: "claude-x" },
      { ...ASKED, model: "claude-y", constructor: { of: 1 } },
    ]);
  });

  test("[d12.3] version and beta features of the client go out in their order, and no other header of it", async () => {
    const { ask, sent } = gateway(ANSWER);
    await ask(ASKED, {
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "b-2,a-1, c",
      "x-api-key": "of the client",
      "openai-organization": "org",
      cookie: "a=b",
    });
    const { "x-api-key": key, ...headers } = sent[0]!.headers;
    expect(headers).toEqual({
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "b-2,a-1, c",
      "content-type": "application/json",
    });
    expect(key).toBe("stored-key");
    const many = Array.from({ length: 100 }, (_, index) => `feature-${index}-2026-10-21`).join(",");
    await ask(ASKED, { "anthropic-beta": many });
    expect(sent[1]!.headers["anthropic-beta"]).toBe(many);
  });

  test("[d12.3] members that choose a model, an address or a credential need the permission byo_endpoint", async () => {
    for (const name of ["mcp_servers", "fallbacks"]) {
      const body = { ...ASKED, [name]: [{ model: "claude-y", url: "https://tools.test" }] };
      const refused = gateway(ANSWER);
      const response = await refused.ask(body);
      expect({ status: response.status, sent: refused.sent.length }).toEqual({ status: 403, sent: 0 });
      expect(((await response.json()) as JsonObject)["error"]).toMatchObject({
        code: "permission_required",
        param: name,
      });
      const allowed = gateway(ANSWER, {}, { permissions: ["byo_endpoint"] });
      expect((await allowed.ask(body)).status).toBe(200);
    }
  });

  test("[d12.3] [d6.5] [d2.4] so do members by which a provider itself chooses, as in chat completions", async () => {
    const providers = ["openrouter", "vercel"].map((id) =>
      providerSettings({
        id,
        family: id,
        baseUrl: `https://${id}.example/v1`,
        credentials: [storedKey("stored-key")],
        native: ["messages"],
      }),
    );
    for (const [id, name] of [
      ["openrouter", "models"],
      ["openrouter", "provider"],
      ["openrouter", "plugins"],
      ["vercel", "models"],
      ["vercel", "providerOptions"],
    ] as const) {
      const body = { ...ASKED, model: `${id}:claude-x`, [name]: { order: ["another"] } };
      const statusOf = async (options: Parameters<typeof nativeGateway>[0]) => {
        const { ask, sent } = gateway(ANSWER, {}, { providers, ...options });
        return [(await ask(body)).status, sent.length];
      };
      expect([name, ...(await statusOf({}))]).toEqual([name, 403, 0]);
      expect([name, ...(await statusOf({ permissions: ["byo_endpoint"] }))]).toEqual([name, 200, 1]);
      expect((await gateway(ANSWER, {}, { providers }).ask({ ...body, [name]: null })).status).toBe(200);
      const entry = { model: `${id}:claude-x`, extra_body: { [name]: { order: ["another"] } } };
      const { ask, sent } = gateway('{"error":{"message":"no"}}', { status: 500 }, { providers });
      await ask({ ...ASKED, model: `${id}:claude-y`, x_gateway: { num_retries: 0, fallbacks: [entry] } });
      expect([name, sent.length]).toEqual([name, 1]);
    }
  });

  test("[d12.3] a tool that runs at the vendor needs the operator's consent, whatever its type; a tool of the client does not", async () => {
    const tools = (type: string) => ({
      ...ASKED,
      tools: [
        { name: "one", input_schema: {} },
        { type, name: "t" },
      ],
    });
    for (const type of ["web_search_20260101", "type_of_tomorrow"]) {
      const { ask, sent } = gateway(ANSWER);
      const response = await ask(tools(type));
      expect(response.status).toBe(400);
      expect(((await response.json()) as JsonObject)["error"]).toMatchObject({
        code: "unsupported_parameter",
        param: "tools[1]",
      });
      expect(sent).toHaveLength(0);
    }
    for (const type of ["bash_20250124", "computer_toolset_20260801", "browser_toolset_20260801"])
      expect([type, (await gateway(ANSWER).ask(tools(type))).status]).toEqual([type, 200]);
    const allowed = (hostedTools: readonly string[]) =>
      gateway(
        ANSWER,
        {},
        {
          providers: [
            providerSettings({
              id: "anthropic",
              baseUrl: "https://api.anthropic.com",
              credentials: [storedKey("stored-key")],
              hostedTools,
            }),
          ],
        },
      );
    expect((await allowed(["web_search*"]).ask(tools("web_search_20260101"))).status).toBe(200);
    expect((await allowed(["web_search"]).ask(tools("web_search_20260101"))).status).toBe(400);
  });

  test("[d12.3] so does one that a turn of the conversation adds, or that a summary of turns has", async () => {
    const added = (type: string): JsonObject => ({
      type: "tool_addition",
      tool: { type: "tool_definition", definition: { type, name: "t" } },
    });
    const summary = {
      type: "compaction",
      content: "c",
      encrypted_content: null,
      tool_changes: [added("type_of_tomorrow")],
    };
    const said = { role: "user", content: "x" };
    for (const [turn, param] of [
      [{ role: "system", content: [added("type_of_tomorrow")] }, "messages[1].content[0].tool.definition"],
      [{ role: "assistant", content: [summary] }, "messages[1].content[0].tool_changes[0].tool.definition"],
    ] as const) {
      const { ask, sent } = gateway(ANSWER);
      const response = await ask({ ...ASKED, messages: [said, turn, said] });
      expect([response.status, response.headers.get("x-gateway-error-param"), sent.length]).toEqual([400, param, 0]);
    }
    const own = { ...ASKED, messages: [said, { role: "system", content: [added("custom")] }, said] };
    expect((await gateway(ANSWER).ask(own)).status).toBe(200);
  });

  test("[d12.3] a hosted tool that its client can do without is left out and told", async () => {
    const { ask, sent } = gateway(ANSWER);
    const text = `{"model":"anthropic:claude-x","max_tokens":9,"messages":[{"role":"user","content":"Why?"}],"tools":[{"name":"one"} , {"type":"web_search_20260101","name":"spare"}, {"name":"two"}]}`;
    const response = await ask(text);
    expect(response.headers.get("x-gateway-dropped-params")).toBe("tools[1]");
    expect(sent[0]!.body).toEndWith(`"tools":[{"name":"one"}, {"name":"two"}]}`);
  });

  test("[d12.15] ids of things at the vendor need the permission vendor_objects or a credential of the caller's own", async () => {
    const content = [{ type: "document", source: { type: "file", file_id: "file_1" } }];
    const body = { ...ASKED, messages: [{ role: "user", content }] };
    const { ask, sent } = gateway(ANSWER);
    const response = await ask(body);
    expect(response.status).toBe(400);
    expect(((await response.json()) as JsonObject)["error"]).toMatchObject({
      code: "unknown_reference",
      param: "messages[0].content[0].source.file_id",
    });
    expect(sent).toHaveLength(0);
    expect((await gateway(ANSWER, {}, { permissions: ["vendor_objects"] }).ask(body)).status).toBe(200);
    const own = gateway(ANSWER, {}, { permissions: ["byo_endpoint"] });
    expect((await own.ask({ ...body, x_gateway: { api_key: "my-own-key-1234" } })).status).toBe(200);
    // a name inside the input of a call is the model's own
    const call = { type: "tool_use", id: "t", name: "f", input: { file_id: "x" } };
    expect((await gateway(ANSWER).ask({ ...ASKED, messages: [{ role: "assistant", content: [call] }] })).status).toBe(
      200,
    );
  });

  test("[d12.3] the operator can take an operation away from a provider: its calls are translated", async () => {
    const chat =
      '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}';
    const settings = { id: "anthropic", baseUrl: "https://api.anthropic.com", credentials: [storedKey("stored-key")] };
    const { ask, sent } = gateway(chat, {}, { providers: [providerSettings({ ...settings, native: [] })] });
    expect(
      (await ask({ ...ASKED, x_gateway: { drop_params: true }, unknown: 1 })).headers.get("x-gateway-dropped-params"),
    ).toBe("unknown");
    expect(JSON.parse(sent[0]!.body)).not.toHaveProperty("unknown");
  });
});

describe("what comes back", () => {
  test("[d12.3] an answer passes byte for byte with the client's own word for the model", async () => {
    const { ask, records } = gateway(ANSWER, { headers: { "content-type": "application/json" } });
    const response = await ask(ASKED);
    expect(await response.text()).toBe(ANSWER.replace("claude-x-20990101", "anthropic:claude-x"));
    expect(records[0]).toMatchObject({
      operation: "messages",
      status: 200,
      usage: { prompt_tokens: 11, completion_tokens: 3 },
      usageSource: "provider",
      finishReasons: ["stop"],
      providerModel: "claude-x-20990101",
      dispositions: { model: "native", max_tokens: "native", messages: "native" },
    });
  });

  test("[d12.3] of the vendor's headers only those pass that its row lists", async () => {
    for (const stream of [false, true]) {
      const body = stream
        ? sse(
            ["message_start", START],
            ["content_block_start", TEXT_START],
            ["content_block_delta", TEXT("Hi")],
            ["content_block_stop", TEXT_STOP],
            ["message_delta", END],
            ["message_stop", STOP],
          )
        : ANSWER;
      const { headers } = await gateway(body, stream ? {} : { headers: { "content-type": "application/json" } }).ask({
        ...ASKED,
        stream,
      });
      expect(headers.get("anthropic-version")).toBe("2026-10-21");
      expect(headers.get("x-gateway-provider-request-id")).toBe("req_1");
      for (const name of [
        "request-id",
        "anthropic-ratelimit-requests-remaining",
        "anthropic-organization-id",
        "set-cookie",
        "x-vendor",
      ])
        expect(headers.get(name)).toBeNull();
    }
  });

  test("[d12.3] a body without what every client reads is given it", async () => {
    const { ask } = gateway('{"content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"}', {
      headers: { "content-type": "application/json" },
    });
    expect(await (await ask(ASKED)).json()).toEqual({
      content: [{ type: "text", text: "Hi" }],
      stop_reason: "end_turn",
      model: "anthropic:claude-x",
      id: "msg_own",
      type: "message",
      role: "assistant",
      stop_sequence: null,
      usage: { input_tokens: 0, output_tokens: 0 },
    });
  });

  test("[d12.6] the provider's own 400 and 413 pass unchanged but for the gateway's key; other refusals do not", async () => {
    const refusal =
      '{ "type":"error","error":{"type":"invalid_request_error","message":"thinking.signature: not stored-key"},"request_id":"req_2","safeguards":[] }';
    for (const status of [400, 413]) {
      const { ask, records } = gateway(refusal, { status, headers: { "content-type": "application/json" } });
      const response = await ask(ASKED);
      expect(response.status).toBe(status);
      expect(await response.text()).toBe(refusal.replace("stored-key", "[credential]"));
      expect(response.headers.get("x-gateway-trace-id")).toBe(records[0]!.traceId);
      expect(response.headers.get("anthropic-organization-id")).toBeNull();
      expect(records[0]).toMatchObject({ status, code: "upstream_invalid_request" });
    }
    const other = await gateway('{"type":"error","error":{"type":"authentication_error","message":"no stored-key"}}', {
      status: 401,
    }).ask(ASKED);
    expect(other.status).toBe(502);
    expect(((await other.json()) as JsonObject)["error"]).toMatchObject({ code: "upstream_authentication" });
  });
});

describe("streams", () => {
  const whole = [
    ["message_start", START],
    ["ping", '{"type": "ping"}'],
    ["content_block_start", TEXT_START],
    ["content_block_delta", TEXT("Hé\n")],
    ["new_event", '{"type":"new_event","a":1.0}'],
    ["content_block_delta", '{"type":"content_block_delta","index":0,"delta":{"type":"new_delta","x":[ ]}}'],
    ["content_block_stop", TEXT_STOP],
    ["content_block_delta", '{"type":"content_block_delta","index":1,"delta":{"type":"constructor"}}'],
    ["content_block_start", '{"type":"content_block_start","index":1,"content_block":{"type":"new_block","b":{}}}'],
    ["content_block_stop", '{"type":"content_block_stop","index":1}'],
    ["message_delta", END],
    ["message_stop", STOP],
  ] as const;

  test("[d12.5] events pass byte for byte with the model alone replaced, known or not, in any chunks", async () => {
    for (const chunk of [1, 7, 4096]) {
      const { ask, records } = gateway(sse(...whole), { chunk });
      const response = await ask({ ...ASKED, stream: true });
      expect(await response.text()).toBe(sse(...whole).replace("claude-x-1", "anthropic:claude-x"));
      expect(records[0]).toMatchObject({
        status: 200,
        usage: { prompt_tokens: 11, completion_tokens: 5 },
        finishReasons: ["stop"],
      });
    }
  });

  test("[d12.5] what a server leaves out is supplied: names of events, beginning and end of a block, the last events", async () => {
    const data = [
      '{"type":"message_start","message":{"id":"msg_1","model":"m"}}',
      TEXT("Hi"),
      '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    ];
    const { ask } = gateway(data.map((one) => `data: ${one}\n\n`).join(""));
    const events = (await (await ask({ ...ASKED, stream: true })).text())
      .trim()
      .split("\n\n")
      .map((event) => {
        const [name, json] = event.split("\n");
        return [name!.slice("event: ".length), JSON.parse(json!.slice("data: ".length)) as JsonObject] as const;
      });
    expect(events).toEqual([
      [
        "message_start",
        {
          type: "message_start",
          message: {
            id: "msg_1",
            model: "anthropic:claude-x",
            type: "message",
            role: "assistant",
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { input_tokens: 0, output_tokens: 0 },
          },
        },
      ],
      ["content_block_start", { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }],
      ["content_block_delta", JSON.parse(TEXT("Hi")) as JsonObject],
      ["content_block_stop", { type: "content_block_stop", index: 0 }],
      ["message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 0 } }],
      ["message_stop", { type: "message_stop" }],
    ]);
  });

  test("[d12.5] a stream that is cut ends with an error in the form of the operation, never as complete", async () => {
    for (const events of [4, 6, 9]) {
      const cut = sse(...whole.slice(0, events));
      const { ask, records } = gateway(cut);
      const text = await (await ask({ ...ASKED, stream: true })).text();
      expect(text).toBe(
        `${cut.replace("claude-x-1", "anthropic:claude-x")}event: error\ndata: {"type":"error","code":"upstream_incomplete"}\n\n`,
      );
      expect(records[0]!.code).toBe("upstream_incomplete");
    }
  });

  test("[d12.5] an error of the provider amid a stream ends it in the form of the operation", async () => {
    const error = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}';
    const { ask } = gateway(sse(...whole.slice(0, 4), ["error", error]), { chunk: "event" });
    const text = await (await ask({ ...ASKED, stream: true })).text();
    expect(text).toEndWith('event: error\ndata: {"type":"error","code":"upstream_overloaded"}\n\n');
    expect(text).not.toContain("message_stop");
  });

  test("[d12.5] an opening that went out with the head is not repeated", async () => {
    const { ask } = gateway(sse(...whole), { chunk: 4096 }, { limits: { headHoldMs: 0 } });
    const text = await (await ask({ ...ASKED, stream: true })).text();
    const opened = text.startsWith("event: opened");
    expect(text.split("message_start").length - 1).toBe(opened ? 0 : 2);
  });

  test("[d12.5] a server that answers a streamed call with one body is translated to events", async () => {
    const { ask } = gateway(ANSWER, { headers: { "content-type": "application/json" } });
    const text = await (await ask({ ...ASKED, stream: true })).text();
    expect(text).toStartWith("event: opened");
    expect(text).toContain("Hé");
  });
});
