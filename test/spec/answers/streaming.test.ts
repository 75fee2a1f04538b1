// Chapter 8 of the promises and the specification's rules about streams, through the whole gateway with a provider that
// the tests play.
import { afterEach, describe, expect, jest, test } from "bun:test";
import fc from "fast-check";
import { cannedUpstream, type Stub, stubGateway } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { eventStream, openaiAnswer, openaiChunk } from "../../harness/servers/upstream.ts";
import { callLine } from "../../../src/observe/log.ts";
import { UpstreamFault } from "../../../src/wire/upstream.ts";
import { manualUpstream } from "../manual-upstream.ts";
import { ASK, assembled, chunk, grammarFaults, play, type PlayedChoice, USAGE, usageChunk } from "./played-stream.ts";
import { quirkyStream } from "../quirky-provider.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const data = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const HELLO = [
  chunk({ role: "assistant", content: "" }),
  chunk({ content: "Hel" }),
  chunk({ content: "lo" }),
  chunk({}, "stop"),
  usageChunk(),
];

describe("chunks", () => {
  test("[d8.1] have exactly the promised fields, the same id, created and model throughout, and [DONE] is last", async () => {
    const { events, text, faults } = await play(HELLO);
    expect(faults).toEqual([]);
    const always = ["choices", "created", "id", "model", "object"];
    const outer = [...always, "route", "x_gateway_trace_id"];
    expect(events.map((event) => Object.keys(event).toSorted())).toEqual([outer, always, always, outer]);
    expect(events.map((event) => event["choices"][0])).toEqual([
      { index: 0, delta: { role: "assistant", content: "" }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: "Hel" }, logprobs: null, finish_reason: null },
      { index: 0, delta: { content: "lo" }, logprobs: null, finish_reason: null },
      { index: 0, delta: {}, logprobs: null, finish_reason: "stop" },
    ]);
    expect(text.endsWith("\n\ndata: [DONE]\n\n")).toBe(true);
  });

  test.each([
    ["one choice", {}],
    ["a usage chunk", { stream_options: { include_usage: true } }],
    ["two choices", { n: 2 }],
  ] as const)(
    "[d8.1] route and trace id stand on the first chunk and on the last one before [DONE]: %s",
    async (_, ask) => {
      const second = HELLO.slice(1, 4).map((event) => ({
        ...(event as Record<string, any>),
        choices: (event as Record<string, any>)["choices"].map((choice: object) => ({ ...choice, index: 1 })),
      }));
      const { events, text, stub } = await play([...HELLO.slice(0, -1), ...("n" in ask ? second : []), usageChunk()], {
        ask,
      });
      const told = { route: "direct", x_gateway_trace_id: stub.records[0]!.traceId };
      expect(events[0]).toMatchObject(told);
      expect(events.at(-1)).toMatchObject(told);
      expect(text.split("\n\n").at(-3)).toBe(`data: ${JSON.stringify(events.at(-1))}`);
    },
  );

  test("[d8.1] are the same in the sandbox, which needs no provider", async () => {
    const response = await stubGateway().chat({ model: "sandbox:echo", messages: ASK.messages, stream: true });
    const read = readStream(await response.text());
    expect([grammarFaults(read, false), read.content]).toEqual([[], "Say it."]);
    expect(read.events[0]).toMatchObject({
      model: "sandbox:echo",
      route: "direct",
      x_gateway_trace_id: response.headers.get("x-request-id"),
    });
  });

  test("[s:behaviors.1, d8.2] include_usage adds one chunk before [DONE] with the usage of the whole request and no choices; all others have a null usage", async () => {
    const { text, events } = await play(HELLO, { ask: { stream_options: { include_usage: true } } });
    expect(events.slice(0, -1).every((event) => event["usage"] === null && event["choices"].length === 1)).toBe(true);
    expect(events.at(-1)).toMatchObject({ choices: [], usage: USAGE });
    expect(text.split("\n\n").at(-2)).toBe("data: [DONE]");
  });

  test("[d8.2, d8.9] the gateway meters without being asked, and marks an estimated figure", async () => {
    const told = await play(HELLO);
    const silent = await play(HELLO.slice(0, -1), { ask: { stream_options: { include_usage: true } } });
    expect(told.stub.records[0]).toMatchObject({ usage: USAGE, usageSource: "provider" });
    expect(silent.stub.records[0]).toMatchObject({ usageSource: "estimated", usage: silent.usage });
    expect(silent.usage?.["total_tokens"]).toBe(silent.usage?.["prompt_tokens"] + silent.usage?.["completion_tokens"]);
    expect(silent.usage?.["completion_tokens"]).toBeGreaterThan(0);
  });

  test("[d8.6] the provider's own reason stands beside one of the five in the record", async () => {
    const { stub, choices } = await play([chunk({ content: "x" }), chunk({}, "end_turn")]);
    expect(choices[0]?.finish).toBe("stop");
    expect(stub.records[0]).toMatchObject({ finishReasons: ["stop"], nativeFinishReasons: ["end_turn"] });
  });

  test("[d8.8] a service tier outside the enumeration is left out", async () => {
    const { events } = await play([
      chunk({ content: "x" }, null, { service_tier: "turbo" }),
      chunk({ content: "y" }, "stop", { service_tier: "default" }),
    ]);
    expect(events.map((event) => event["service_tier"])).toEqual([undefined, undefined, "default", undefined]);
  });

  test("[s:behaviors.3] JSON mode needs no instruction in the conversation, and JSON that is cut off keeps the finish reason length", async () => {
    const json = { response_format: { type: "json_object" } };
    const { choices, stub } = await play([chunk({ content: '{"half": "a' }), chunk({}, "length")], { ask: json });
    expect(choices[0]).toMatchObject({ text: '{"half": "a', finish: "length" });
    expect(JSON.parse(stub.sent[0]!.body)).toMatchObject(json);
    const plain = stubGateway({
      upstream: cannedUpstream({ body: JSON.stringify(openaiAnswer('{"half": "a', { finish_reason: "length" })) }),
    });
    expect(await (await plain.chat({ ...ASK, ...json })).json()).toMatchObject({
      choices: [{ message: { content: '{"half": "a' }, finish_reason: "length" }],
    });
  });

  test("[d8.7] a provider that answers a streamed call with plain JSON is streamed all the same", async () => {
    const body = JSON.stringify(
      openaiAnswer("Hello", {
        message: { tool_calls: [{ id: "a", type: "function", function: { name: "f", arguments: "{}" } }] },
        finish_reason: "tool_calls",
      }),
    );
    const { faults, choices, usage } = await play(body, {
      answer: { headers: { "content-type": "application/json" } },
      ask: { stream_options: { include_usage: true } },
    });
    expect(faults).toEqual([]);
    expect(choices[0]).toMatchObject({ text: "Hello", calls: [{ name: "f", arguments: "{}" }], finish: "tool_calls" });
    expect(usage).toEqual({ prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 });
  });
});

