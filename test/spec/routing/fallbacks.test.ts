// Promises 7.3 to 7.5 and 1.6 through the whole gateway: where a call goes when the first target has failed, with which
// parameters and credentials, and what the client has received by then.
import { describe, expect, test } from "bun:test";
import type { Route } from "../../../src/core/configured/route.ts";
import { type Fault, OK, status, WORDS } from "../../harness/faults.ts";
import { cannedUpstream, type Stub, type StubOptions, stubGateway } from "../../harness/in-process.ts";
import { type Routed, routedGateway, routeOf } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { turnTime } from "../../harness/time/turned-time.ts";
import { HELLO, TOOL } from "../chat-calls.ts";
import { until } from "../../harness/time/until.ts";

type Scripts = Readonly<Record<string, readonly Fault[]>>;
const DEAD: Fault = { kind: "refused" };
const TOO_LONG = status(
  400,
  {},
  { code: "context_length_exceeded", message: "This model's maximum context length is 8 tokens." },
);
const UNFIT = status(400, {}, { code: "content_filter", message: "The content was flagged." });

const direct = (scripts: Scripts, options: StubOptions = {}): Routed => routedGateway([], scripts, options);

async function asked(
  stub: Stub,
  fields: object,
): Promise<{
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;
  readonly body: Record<string, any>;
  readonly headers: Headers;
}> {
  const response = await stub.chat({ model: "up0:m", messages: HELLO, ...fields });
  const text = await response.text();
  const streamed = response.headers.get("content-type")!.startsWith("text/event-stream");
  const body = streamed
    ? { events: readStream(text).events, error: readStream(text).error }
    : (JSON.parse(text) as Record<string, any>);
  return {
    status: response.status,
    code: body["error"]?.code ?? null,
    param: body["error"]?.param ?? null,
    body,
    headers: response.headers,
  };
}

/** `<target> <what differs in its body>` of each request that went out. */
const wires = ({ upstream }: Routed): readonly Record<string, any>[] =>
  upstream.served.map(({ target, request }) => ({ target, ...(JSON.parse(request.body) as object) }));

