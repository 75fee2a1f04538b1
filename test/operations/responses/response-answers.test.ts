// Answers and streams of the Responses API in front of providers that answer in the form of chat completions.
import { describe, expect, test } from "bun:test";
import { routeOf } from "../../harness/routed.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { endOf, REQUIRED } from "./response-grammar.ts";
import { answering, eventsOf, OPENAI, saying, type SentEvent, streaming } from "./responses-calls.ts";

const streamed = async (
  chunks: readonly (object | string)[],
  body: object = {},
): Promise<{ readonly events: readonly SentEvent[]; readonly response: Record<string, any> }> => {
  const answer = await streaming(...chunks).respond({ ...OPENAI, stream: true, ...body });
  const text = await answer.text();
  expect([answer.status, text]).toEqual([200, expect.stringContaining("data: [DONE]")]);
  const events = eventsOf(text);
  return { events, response: endOf(events) };
};
const plain = async (answer: Parameters<typeof saying>, body: object = {}): Promise<Record<string, any>> =>
  (await (await saying(...answer).respond({ ...OPENAI, ...body })).json()) as Record<string, any>;

const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
  completion_tokens_details: { reasoning_tokens: 3 },
};
const END = openaiChunk({}, "stop", { usage });
const callPiece = (index: number, text: string, name?: string): object =>
  openaiChunk({
    tool_calls: [
      {
        index,
        ...(name && { id: `call_${index}`, type: "function" }),
        function: { ...(name && { name }), arguments: text },
      },
    ],
  });
const weather = { type: "function", name: "weather", parameters: { type: "object" } };