describe("a stream whose head calls it JSON", () => {
  const lines = (...pieces: readonly object[]): string =>
    pieces.map((piece) => `${JSON.stringify({ model: "m", ...piece })}\n`).join("");
  const said = (content: string): object => ({ message: { role: "assistant", content }, done: false });
  const end = { message: { role: "assistant", content: "" }, done: true, done_reason: "stop" };
  const whole = { message: { role: "assistant", content: "Hello" }, done: true, done_reason: "stop" };
  const json = { headers: { "content-type": "application/json" } };
  const ollama = { ask: { model: "ollama:m" } };

  test.each([
    ["events", eventStream(...HELLO), {}],
    ["events behind a comment and white space", `\n: begun\n\n${eventStream(...HELLO)}`, {}],
    ["lines", lines(said("Hel"), said("lo"), end), ollama],
    ["lines with \\r\\n", lines(said("Hel"), said("lo"), end).replaceAll("\n", "\r\n"), ollama],
    ["one line, which is an answer", lines(whole), ollama],
    ["an answer without the end of its line", lines(whole).trim(), ollama],
    ["an answer over several lines", JSON.stringify(whole, null, 2), ollama],
    ["an answer of a provider that sends events", JSON.stringify(openaiAnswer("Hello"), null, 2), {}],
  ] as const)("[d8.7] is read by its beginning, however it is cut: %s", async (_, body, options) => {
    for (const size of [1, 7, body.length]) {
      const { faults, choices } = await play(body, { ...options, answer: { ...json, chunk: size } });
      expect([size, faults]).toEqual([size, []]);
      expect(choices[0]).toMatchObject({ text: "Hello", finish: "stop" });
    }
  });

  test("[d8.7 d8.5] passes on what has come before the provider is done", async () => {
    for (const [model, first, second] of [
      ["openai:m", data(chunk({ content: "Hel" })), data(chunk({ content: "lo" }))],
      ["ollama:m", lines(said("Hel")), lines(said("lo"))],
    ] as const) {
      const upstream = manualUpstream(json);
      upstream.give(first);
      upstream.give(second);
      const response = await stubGateway({ upstream: upstream.client }).chat({ ...ASK, model, stream: true });
      expect(response.status).toBe(200);
      let text = "";
      for await (const bytes of response.body!) {
        text += Buffer.from(bytes).toString();
        if (text.includes('"lo"')) break;
      }
      expect(text).not.toContain("[DONE]");
    }
  });

  test("[d8.7 d8.3] does not look complete when it is cut", async () => {
    const cut = { ...json, chunk: "event" } as const;
    for (const [body, options] of [
      [HELLO.slice(0, 3).map(data).join(""), {}],
      [lines(said("Hel"), said("lo")), ollama],
    ] as const) {
      const { events, choices } = await play(body, { ...options, answer: cut });
      expect(events.at(-1)).toMatchObject({ error: { code: "upstream_incomplete" } });
      expect(choices[0]!.finish).toBeNull();
    }
  });
});