describe("fallbacks of the request", () => {
  test("[d7.3] [s:gateway.fallbacks] may be strings and objects, models and routes, in order, each attempted when everything before it is spent", async () => {
    const gateway = routedGateway([routeOf("cheap", ["up2:m"])], {
      up0: [DEAD],
      up1: [status(500)],
      up2: [status(503)],
    });
    const got = await asked(gateway, {
      num_retries: 1,
      fallbacks: ["up1:b", { route: "cheap" }, { model: "up3/c", temperature: 0 }],
    });
    expect([got.status, got.body["model"], got.body["route"]]).toEqual([200, "up3:c", "direct"]);
    expect(gateway.upstream.targets()).toEqual(["up0", "up0", "up1", "up1", "up2", "up2", "up3"]);
    expect(wires(gateway).map(({ model }) => model)).toEqual(["m", "m", "b", "b", "m", "m", "c"]);
    expect(got.headers.get("x-gateway-attempts")).toBe("7");
  });

  test.each([
    ["plain", {}],
    ["streamed", { stream: true }],
  ] as const)("[d1.5] [d7.3] %s: the answer names the model and route that answered", async (_, how) => {
    const gateway = routedGateway([routeOf("cheap", ["up2:m"])], { up0: [DEAD] });
    const { body } = await asked(gateway, { ...how, fallbacks: ["route:cheap"] });
    const parts = "events" in body ? body["events"] : [body];
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) expect(part.model).toBe("up2:m");
    expect([parts[0].route, parts.at(-1).route]).toEqual(["cheap", "cheap"]);
    expect(gateway.records[0]).toMatchObject({ modelAsked: "up0:m", provider: "up2", route: "cheap" });
  });

  test("[d7.3] parameters of one entry override the request's own and never leak into the next", async () => {
    const gateway = direct({ up0: [DEAD], up1: [DEAD], up2: [DEAD] });
    await asked(gateway, {
      num_retries: 0,
      temperature: 1,
      top_p: 0.5,
      fallbacks: [
        { model: "up1:m", temperature: 0, seed: 7, top_p: null, tools: [TOOL] },
        { model: "up2:m", stop: "x" },
        "up3:m",
      ],
    });
    const seen = wires(gateway).map(({ target, temperature, seed, top_p, stop, tools }) => ({
      target,
      temperature,
      seed,
      top_p,
      stop,
      tools: tools?.length,
    }));
    expect(seen).toEqual([
      { target: "up0", temperature: 1, seed: undefined, top_p: 0.5, stop: undefined, tools: undefined },
      { target: "up1", temperature: 0, seed: 7, top_p: undefined, stop: undefined, tools: 1 },
      { target: "up2", temperature: 1, seed: undefined, top_p: 0.5, stop: "x", tools: undefined },
      { target: "up3", temperature: 1, seed: undefined, top_p: 0.5, stop: undefined, tools: undefined },
    ]);
  });

  test("[d7.3] num_retries of an entry applies to that entry alone", async () => {
    const gateway = direct({ up0: [DEAD], up1: [DEAD], up2: [DEAD] });
    await asked(gateway, { num_retries: 0, fallbacks: [{ model: "up1:m", num_retries: 2 }, "up2:m"] });
    expect(gateway.upstream.targets()).toEqual(["up0", "up1", "up1", "up1", "up2"]);
  });

  test("[d7.3] [d9.1] a request that the only target of a call cannot take is refused before anything is sent, whatever its fallbacks accept", async () => {
    const gateway = stubGateway({ upstream: cannedUpstream({ body: "{}" }) });
    expect(
      await asked(gateway, { model: "anthropic:claude-sonnet-4-5", seed: 1, fallbacks: ["openai:gpt-4o"] }),
    ).toMatchObject({ status: 400, code: "unsupported_parameter", param: "seed" });
    expect(gateway.sent).toEqual([]);
  });

  test("[d7.3] loops end: an attempted target is not attempted again under another name, and a route that falls back to its start is called once", async () => {
    const routes = [
      routeOf("a", ["up0:m"], { fallbacks: ["route:b"] }),
      routeOf("b", ["up1:m", "up0:m"], { fallbacks: ["route:a"] }),
    ];
    const gateway = routedGateway(routes, { up0: [DEAD], up1: [DEAD] });
    const got = await asked(gateway, { model: null, route: "a", num_retries: 0, fallbacks: ["route:b", "up0:m"] });
    expect([got.status, gateway.upstream.targets()]).toEqual([502, ["up0", "up1"]]);
  });

  test("[d7.3] the same model with other parameters is a separate fallback", async () => {
    const gateway = direct({ up0: [status(500), OK] });
    const got = await asked(gateway, {
      num_retries: 0,
      temperature: 1,
      fallbacks: [{ model: "up0:m", temperature: 0 }],
    });
    expect([got.status, wires(gateway).map(({ temperature }) => temperature)]).toEqual([200, [1, 0]]);
  });

  test("the request's fallbacks come before the route's", async () => {
    const gateway = routedGateway(
      [routeOf("r", ["up0:m"], { fallbacks: [{ model: "up2:m", route: null, params: { temperature: 0.5 } }] })],
      { up0: [DEAD], up1: [DEAD] },
    );
    await asked(gateway, { model: "r", num_retries: 0, temperature: 1, fallbacks: ["up1:m"] });
    expect(wires(gateway).map(({ target, temperature }) => [target, temperature])).toEqual([
      ["up0", 1],
      ["up1", 1],
      ["up2", 0.5],
    ]);
  });

  test("[d1.2] a target that is requested beside its route goes first, and the others are its fallbacks", async () => {
    const gateway = routedGateway([routeOf("r", ["up0:m", "up1:m", "up2:m"])], { up1: [DEAD] });
    const got = await asked(gateway, { model: "up1:m", route: "r" });
    expect([got.body["model"], gateway.upstream.targets()]).toEqual(["up0:m", ["up1", "up0"]]);
  });

  test("[d7.5] where no target is healthy the route decides: 503 with retry-after, or the target that recovers first", async () => {
    const routes = (["error", "least_bad"] as const).map((onExhausted) =>
      routeOf(onExhausted, ["up0:m"], {
        onExhausted,
        breaker: { failures: 1, ratio: 0, windowMs: 60_000, openMs: 60_000 },
      }),
    );
    const gateway = routedGateway(routes, { up0: [status(500), OK] });
    expect((await asked(gateway, { model: "error" })).code).toBe("upstream_error");
    const refused = await asked(gateway, { model: "error" });
    expect([
      refused.status,
      refused.code,
      Number(refused.headers.get("retry-after")) > 0,
      gateway.upstream.served.length,
    ]).toEqual([503, "no_target_available", true, 1]);
    expect((await asked(gateway, { model: "least_bad" })).status).toBe(200);
  });
});