describe("an answer", () => {
  test("[d12.2, d12.5] has every member that Open Responses requires, ids of its own and the client's word for the model", async () => {
    const response = await plain(["Hello"], { instructions: "Be brief.", metadata: { a: "b" }, max_output_tokens: 9 });
    for (const name of REQUIRED) expect([name, name in response]).toEqual([name, true]);
    expect(response).toMatchObject({
      object: "response",
      status: "completed",
      model: "openai:gpt-4o-mini",
      instructions: "Be brief.",
      metadata: { a: "b" },
      max_output_tokens: 9,
      store: false,
      error: null,
      output: [
        {
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "Hello", annotations: [], logprobs: [] }],
        },
      ],
    });
    expect(response["id"]).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(response["output"][0].id).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(Object.keys(response)).not.toContain("route");
    expect(Object.keys(response)).not.toContain("x_gateway_trace_id");
  });
  test("[d12.2] names the model that has answered where the client named only a route, plain and in each event", async () => {
    const snapshot = { routes: new Map([["r", routeOf("r", ["openai:gpt-4o-mini"])]]) };
    const body = { input: "hi", x_gateway: { route: "r" } };
    const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(openaiAnswer()) };
    const whole = (await (await answering(json, { snapshot }).respond(body)).json()) as Record<string, any>;
    expect(whole["model"]).toBe("openai:gpt-4o-mini");
    const stream = {
      headers: { "content-type": "text/event-stream" },
      body: eventStream(openaiChunk({ content: "Hi" }), END),
    };
    const answer = await answering(stream, { snapshot }).respond({ ...body, stream: true });
    const models = eventsOf(await answer.text()).flatMap(({ response }) =>
      response === undefined ? [] : [response.model],
    );
    expect(models).toEqual(["openai:gpt-4o-mini", "openai:gpt-4o-mini", "openai:gpt-4o-mini"]);
  });

  test("[d12.2] names the target, the route and the trace in its head", async () => {
    const gateway = saying("Hello");
    const { headers } = await gateway.respond({ model: "openai:gpt-4o-mini", input: "Hi" });
    expect([headers.get("x-gateway-model"), headers.get("x-gateway-route"), headers.get("x-gateway-trace-id")]).toEqual(
      ["openai:gpt-4o-mini", "direct", gateway.records[0]!.traceId],
    );
  });

  test("[d12.7] has the usage that the provider reported, with its parts", async () => {
    const { response } = await streamed([openaiChunk({ content: "a" }), END]);
    expect(response["usage"]).toEqual({
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 15,
    });
    expect((await plain(["Hello"]))["usage"]).toEqual({
      input_tokens: 5,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 7,
    });
  });

  test("[d12.7] counts reasoning as output where the provider counts it in the total alone", async () => {
    const beside = {
      prompt_tokens: 10,
      completion_tokens: 9,
      total_tokens: 319,
      completion_tokens_details: { reasoning_tokens: 300 },
    };
    const { response } = await streamed([openaiChunk({ content: "a" }), openaiChunk({}, "stop", { usage: beside })]);
    expect(response["usage"]).toMatchObject({
      input_tokens: 10,
      output_tokens: 309,
      output_tokens_details: { reasoning_tokens: 300 },
      total_tokens: 319,
    });
  });

  test("[d12.5] has reasoning, text, refusal and calls as items in this order", async () => {
    const message = {
      reasoning_content: "Hm.",
      refusal: "No.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: "" } }],
    };
    const { output } = await plain(["Well.", { message, finish_reason: "tool_calls" }], { tools: [weather] });
    expect(output).toEqual([
      {
        id: expect.stringMatching(/^rs_/),
        type: "reasoning",
        status: "completed",
        summary: [{ type: "summary_text", text: "Hm." }],
      },
      {
        id: expect.stringMatching(/^msg_/),
        type: "message",
        status: "completed",
        role: "assistant",
        content: [
          { type: "output_text", text: "Well.", annotations: [], logprobs: [] },
          { type: "refusal", refusal: "No." },
        ],
      },
      {
        id: expect.stringMatching(/^fc_/),
        type: "function_call",
        status: "completed",
        call_id: "call_1",
        name: "weather",
        arguments: "{}",
      },
    ]);
  });

  test("[d12.5] that was cut at its bound is incomplete, like its last item", async () => {
    for (const [finish, reason] of [
      ["length", "max_output_tokens"],
      ["content_filter", "content_filter"],
    ] as const) {
      const response = await plain(["Hello", { finish_reason: finish }]);
      expect(response).toMatchObject({
        status: "incomplete",
        completed_at: null,
        incomplete_details: { reason },
        output: [{ status: "incomplete" }],
      });
      const { events, response: end } = await streamed([openaiChunk({ content: "Hel" }), openaiChunk({}, finish)]);
      expect(end).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason },
        output: [{ status: "incomplete" }],
      });
      expect(events.at(-1)!.type).toBe("response.incomplete");
    }
  });

  test("[d12.4] calls of custom tools, of namespaces and of the client's search come back as what the client knows", async () => {
    const tools = [
      { type: "custom", name: "apply_patch" },
      { type: "namespace", name: "mail", tools: [{ type: "function", name: "send" }] },
      { type: "tool_search", execution: "client", parameters: { type: "object" } },
    ];
    const called = (id: string, name: string, text: string) => ({
      id,
      type: "function",
      function: { name, arguments: text },
    });
    const calls = [
      called("a", "apply_patch", '{"input":"*** Begin"}'),
      called("b", "apply_patch", '{"patch":"*** Two"}'),
      called("c", "apply_patch", "*** Three"),
      called("d", "mail__send", '{"to":"x"}'),
      called("e", "tool_search", '{"goal":"y"}'),
    ];
    const expected = [
      { type: "custom_tool_call", status: "completed", call_id: "a", name: "apply_patch", input: "*** Begin" },
      { type: "custom_tool_call", status: "completed", call_id: "b", name: "apply_patch", input: "*** Two" },
      { type: "custom_tool_call", status: "completed", call_id: "c", name: "apply_patch", input: "*** Three" },
      {
        type: "function_call",
        status: "completed",
        call_id: "d",
        namespace: "mail",
        name: "send",
        arguments: '{"to":"x"}',
      },
      { type: "tool_search_call", status: "completed", call_id: "e", execution: "client", arguments: { goal: "y" } },
    ];
    const response = await plain([null, { message: { tool_calls: calls }, finish_reason: "tool_calls" }], { tools });
    const withoutIds = (items: readonly Record<string, unknown>[]) => items.map(({ id: _id, ...item }) => item);
    expect(withoutIds(response["output"])).toEqual(expected);
    const chunks = calls.map((call, index) => openaiChunk({ tool_calls: [{ index, ...call }] }));
    const { events, response: end } = await streamed([...chunks, openaiChunk({}, "tool_calls")], { tools });
    expect(withoutIds(end["output"])).toEqual(expected);
    expect(
      events.filter(({ type }) => type === "response.custom_tool_call_input.done").map(({ input }) => input),
    ).toEqual(["*** Begin", "*** Two", "*** Three"]);
  });

  test("[d12.4] calls of tools that are not among the allowed ones are not passed on", async () => {
    const tools = [weather, { type: "function", name: "clock" }];
    const choice = { type: "allowed_tools", mode: "auto", tools: [{ type: "function", name: "clock" }] };
    const { response } = await streamed(
      [callPiece(0, "{}", "weather"), callPiece(1, "{}", "clock"), openaiChunk({}, "tool_calls")],
      { tools, tool_choice: choice },
    );
    expect(response["output"]).toMatchObject([{ name: "clock" }]);
    expect(response["output"]).toHaveLength(1);
    expect(response["tools"]).toMatchObject([{ name: "weather" }, { name: "clock" }]);
  });
});