describe("a stream with the protocol's own terminator and no finish reason", () => {
  const call = (index: number, name: string, ...pieces: readonly string[]) =>
    pieces.map((piece, at) =>
      chunk({
        tool_calls: [
          {
            index,
            ...(at === 0 && { id: `id_${index}`, type: "function" }),
            function: { ...(at === 0 && { name }), arguments: piece },
          },
        ],
      }),
    );
  const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } };

  test.each([
    ["text", [chunk({ content: "Hel" }), chunk({ content: "lo" })], "stop"],
    [
      "reasoning and text, and the usage behind them",
      [chunk({ reasoning_content: "Hm." }), chunk({ content: "Hello" }), usage],
      "stop",
    ],
    ["calls whose arguments are whole", [...call(0, "f", '{"a":', "1}"), ...call(1, "g", "{}")], "tool_calls"],
    ["text and a call", [chunk({ content: "Let me look." }), ...call(0, "f", '{"deep":{"x":[1,"}"]}}')], "tool_calls"],
    ["a refusal", [chunk({ refusal: "No." })], "stop"],
  ] as const)(
    "[d8.3] is complete with %s: the reason is inferred, and marked in the record",
    async (_, chunks, finish) => {
      const { choices, error, faults, done, stub } = await play(chunks.map(data).join("") + "data: [DONE]\n\n");
      expect([error, faults, done, choices[0]!.finish]).toEqual([null, [], true, finish]);
      expect(stub.records[0]).toMatchObject({ status: 200, code: null, finishReasons: [finish], finishInferred: true });
      expect(JSON.parse(callLine(stub.records[0]!))).toMatchObject({ finish: [finish], finish_inferred: true });
    },
  );

  test("[d8.3] has the reason function_call in the deprecated form", async () => {
    const { choices } = await play([chunk({}), ...call(0, "f", "{}")].map(data).join("") + "data: [DONE]\n\n", {
      ask: { functions: [{ name: "f" }] },
    });
    expect(choices[0]!.finish).toBe("function_call");
  });

  test("[d8.3] the record has no mark where the provider gave a reason", async () => {
    const { stub } = await play(HELLO);
    expect(stub.records[0]).toMatchObject({ finishReasons: ["stop"], finishInferred: false });
  });

  test("[d8.3] is a failure where nothing was generated, or where the provider gave a reason for another choice only", async () => {
    for (const chunks of [[], [chunk({ role: "assistant", content: "" })], [usage]]) {
      const response = await stubGateway({
        upstream: cannedUpstream({
          headers: { "content-type": "text/event-stream" },
          body: chunks.map(data).join("") + "data: [DONE]\n\n",
        }),
      }).chat({ ...ASK, stream: true, num_retries: 0 });
      expect([chunks, response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
        chunks,
        502,
        "upstream_incomplete",
      ]);
    }
    const half = await play(
      [
        chunk({ content: "a" }, null, { index: 0 }),
        chunk({ content: "b" }, null, { index: 1 }),
        chunk({}, "stop", { index: 0 }),
      ]
        .map(data)
        .join("") + "data: [DONE]\n\n",
      { ask: { n: 2 } },
    );
    expect(half.error?.["code"]).toBe("upstream_incomplete");
  });

  const claude = (type: string, rest: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`;
  const BLOCK =
    claude("message_start", { message: { id: "m", role: "assistant", content: [] } }) +
    claude("content_block_start", { index: 0, content_block: { type: "text", text: "" } }) +
    claude("content_block_delta", { index: 0, delta: { type: "text_delta", text: "Hi" } }) +
    claude("content_block_stop", { index: 0 });
  test("[d8.3] is complete with the terminator of another protocol too, but not with one that a proxy adds", async () => {
    const told = async (body: string): Promise<unknown> => {
      const stub = stubGateway({
        upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body }),
      });
      await (await stub.chat({ ...ASK, model: "anthropic:claude-sonnet-4-5", stream: true })).text();
      const { code, finishReasons, finishInferred } = stub.records[0]!;
      return [code, finishReasons.filter((reason) => reason !== null), finishInferred];
    };
    expect(await told(BLOCK + claude("message_stop", {}))).toEqual([null, ["stop"], true]);
    expect(await told(`${BLOCK}data: [DONE]\n\n`)).toEqual(["upstream_incomplete", [], false]);
    expect(await told(BLOCK)).toEqual(["upstream_incomplete", [], false]);
  });
});

describe("a failure in mid-stream", () => {
  const BEGUN = HELLO.slice(0, 2).map(data).join("");
  const ENDS: readonly (readonly [what: string, piece: string | UpstreamFault | null, code: string])[] = [
    ["a connection that breaks", new UpstreamFault("cut", "reset"), "upstream_incomplete"],
    ["a body that ends", null, "upstream_incomplete"],
    [
      "[DONE] with half the arguments of a call",
      `${data(chunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: '{"city": "Par' } }] }))}data: [DONE]\n\n`,
      "upstream_incomplete",
    ],
    [
      "[DONE] with a call without arguments",
      `${data(chunk({ tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "f", arguments: "" } }] }))}data: [DONE]\n\n`,
      "upstream_incomplete",
    ],
    [
      "[DONE] after an error",
      `${data({ error: { message: "Overloaded right now", type: "overloaded_error" } })}data: [DONE]\n\n`,
      "upstream_overloaded",
    ],
    ["a silence over the bound", new UpstreamFault("timeout", "paused"), "upstream_timeout"],
    ["an event that is not JSON", "data: {broken\n\n", "upstream_invalid_response"],
    ["a page of HTML", "data: <html></html>\n\n", "upstream_invalid_response"],
    ["an event over the bound", `data: ${"x".repeat(5000)}\n\n`, "upstream_invalid_response"],
    [
      "an error of the provider",
      data({ error: { message: "Overloaded right now", type: "overloaded_error" } }),
      "upstream_overloaded",
    ],
    [
      "an error as a field of its own",
      'error: {"code": 500, "message": "the slot is gone", "type": "server_error"}\n\n',
      "upstream_error",
    ],
    ["an error as an event of its own", 'event: error\ndata: {"message": "gone"}\n\n', "upstream_error"],
    [
      "a refusal of our own key",
      data({ error: { message: "Incorrect API key provided: stored-key", code: "invalid_api_key" } }),
      "upstream_authentication",
    ],
  ];
  test.each(ENDS)(
    "[d8.3] by %s is one event with the error, then [DONE], and the record says so",
    async (_, piece, code) => {
      const upstream = manualUpstream();
      const stub = stubGateway({ upstream: upstream.client, limits: { maxEventBytes: 4096 } });
      upstream.give(BEGUN);
      upstream.give(piece);
      if (typeof piece === "string") upstream.give(null);
      const response = await stub.chat({ ...ASK, stream: true, stream_options: { include_usage: true } });
      const read = readStream(await response.text());
      expect([response.status, read.error?.["code"], grammarFaults(read, true)]).toEqual([200, code, []]);
      expect(read.content).toBe("Hel");
      expect(JSON.stringify(read.error)).not.toContain("stored-key");
      expect(
        read.events.flatMap((event) => event["choices"] ?? []).every((choice) => choice.finish_reason === null),
      ).toBe(true);
      expect(stub.records).toHaveLength(1);
      expect(stub.records[0]).toMatchObject({ code, attempts: [{ code }], usageSource: "estimated" });
      expect(upstream.released() || piece === null).toBe(true);
    },
  );

  test("[d8.3] comes after the text that arrived with the failure in one piece", async () => {
    const upstream = manualUpstream();
    upstream.give(data(HELLO[0]!) + data(HELLO[1]!));
    upstream.give(`${data(HELLO[2]!)}data: {"choices": [{\n\n`);
    const response = await stubGateway({ upstream: upstream.client }).chat({ ...ASK, stream: true });
    const { content, error } = readStream(await response.text());
    expect([content, error?.["code"]]).toEqual(["Hello", "upstream_invalid_response"]);
  });

  test("[d8.3] of one choice of two is a failure of the stream", async () => {
    const { error, faults, done } = await play(
      [
        chunk({ content: "a" }, null, { index: 0 }),
        chunk({ content: "b" }, null, { index: 1 }),
        chunk({}, "stop", { index: 0 }),
      ],
      { ask: { n: 2 } },
    );
    expect([error?.["code"], faults, done]).toEqual(["upstream_incomplete", [], true]);
  });

  test("[d8.3] before the first content is a plain answer with a status of its own", async () => {
    for (const [piece, status] of [
      [new UpstreamFault("cut", "reset"), 502],
      [new UpstreamFault("timeout", "paused"), 504],
      [data({ error: { message: "too many requests", code: "rate_limit_exceeded" } }), 429],
    ] as const) {
      const upstream = manualUpstream();
      upstream.give(data(HELLO[0]!));
      upstream.give(piece);
      const response = await stubGateway({ upstream: upstream.client }).chat({ ...ASK, stream: true });
      expect([response.status, response.headers.get("content-type")]).toEqual([status, "application/json"]);
      expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
    }
  });
});

describe("waiting", () => {
  afterEach(() => void jest.useRealTimers());
  /** Lets everything that waits for nothing but the turn of others run, also what first reads the sockets. */
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
    for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
  };

  interface Waiting {
    readonly stub: Stub;
    readonly upstream: ReturnType<typeof manualUpstream>;
    /** Turns the clock. */
    pass(ms: number): Promise<void>;
    response(): Response | null;
    text(): string;
  }

  async function wait(headWaits = false): Promise<Waiting> {
    jest.useFakeTimers();
    let nowMs = 0;
    const upstream = manualUpstream({ headWaits });
    const stub = stubGateway({
      upstream: upstream.client,
      clock: { now: () => 1_767_225_600_000 + nowMs, monotonic: () => nowMs },
    });
    let response: Response | null = null;
    let text = "";
    const read = async (): Promise<void> => {
      response = await stub.chat({ ...ASK, stream: true });
      for await (const part of response.body as unknown as AsyncIterable<Uint8Array | string>)
        text += typeof part === "string" ? part : new TextDecoder().decode(part);
    };
    void read();
    await settle();
    return {
      stub,
      upstream,
      response: () => response,
      text: () => text,
      async pass(ms) {
        for (let passed = 0; passed < ms; passed += 100) {
          nowMs += 100;
          jest.advanceTimersByTime(100);
          await settle();
        }
      },
    };
  }

  const SILENCES = [
    ["that says nothing after its head", false],
    ["that holds its own head back", true],
  ] as const;
  test.each(SILENCES)(
    "[d8.4] for a provider %s: the head is held for 10 s, then is sent with a comment and without the headers that name the target; a comment follows every 15 s",
    async (_, headWaits) => {
      const waiting = await wait(headWaits);
      await waiting.pass(9900);
      expect(waiting.response()).toBeNull();
      await waiting.pass(200);
      expect(waiting.response()?.status).toBe(200);
      expect(waiting.response()?.headers.get("x-gateway-model")).toBeNull();
      expect(waiting.response()?.headers.get("x-gateway-attempts")).toBeNull();
      expect(waiting.response()?.headers.get("server-timing")).toBe("gw;dur=0.000");
      expect(waiting.text()).toBe(": keep-alive\n\n");
      await waiting.pass(14_700);
      expect(waiting.text()).toBe(": keep-alive\n\n");
      await waiting.pass(400);
      expect(waiting.text()).toBe(": keep-alive\n\n".repeat(2));
      await waiting.pass(15_000);
      expect(waiting.text()).toBe(": keep-alive\n\n".repeat(3));
      waiting.upstream.give(eventStream(...HELLO));
      await waiting.pass(100);
      const read = readStream(waiting.text());
      expect([read.comments, read.content, grammarFaults(read, false)]).toEqual([3, "Hello", []]);
      expect(waiting.stub.records[0]).toMatchObject({ status: 200, code: null });
      await waiting.pass(60_000);
      expect(readStream(waiting.text()).comments).toBe(3);
    },
  );

  test("[d8.4] a stream that is silent between two pieces gets a comment every 15 s, an active one gets none", async () => {
    const waiting = await wait();
    waiting.upstream.give(data(HELLO[0]!) + data(HELLO[1]!));
    await waiting.pass(100);
    expect(waiting.response()?.headers.get("x-gateway-model")).toBe("openai:m");
    for (let pieces = 0; pieces < 4; pieces++) {
      await waiting.pass(10_000);
      waiting.upstream.give(data(chunk({ content: "." })));
      await waiting.pass(100);
    }
    expect(readStream(waiting.text()).comments).toBe(0);
    await waiting.pass(45_200);
    expect(readStream(waiting.text()).comments).toBe(3);
    waiting.upstream.give(eventStream(chunk({}, "stop")));
    await waiting.pass(100);
    expect(readStream(waiting.text()).done).toBe(true);
  });

  test.each(SILENCES)(
    "[d8.3, d8.4] for a provider %s: a failure after the head was sent is an error event",
    async (_, headWaits) => {
      const waiting = await wait(headWaits);
      await waiting.pass(10_100);
      waiting.upstream.give(new UpstreamFault("connection", "reset"));
      await waiting.pass(100);
      const read = readStream(waiting.text());
      expect([read.error?.["code"], read.done, read.events.length]).toEqual(["upstream_connection", true, 1]);
      expect(waiting.stub.records[0]).toMatchObject({
        status: 502,
        code: "upstream_connection",
        usage: { prompt_tokens: 6, completion_tokens: 0 },
        usageSource: "estimated",
      });
    },
  );

  test("[d8.5] the connection of a client that does not read stays open until the call is over", async () => {
    jest.useFakeTimers();
    let nowMs = 0;
    const pass = async (seconds: number): Promise<void> => {
      for (let passed = 0; passed < seconds; passed++) {
        nowMs += 1000;
        jest.advanceTimersByTime(1000);
        await new Promise<void>((resolve) => setImmediate(() => setImmediate(resolve)));
        await settle();
      }
    };
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client, clock: { now: () => 0, monotonic: () => nowMs } });
    upstream.give(data(HELLO[0]!) + data(HELLO[1]!));
    let kept = 0;
    const response = await stub.chat({ ...ASK, stream: true }, { keepOpen: () => (kept += 1) });
    const reader = response.body!.getReader();
    await reader.read();
    await pass(400);
    // more often than the 255 s of the server
    expect(kept).toBeGreaterThan(20);
    await pass(250);
    expect(stub.records).toHaveLength(1);
    const untilTheEnd = kept;
    await pass(400);
    expect(kept).toBe(untilTheEnd);
    await reader.cancel();
  });

  test("[d8.4] a client that does not read gets no backlog of comments", async () => {
    jest.useFakeTimers();
    let nowMs = 0;
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client, clock: { now: () => 0, monotonic: () => nowMs } });
    upstream.give(data(HELLO[0]!) + data(HELLO[1]!));
    const response = await stub.chat({ ...ASK, stream: true });
    for (let passed = 0; passed < 500; passed++) {
      nowMs += 1000;
      jest.advanceTimersByTime(1000);
      await settle();
    }
    upstream.give(eventStream(...HELLO.slice(2)));
    const read = readStream(await response.text());
    expect(read.comments).toBeLessThanOrEqual(1);
    expect(read.content).toBe("Hello");
  });
});

describe("reading", () => {
  test("[d8.5] in the provider's answer goes on only as the client reads", async () => {
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client });
    for (let piece = 0; piece < 1000; piece++) upstream.give(data(chunk({ content: "more " })));
    const response = await stub.chat({ ...ASK, stream: true });
    await Bun.sleep(20);
    expect(upstream.reads()).toBe(1);
    const reader = response.body!.getReader();
    for (let read = 0; read < 10; read++) await reader.read();
    await Bun.sleep(20);
    expect(upstream.reads()).toBeLessThanOrEqual(11);
    await reader.cancel();
    expect(upstream.released()).toBe(true);
  });

  test("[d8.7] a client that leaves before the first content ends the provider's call, and one that leaves after the end changes nothing", async () => {
    const upstream = manualUpstream();
    const stub = stubGateway({ upstream: upstream.client });
    const leaving = new AbortController();
    const answer = stub.chat({ ...ASK, stream: true }, { signal: leaving.signal });
    await Bun.sleep(5);
    leaving.abort();
    expect((await answer).status).toBe(499);
    expect(upstream.released()).toBe(true);
    expect(stub.records).toMatchObject([{ code: "client_closed", cancelled: true }]);

    const whole = new AbortController();
    const ended = await play(HELLO);
    whole.abort();
    expect(ended.stub.records).toMatchObject([{ status: 200, cancelled: false }]);
  });
});

describe("whatever the provider does", () => {
  const RUNS = drawCount(150, 400);
  const withoutTrace = (text: string): string => {
    const trace = /"x_gateway_trace_id":"(\w+)"/.exec(text)?.[1];
    return trace === undefined ? text : text.replaceAll(trace, "TRACE").replaceAll(trace.slice(12), "TRACE");
  };
  const comparable = (choices: readonly PlayedChoice[]) =>
    choices.map(({ functionCall: _old, calls, ...rest }) => ({
      ...rest,
      calls: calls.map(({ id: _id, ...called }) => called),
    }));

  test("[d8.1, d8.2, d8.7] a quirky stream follows the grammar and carries what the provider sent", async () => {
    await fc.assert(
      fc.asyncProperty(quirkyStream, fc.boolean(), async ({ text, n, expected, usage: figures }, asked) => {
        const { faults, choices, usage, stub, error } = await play(text, {
          ask: { n, ...(asked && { stream_options: { include_usage: true } }) },
        });
        expect(error).toBeNull();
        expect(faults).toEqual([]);
        expect(comparable(choices)).toEqual(expected as ReturnType<typeof comparable>);
        if (figures !== null) expect(stub.records[0]?.usage as object).toEqual(figures);
        if (asked) expect(usage as object).toEqual(stub.records[0]?.usage as object);
      }),
      { numRuns: RUNS },
    );
  });

  test("[d8.7] any split of its bytes into reads gives the same events", async () => {
    await fc.assert(
      fc.asyncProperty(quirkyStream, fc.integer({ min: 1, max: 40 }), async ({ text, n }, bytes) => {
        const [whole, cut] = await Promise.all([
          play(text, { ask: { n }, answer: { chunk: "whole" } }),
          play(text, { ask: { n }, answer: { chunk: bytes } }),
        ]);
        expect(withoutTrace(cut.text)).toBe(withoutTrace(whole.text));
      }),
      { numRuns: RUNS },
    );
  });

  test("[d8.3] a stream that breaks at any byte never ends as if complete", async () => {
    await fc.assert(
      fc.asyncProperty(
        quirkyStream,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async ({ text, n }, part) => {
          const end = text.indexOf("data: [DONE]");
          const bytes = Buffer.byteLength(end < 0 ? text : text.slice(0, end));
          const stub = stubGateway({
            upstream: cannedUpstream({
              headers: { "content-type": "text/event-stream" },
              body: text,
              chunk: 64,
              cutAt: Math.floor(bytes * part),
            }),
          });
          const response = await stub.chat({ ...ASK, stream: true, n });
          const answer = await response.text();
          expect(stub.records[0]?.code).toBe("upstream_incomplete");
          if (response.status !== 200) return expect(response.status).toBe(502);
          const read = readStream(answer);
          expect([read.error?.["code"], read.done, grammarFaults(read, false)]).toEqual([
            "upstream_incomplete",
            true,
            [],
          ]);
          expect(assembled(read.events).every(({ finish }) => finish === null)).toBe(true);
        },
      ),
      { numRuns: RUNS },
    );
  });

  test("[d8.3] a stream that merely stops before a finish reason never ends as if complete", async () => {
    await fc.assert(
      fc.asyncProperty(
        quirkyStream,
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        async ({ text, n }, part) => {
          const finish = /data: [^\r\n]*"finish_reason":"/.exec(text)!;
          const upTo = Math.floor(Buffer.byteLength(text.slice(0, finish.index + finish[0].length)) * part);
          const stub = stubGateway({
            upstream: cannedUpstream({
              headers: { "content-type": "text/event-stream" },
              body: Buffer.from(text).subarray(0, upTo),
            }),
          });
          const response = await stub.chat({ ...ASK, stream: true, n });
          const answer = await response.text();
          expect(stub.records[0]?.code).toMatch(/^upstream_(incomplete|invalid_response)$/);
          if (response.status === 200) expect(readStream(answer).error).not.toBeNull();
          else expect(response.status).toBe(502);
        },
      ),
      { numRuns: RUNS },
    );
  });
});

test("[d9.5] the time in which a client does not read is not the gateway's own", async () => {
  const body = eventStream(
    ...Array.from({ length: 40 }, (_, index) => openaiChunk({ content: `w${index} ` })),
    openaiChunk({}, "stop"),
  );
  const stub = stubGateway({
    upstream: cannedUpstream({ headers: { "content-type": "text/event-stream" }, body, chunk: "event" }),
  });
  const response = await stub.chat({ model: "openai:m", stream: true, messages: [{ role: "user", content: "x" }] });
  const reader = response.body!.getReader();
  for (let reads = 0; ; reads++) {
    if ((await reader.read()).done) break;
    if (reads < 5) await Bun.sleep(60);
  }
  const { totalMs, ownMs } = stub.records[0]!;
  expect(totalMs).toBeGreaterThan(290);
  expect(ownMs).toBeLessThan(totalMs - 290);
});