describe("a conversation that is too long", () => {
  test("[d7.3] [s:gateway.context-window-fallback-dict] the context-window map is consulted first, by the whole name or the model's own, and before fallbacks", async () => {
    for (const key of ["up0:m", "up0/m", "m"]) {
      const gateway = direct({ up0: [TOO_LONG] });
      const got = await asked(gateway, {
        num_retries: 3,
        fallbacks: ["up1:m"],
        context_window_fallback_dict: { [key]: "up2:long" },
      });
      expect([got.status, got.body["model"], gateway.upstream.targets()]).toEqual([200, "up2:long", ["up0", "up2"]]);
    }
  });
  test("[d7.3] the request's map comes before the route's, which applies where the request has no entry", async () => {
    const routes = [routeOf("r", ["up0:m", "up1:m"], { contextWindowFallbacks: new Map([["m", "up2:long"]]) })];
    const [theirs, own] = [routedGateway(routes, { up0: [TOO_LONG] }), routedGateway(routes, { up0: [TOO_LONG] })];
    expect((await asked(theirs, { model: "r" })).body["model"]).toBe("up2:long");
    expect((await asked(own, { model: "r", context_window_fallback_dict: { m: "up3:long" } })).body["model"]).toBe(
      "up3:long",
    );
  });
  test("[d7.3] without an entry the call goes to its ordinary fallbacks, and where they fail as well the client receives the error that it can fix", async () => {
    const gateway = direct({ up0: [TOO_LONG], up1: [status(500)] });
    const got = await asked(gateway, {
      num_retries: 0,
      fallbacks: ["up1:m"],
      context_window_fallback_dict: { other: "up2:long" },
    });
    expect([got.status, got.code, gateway.upstream.targets()]).toEqual([
      400,
      "context_length_exceeded",
      ["up0", "up1"],
    ]);
    expect(got.body["error"].message).toContain("maximum context length");
  });
  test("[d7.3] too long for the mapped model as well: the chain of the map is followed, and ends", async () => {
    const gateway = direct({ up0: [TOO_LONG], up1: [TOO_LONG] });
    const got = await asked(gateway, { context_window_fallback_dict: { "up0:m": "up1:m", "up1:m": "up0:m" } });
    expect([got.code, gateway.upstream.targets()]).toEqual(["context_length_exceeded", ["up0", "up1"]]);
  });
  test("a model of the map that does not exist is refused before anything is sent", async () => {
    const gateway = direct({});
    expect(await asked(gateway, { context_window_fallback_dict: { m: "nowhere:long" } })).toMatchObject({
      status: 404,
      code: "model_not_found",
      param: "context_window_fallback_dict",
    });
    expect(gateway.sent).toEqual([]);
  });
});