describe("a stream", () => {
  test("[d12.5] closes each item before the next one opens, with the texts of its deltas", async () => {
    const { events, response } = await streamed(
      [
        openaiChunk({ role: "assistant", content: "" }),
        openaiChunk({ reasoning_content: "H" }),
        openaiChunk({ reasoning_content: "m." }),
        openaiChunk({ content: "Wa" }),
        openaiChunk({ content: "it." }),
        callPiece(0, '{"city":', "weather"),
        callPiece(0, '"Rome"}'),
        openaiChunk({ content: "Done." }),
        openaiChunk({}, "tool_calls", { usage }),
      ],
      { tools: [weather] },
    );
    expect(response["output"].map(({ type }: any) => type)).toEqual([
      "reasoning",
      "message",
      "function_call",
      "message",
    ]);
    expect(events.map(({ type }) => type.replace("response.", ""))).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "output_item.added",
      "function_call_arguments.delta",
      "function_call_arguments.delta",
      "function_call_arguments.done",
      "output_item.done",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    expect(events.find(({ type }) => type === "response.function_call_arguments.done")).toMatchObject({
      name: "weather",
      arguments: '{"city":"Rome"}',
    });
  });

  test("[d12.5] holds back what a provider interleaves until the open item is complete", async () => {
    const { response } = await streamed(
      [
        callPiece(0, '{"a"', "weather"),
        callPiece(1, '{"b"', "weather"),
        openaiChunk({ content: "Meanwhile" }),
        callPiece(0, ":1}"),
        openaiChunk({ content: " more" }),
        callPiece(1, ":2}"),
        callPiece(2, "", "weather"),
        openaiChunk({}, "tool_calls"),
      ],
      { tools: [weather] },
    );
    expect(response["output"].map((item: any) => item.arguments ?? item.content[0].text)).toEqual([
      '{"a":1}',
      '{"b":2}',
      "Meanwhile more",
      "{}",
    ]);
  });

  test("[d12.5] has log probabilities where they are included, and citations with their place", async () => {
    const token = {
      token: "Hi",
      logprob: -0.5,
      bytes: [72, 105],
      top_logprobs: [{ token: "Hi", logprob: -0.5, bytes: [72, 105] }],
    };
    const chunk = { ...(openaiChunk({ content: "Hi" }) as any) };
    chunk.choices = [{ ...chunk.choices[0], logprobs: { content: [token], refusal: null } }];
    const citation = { url: "https://a.test/", title: "A", start_index: 0, end_index: 2 };
    const cited = openaiChunk({ annotations: [{ type: "url_citation", url_citation: citation }] });
    const body = { include: ["message.output_text.logprobs"], top_logprobs: 1 };
    const { events, response } = await streamed([chunk, cited, END], body);
    const [part] = response["output"][0].content;
    expect(part).toEqual({
      type: "output_text",
      text: "Hi",
      logprobs: [token],
      annotations: [{ type: "url_citation", ...citation }],
    });
    expect(events.find(({ type }) => type === "response.output_text.delta")!["logprobs"]).toEqual([token]);
    expect(events.find(({ type }) => type.endsWith("annotation.added"))).toMatchObject({
      annotation_index: 0,
      annotation: part.annotations[0],
    });
    const without = await streamed([chunk, END]);
    expect(without.response["output"][0].content[0].logprobs).toEqual([]);
  });

  test("[d12.5] has a citation at the part that it belongs to, also where the message has waited and goes on with a refusal", async () => {
    const citation = { url: "https://a.test/", title: "A", start_index: 0, end_index: 2 };
    const { events } = await streamed(
      [
        callPiece(0, '{"a"', "weather"),
        openaiChunk({ content: "Hi" }),
        openaiChunk({ annotations: [{ type: "url_citation", url_citation: citation }] }),
        openaiChunk({ refusal: "No." }),
        callPiece(0, ":1}"),
        openaiChunk({}, "tool_calls"),
      ],
      { tools: [weather] },
    );
    expect(events.find(({ type }) => type.endsWith("annotation.added"))).toMatchObject({
      content_index: 0,
      annotation: { type: "url_citation", ...citation },
    });
  });

  test("[d12.5] that breaks off tells it by error, flat and nested, and by response.failed with what there is", async () => {
    const { events, response } = await streamed([
      openaiChunk({ content: "Hel" }),
      openaiChunk({ content: "lo" }),
      JSON.stringify({ error: { message: "Out of order.", type: "server_error", code: null } }),
    ]);
    const error = events.at(-2)!;
    expect(error).toMatchObject({
      type: "error",
      code: "upstream_error",
      param: null,
      error: { code: "upstream_error", message: error["message"] },
    });
    expect(error["message"]).toContain("Out of order.");
    expect(response).toMatchObject({
      status: "failed",
      completed_at: null,
      error: { code: "server_error", message: error["message"] },
      output: [{ type: "message", status: "incomplete", content: [{ text: "Hello" }] }],
    });
    expect(events.some(({ type }) => type === "response.completed" || type === "response.output_item.done")).toBe(
      false,
    );
  });

  test("[d12.5] that just ends is not complete", async () => {
    expect((await streaming().respond({ ...OPENAI, stream: true })).status).toBe(502);
    const body = `data: ${JSON.stringify(openaiChunk({ content: "Hel" }))}\n\n`;
    const stub = answering({ headers: { "content-type": "text/event-stream" }, body });
    const events = eventsOf(await (await stub.respond({ ...OPENAI, stream: true })).text());
    expect(endOf(events)).toMatchObject({
      status: "failed",
      output: [{ status: "incomplete", content: [{ text: "Hel" }] }],
    });
  });
});

describe("a refusal", () => {
  test("[d12.6] has the envelope of the form, with our code, the path in the client's body, and the trace id in a header", async () => {
    const stub = saying("Hello");
    for (const [body, code, param] of [
      [{ ...OPENAI, temperature: 9 }, "invalid_request", "temperature"],
      [{ ...OPENAI, model: "nobody:m" }, "model_not_found", "model"],
      [{ ...OPENAI, tools: [{ type: "web_search" }] }, "unsupported_parameter", "tools[0]"],
      [{ ...OPENAI, previous_response_id: "resp_1" }, "unsupported_parameter", "previous_response_id"],
    ] as const) {
      const answer = await stub.respond(body);
      expect(answer.headers.get("x-gateway-trace-id")).toMatch(/^[0-9a-f]{32}$/);
      expect(await answer.json()).toEqual({
        error: { message: expect.any(String), type: expect.any(String), param, code },
      });
      expect(answer.headers.get("x-should-retry")).toBe("false");
    }
  });

  test("[d12.4] is not needed where the caller lets parts be dropped, which the head names", async () => {
    const stub = saying("Hello");
    const body = { ...OPENAI, tools: [{ type: "web_search" }], moderation: {}, store: true };
    const answer = await stub.respond({ ...body, x_gateway: { drop_params: true } });
    expect([answer.status, answer.headers.get("x-gateway-dropped-params")]).toEqual([200, "tools[0],moderation,store"]);
    expect(stub.bodies()[0]).not.toHaveProperty("tools");
    const hint = await stub.respond({ ...OPENAI, tools: [{ type: "web_search", external_web_access: false }] });
    expect([hint.status, hint.headers.get("x-gateway-dropped-params")]).toEqual([200, "tools[0]"]);
    const keyed = await stub.respond({ ...OPENAI, model: "groq:m", prompt_cache_key: "k" });
    expect([keyed.status, keyed.headers.get("x-gateway-dropped-params")]).toEqual([200, "prompt_cache_key"]);
    expect(stub.bodies().at(-1)).not.toHaveProperty("prompt_cache_key");
  });

  test("[d6.4, d11.1] what is dropped stands in the record as in the head", async () => {
    const stub = saying("Hello");
    const body = { ...OPENAI, tools: [{ type: "web_search" }], moderation: {}, temperature: 0.5 };
    await stub.respond({ ...body, x_gateway: { drop_params: true } });
    expect(stub.records[0]!.dispositions).toMatchObject({
      "tools[0]": "dropped",
      moderation: "dropped",
      temperature: "native",
    });
    const searches = Array.from({ length: 2000 }, () => ({ type: "tool_search_call", execution: "server" }));
    await stub.respond({ ...OPENAI, input: [...searches, { role: "user", content: "hi" }] });
    const { dispositions } = stub.records[1]!;
    expect(Object.entries(dispositions).filter(([name]) => name.startsWith("input"))).toEqual([["input[]", "dropped"]]);
  });

  test("[d12.4] what the head names is short and visible, however the client names its members and however many they are", async () => {
    const said = { type: "message", role: "user", content: "hi" };
    const searches = Array.from({ length: 2000 }, () => ({ type: "tool_search_call", execution: "server" }));
    const members = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`of_tomorrow_${index}`, 1]));
    for (const [body, named] of [
      [{ input: [{ ...said, заметка: 1 }] }, "input[].???????"],
      [{ "a\r\nset-cookie: b": 1, x_gateway: { drop_params: true } }, "a??set-cookie: b"],
      [{ input: [...searches, said] }, "input[]"],
      [{ ...members, x_gateway: { drop_params: true } }, /^of_tomorrow_0,.*,and \d+ more$/],
    ] as const)
      for (const stream of [false, true]) {
        const stub = stream ? streaming(openaiChunk({ content: "Hi" }), END) : saying("Hello");
        const answer = await stub.respond({ ...OPENAI, stream, ...body });
        const told = answer.headers.get("x-gateway-dropped-params")!;
        expect([answer.status, told]).toEqual([200, typeof named === "string" ? named : expect.stringMatching(named)]);
        expect(told.length).toBeLessThan(1100);
        await answer.text();
      }
  });
});