describe("content that a provider's policy refuses", () => {
  const withList = (contentPolicyFallbacks: readonly string[]): Route =>
    routeOf("r", ["up0:m", "up1:m"], { contentPolicyFallbacks, fallbacks: ["up2:m"] });
  test("[d7.3] goes along the route's own list first", async () => {
    const gateway = routedGateway([withList(["up2:free", "up3:free"])], { up0: [UNFIT], up2: [UNFIT] });
    const got = await asked(gateway, { model: "r", num_retries: 2 });
    expect([got.status, got.body["model"], gateway.upstream.targets()]).toEqual([
      200,
      "up3:free",
      ["up0", "up2", "up3"],
    ]);
  });
  test("[d7.3] without a list, or after it, goes to the fallbacks, and never to a further target of the route", async () => {
    for (const [list, order] of [
      [[], ["up0", "up3", "up2"]],
      [["up1:free"], ["up0", "up1", "up3", "up2"]],
    ] as const) {
      const gateway = routedGateway([withList(list)], { up0: [UNFIT], up1: [status(500)], up3: [status(500)] });
      const got = await asked(gateway, { model: "r", num_retries: 0, fallbacks: ["up3:m"] });
      expect([got.status, gateway.upstream.targets()]).toEqual([200, [...order]]);
    }
  });
});

/** The upstream call is over, the call is in its record, and nothing is in flight. */
async function isOver({ upstream, records, context: { routing } }: Routed): Promise<void> {
  while (
    records.length === 0 ||
    upstream.served.some((one) => one.ended === null) ||
    routing.health.inFlight("up0:m") > 0
  )
    await Bun.sleep(1);
}

describe("what the client sees", () => {
  const streamed = { model: "r", stream: true };
  const route = (more: Parameters<typeof routeOf>[2] = {}): Route =>
    routeOf("r", ["up0:m", "up1:m"], { retries: 1, ...more });

  test.each([
    ["a cut", { kind: "cut", words: 1 }, "upstream_incomplete"],
    ["an error event", { kind: "error_event", words: 1 }, "upstream_error"],
    ["a silence", { kind: "falls_silent", words: 1 }, "upstream_timeout"],
  ] as const)(
    "[d7.4] [d8.3] %s after the first content is one error event, with the attempts, and no other target is called",
    async (_, fault, code) => {
      const gateway = routedGateway([route({ timeouts: { betweenChunksMs: 15 } })], {
        up0: [{ kind: "refused" }, fault],
      });
      const response = await gateway.chat({ messages: HELLO, ...streamed });
      expect([
        response.status,
        response.headers.get("x-gateway-model"),
        response.headers.get("x-gateway-attempts"),
      ]).toEqual([200, "up0:m", "2"]);
      const read = readStream(await response.text());
      expect([
        read.content,
        read.done,
        read.events.filter((event) => event["error"]).length,
        read.error!["code"],
      ]).toEqual(["up0.2;", true, 1, code]);
      expect(read.error!["metadata"].attempts.map((one: any) => [one.provider, one.code])).toEqual([
        ["up0", "upstream_connection"],
        ["up0", code],
      ]);
      expect(gateway.upstream.targets()).toEqual(["up0", "up0"]);
      expect(read.events.some((event) => event["choices"]?.[0]?.finish_reason)).toBe(false);
    },
  );

  test("[d7.4] nothing of an attempt that failed before its first content reaches the client: neither id nor role", async () => {
    const gateway = routedGateway([route()], { up0: [{ kind: "cut", words: 0 }] });
    const read = readStream(await (await gateway.chat({ messages: HELLO, ...streamed, num_retries: 0 })).text());
    expect(read.events.filter((event) => event["choices"][0]?.delta.role)).toHaveLength(1);
    expect(new Set(read.events.map(({ model }) => model))).toEqual(new Set(["up1:m"]));
    expect([read.content, read.error, read.done]).toEqual(["up1.1;".repeat(WORDS), null, true]);
  });

  test("[d7.4] the head waits for the first content, over retries and fallbacks, and then names the target that answered", async () => {
    const gateway = routedGateway(
      [route()],
      { up0: [{ kind: "refused", delayMs: 30 }], up1: [{ kind: "ok", delayMs: 30 }] },
      { limits: { headHoldMs: 10_000, keepAliveMs: 5 } },
    );
    const response = await gateway.chat({ messages: HELLO, ...streamed });
    expect([response.headers.get("x-gateway-model"), response.headers.get("x-gateway-attempts")]).toEqual([
      "up1:m",
      "3",
    ]);
    const text = await response.text();
    expect(text).not.toContain(": keep-alive");
  });

  test("[d7.4] [d8.4] the head waits no longer than head_hold: then it goes out without naming a target, and comments follow until there is content", async () => {
    const time = turnTime();
    const { gateway, response, headMs, text } = await (async () => {
      try {
        const made = routedGateway(
          [route()],
          { up0: [{ kind: "refused", delayMs: 40 }], up1: [{ kind: "ok", delayMs: 60 }] },
          { clock: time.clock, limits: { headHoldMs: 20, keepAliveMs: 10 } },
        );
        const begun = await time.until(made.chat({ messages: HELLO, ...streamed }));
        const atMs = time.nowMs();
        return { gateway: made, response: begun, headMs: atMs, text: await time.until(begun.text()) };
      } finally {
        time.stop();
      }
    })();
    expect(headMs).toBe(20);
    expect([
      response.status,
      response.headers.get("x-gateway-model"),
      response.headers.get("x-gateway-attempts"),
    ]).toEqual([200, null, null]);
    expect(text.slice(0, text.indexOf("data: "))).toMatch(/^(: keep-alive\n\n){3,}$/);
    const read = readStream(text);
    expect([read.content, read.error, read.done]).toEqual(["up1.1;".repeat(WORDS), null, true]);
    for (const event of read.events) expect(event["model"]).toBe("up1:m");
    expect([read.events[0]?.["route"], read.events.at(-1)?.["route"]]).toEqual(["r", "r"]);
    expect(gateway.upstream.targets()).toEqual(["up0", "up0", "up1"]);
  });

  test("[d7.4] [d7.6] when all attempts fail after the head has gone out, one error event lists every attempt", async () => {
    const time = turnTime();
    const gateway = routedGateway(
      [route()],
      { up0: [{ kind: "refused", delayMs: 30 }], up1: [status(503)] },
      { clock: time.clock, limits: { headHoldMs: 10 } },
    );
    const begins = gateway.chat({ messages: HELLO, ...streamed, num_retries: 0 });
    const [response, text] = await time
      .until(begins.then(async (begun) => [begun, await begun.text()] as const))
      .finally(() => time.stop());
    const read = readStream(text);
    expect([response.status, read.events.length, read.done, read.error!["code"]]).toEqual([
      200,
      1,
      true,
      "upstream_overloaded",
    ]);
    expect(read.error!["metadata"].attempts).toHaveLength(2);
    expect(gateway.records.map(({ status: seen, code }) => [seen, code])).toEqual([[503, "upstream_overloaded"]]);
  });

  test("[d7.4] a plain failure before the head has its own status, as if no stream had been asked for", async () => {
    const gateway = routedGateway([route()], { up0: [DEAD], up1: [status(429, { "retry-after": "20" })] });
    const response = await gateway.chat({ messages: HELLO, ...streamed, num_retries: 0 });
    expect([response.status, response.headers.get("content-type"), response.headers.get("retry-after")]).toEqual([
      429,
      "application/json",
      "20",
    ]);
  });

  test("[d7.7] a client that leaves a stream ends the upstream request at once, before and after the head, and settles it once", async () => {
    for (const [script, headHoldMs, reads] of [
      [[{ kind: "ok", words: 50, gapMs: 5 }], 1000, 2],
      [[{ kind: "stall" }], 10, 1],
    ] as const) {
      const gateway = routedGateway([route()], { up0: script }, { limits: { headHoldMs } });
      const reader = (await gateway.chat({ messages: HELLO, ...streamed })).body!.getReader();
      for (let read = 0; read < reads; read++) await reader.read();
      await reader.cancel();
      await isOver(gateway);
      expect(gateway.upstream.served.map(({ target, ended }) => [target, ended])).toEqual([["up0", "cancelled"]]);
      expect(gateway.records.map(({ code, cancelled }) => [code, cancelled])).toEqual([["client_closed", true]]);
      expect([
        gateway.context.routing.health.inFlight("up0:m"),
        gateway.context.routing.health.inFlight("up1:m"),
      ]).toEqual([0, 0]);
    }
  });

  test("[d7.7] a client that leaves when its answer is ready, before it has read any of it, leaves nothing in flight", async () => {
    const gateway = routedGateway(
      [route()],
      { up0: [{ kind: "ok", delayMs: 30, words: 50, gapMs: 5 }] },
      { limits: { headHoldMs: 10 } },
    );
    const reader = (await gateway.chat({ messages: HELLO, ...streamed })).body!.getReader();
    // the comment that goes with the head, and no more
    await reader.read();
    await until(() => gateway.context.routing.health.latencyMs("up0:m", performance.now()) !== null);
    await reader.cancel();
    await isOver(gateway);
    expect(gateway.upstream.served.map(({ ended }) => ended)).toEqual(["cancelled"]);
    expect(gateway.context.routing.health.inFlight("up0:m")).toBe(0);
  });
});

describe("each target by its own wire form", () => {
  const IMAGE =
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const request = {
    model: "openai:gpt-4o",
    seed: 3,
    max_tokens: 50,
    tools: [TOOL],
    drop_params: true,
    fallbacks: ["anthropic:claude-sonnet-4-5", "gemini:gemini-2.5-flash"],
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "image_url", image_url: { url: IMAGE } },
        ],
      },
    ],
  };
  const geminiAnswer = {
    candidates: [{ content: { role: "model", parts: [{ text: "A pixel." }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 2, totalTokenCount: 7 },
  };
  const gateway = stubGateway({
    upstream: cannedUpstream(({ url }) =>
      url.includes("generateContent") ? { body: JSON.stringify(geminiAnswer) } : { status: 503, body: "{}" },
    ),
  });

  test("[d7.3] openai -> anthropic -> gemini: each request is made anew from the client's own request", async () => {
    const got = await asked(gateway, { num_retries: 0, ...request });
    expect([got.status, got.body["model"], got.body["choices"][0].message.content]).toEqual([
      200,
      "gemini:gemini-2.5-flash",
      "A pixel.",
    ]);
    expect(got.headers.get("x-gateway-attempts")).toBe("3");
    const [first, second, third] = gateway.sent.map(({ body }) => JSON.parse(body) as Record<string, any>);
    expect(first).toMatchObject({ model: "gpt-4o", seed: 3, messages: request.messages });
    expect(first!["tools"]).toEqual([TOOL]);
    expect(second).toMatchObject({ model: "claude-sonnet-4-5", max_tokens: 50, system: expect.anything() });
    expect(second!["seed"]).toBeUndefined();
    expect(second!["tools"]).toMatchObject([{ name: "weather", input_schema: TOOL.function.parameters }]);
    expect(JSON.stringify(second!["messages"])).toContain('"media_type":"image/png"');
    expect(third).toMatchObject({
      generationConfig: { seed: 3, maxOutputTokens: 50 },
      tools: [{ functionDeclarations: [{ name: "weather" }] }],
    });
    expect(JSON.stringify(third!["contents"])).toContain('"mimeType":"image/png"');
    // what the answering target dropped, not what those before it did
    expect(got.headers.get("x-gateway-dropped-params")).toBeNull();
  });

  test("[d2.9] [d7.3] each gets its own credential, and none of another target", () => {
    const keys = gateway.sent.map(({ headers, url }) =>
      JSON.stringify([headers["authorization"], headers["x-api-key"], headers["x-goog-api-key"], new URL(url).host]),
    );
    expect(keys).toEqual([
      '["Bearer stored-key",null,null,"api.openai.com"]',
      '[null,"stored-key",null,"api.anthropic.com"]',
      '[null,null,"stored-key","generativelanguage.googleapis.com"]',
    ]);
  });
});

describe("credentials and addresses of a call", () => {
  test("[d2.9] [d7.3] stored keys go to their own addresses only, also along fallbacks", async () => {
    const gateway = direct({ up0: [DEAD], up1: [DEAD] });
    await asked(gateway, { fallbacks: ["up1:m", "up2:m"] });
    for (const { target, request } of gateway.upstream.served)
      expect([target, request.headers["authorization"]]).toEqual([target, `Bearer key-of-${target}`]);
  });
  test("[d2.9] [d7.3] a caller's key and address stay with the entry that brings them", async () => {
    const gateway = direct({ up0: [DEAD], 127: [DEAD] });
    const got = await asked(gateway, {
      num_retries: 0,
      api_key: "mine",
      fallbacks: [{ model: "up1:m", api_key: "other", base_url: "http://127.0.0.1:9/v1" }, "up2:m", "up0:n"],
    });
    const seen = gateway.upstream.served.map(({ request }) => [
      new URL(request.url).host,
      request.headers["authorization"],
    ]);
    expect(seen.slice(0, 3)).toEqual([
      ["up0.test", "Bearer mine"],
      ["127.0.0.1:9", "Bearer other"],
      ["up2.test", "Bearer key-of-up2"],
    ]);
    expect(got.body["model"]).toBe("up2:m");
    // a key of the call that was not sent is reported
    expect(got.headers.get("x-gateway-warnings")).toBe("endpoint_not_shared");
  });
});

describe("[d1.6] [s:param.model-list]", () => {
  const entry = (model: string, more: object = {}, place: object = {}) => ({
    model_name: "fast",
    params: { model, ...more },
    ...place,
  });
  test("the entries of the name are attempted one at a time, by order and then weight, with their own keys", async () => {
    const gateway = direct({ up0: [DEAD], up1: [{ kind: "cut", words: 0 }] });
    const model_list = [
      entry("up2:c", { api_key: "key-c" }, { order: 2 }),
      entry("up0:a", { api_key: "key-a" }, { weight: 5 }),
      entry("up1:b", { api_key: "key-b" }),
      { model_name: "slow", params: { model: "up3:never" } },
    ];
    const got = await asked(gateway, { model: "fast", num_retries: 0, model_list });
    expect([got.status, got.body["model"], got.body["route"]]).toEqual([200, "up2:c", "direct"]);
    expect(gateway.upstream.served.map(({ target, request }) => [target, request.headers["authorization"]])).toEqual([
      ["up0", "Bearer key-a"],
      ["up1", "Bearer key-b"],
      ["up2", "Bearer key-c"],
    ]);
    for (const { startedMs, ended } of gateway.upstream.served)
      expect([startedMs > 0, ended]).toEqual([true, expect.stringMatching(/failed|cancelled|read/)]);
  });
  test("two keys for one model are two targets, and so are two addresses", async () => {
    const gateway = direct({ up0: [status(429, { "retry-after": "60" }), OK] });
    const got = await asked(gateway, {
      model: "fast",
      model_list: [entry("up0:m", { api_key: "one" }), entry("up0:m", { api_key: "two" })],
    });
    expect([got.status, gateway.upstream.served.map(({ request }) => request.headers["authorization"])]).toEqual([
      200,
      ["Bearer one", "Bearer two"],
    ]);
    const other = direct({ up0: [status(503)] });
    await asked(other, { num_retries: 0, fallbacks: [{ model: "up0:m", api_key: "two" }] });
    expect(other.upstream.served.map(({ request }) => request.headers["authorization"])).toEqual([
      "Bearer key-of-up0",
      "Bearer two",
    ]);
  });
  test("a caller's bad key, however often used, blocks no other caller", async () => {
    const gateway = direct({
      up0: [status(500), status(500), status(500), status(500), status(500), status(500), status(500), OK],
    });
    for (let call = 0; call < 7; call++)
      await asked(gateway, { model: "fast", num_retries: 0, model_list: [entry("up0:m", { api_key: "wrong" })] });
    expect(
      gateway.context.routing.health.blockedReason(
        "up0:m",
        { failures: 5, ratio: 0.5, windowMs: 30_000, openMs: 10_000 },
        performance.now(),
      ),
    ).toBeNull();
  });
  test("[d7.1] a caller's address, however often it fails, takes no retry from others", async () => {
    const gateway = direct({ up0: Array.from({ length: 5 }, () => [status(500), OK]).flat(), 127: [status(500)] });
    Object.assign(gateway.context, { routing: { ...gateway.context.routing, random: () => 0 } });
    for (let call = 0; call < 8; call++)
      await asked(gateway, { base_url: "http://127.0.0.1:9/v1", api_key: "mine", num_retries: 10 });
    expect(gateway.upstream.targets().filter((target) => target === "127").length).toBeGreaterThan(20);
    for (let call = 0; call < 5; call++) {
      const got = await asked(gateway, { num_retries: 1 });
      expect([got.status, got.headers.get("x-gateway-attempts")]).toEqual([200, "2"]);
    }
  });
  test("the list is forgotten after the call", async () => {
    const gateway = direct({});
    expect((await asked(gateway, { model: "fast", model_list: [entry("up0:m")] })).status).toBe(200);
    expect(await asked(gateway, { model: "fast" })).toMatchObject({ status: 404, code: "model_not_found" });
  });
});

describe("explain", () => {
  const EXPLAIN = { permissions: ["byo_endpoint", "debug"] } as const;
  const explain = async (gateway: Stub, fields: object): Promise<Record<string, any>> =>
    (await (
      await gateway.chat({ messages: HELLO, ...fields }, { headers: { "x-gateway-explain": "true" } })
    ).json()) as Record<string, any>;

  test("[d9.4] [d7.3] shows the plan in order with the reasons, and sends nothing", async () => {
    const gateway = routedGateway([routeOf("r", ["up0:a", "up1:b"], { fallbacks: ["up2:c"] })], {}, EXPLAIN);
    const { targets, route } = await explain(gateway, { model: "r", fallbacks: ["up3:d"] });
    expect([route, targets.map(({ order, target }: any) => [order, target])]).toEqual([
      "r",
      [
        [1, "up0:a"],
        [2, "up1:b"],
        [3, "up3:d"],
        [4, "up2:c"],
      ],
    ]);
    expect(targets[0].why).toContain("chosen by priority");
    expect(targets[2].why).toContain("all targets before it have failed");
    expect(gateway.sent).toEqual([]);
  });
  test("[d9.4] does not describe an entry of a longer model_list as the only target", async () => {
    const { targets } = await explain(routedGateway([], {}, EXPLAIN), {
      model: "m",
      model_list: [
        { model_name: "m", params: { model: "up0:a" } },
        { model_name: "m", params: { model: "up1:b" } },
      ],
    });
    expect(targets.map(({ target, why }: any) => [target, /only target/.test(why)])).toEqual([
      ["up0:a", false],
      ["up1:b", false],
    ]);
  });
});
