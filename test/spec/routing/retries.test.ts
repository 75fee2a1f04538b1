// Promises 7.1, 7.2, 7.6 and 7.8 through the whole gateway: what is retried and what never, how often, after which wait, within which time, and what is reported.
import { describe, expect, mock, test } from "bun:test";
import { type Fault, OK, status, WORDS } from "../../harness/faults.ts";
import { routedGateway, type RouteParts, routeOf, type Routed } from "../../harness/routed.ts";
import type { StubOptions } from "../../harness/in-process.ts";
import { readStream } from "../../harness/sse.ts";
import { turnTime } from "../../harness/time/turned-time.ts";
import { until } from "../../harness/time/until.ts";

const HELLO = [{ role: "user", content: "Hello" }];

interface Got {
  readonly status: number;
  readonly code: string | null;
  readonly content: string;
  readonly headers: Headers;
  readonly error: Record<string, any> | null;
}

async function ask(gateway: Routed, fields: object, headers: Record<string, string> = {}): Promise<Got> {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...fields }, { headers });
  const text = await response.text();
  const streamed = response.headers.get("content-type")!.startsWith("text/event-stream");
  const read = streamed ? readStream(text) : null;
  const error = read === null ? ((JSON.parse(text) as Record<string, any>)["error"] ?? null) : read.error;
  const content =
    read?.content ?? (error === null ? (JSON.parse(text) as Record<string, any>)["choices"][0].message.content : "");
  return { status: response.status, code: error?.code ?? null, content, headers: response.headers, error };
}

/** One target with a script, or as many as scripts. */
function scripted(scripts: readonly (readonly Fault[])[], parts: RouteParts = {}, options: StubOptions = {}): Routed {
  const names = scripts.map((_, index) => `up${index}`);
  const gateway = routedGateway(
    [
      routeOf(
        "r",
        names.map((name) => `${name}:m`),
        parts,
      ),
    ],
    Object.fromEntries(names.map((name, index) => [name, scripts[index]!])),
    options,
  );
  // waits are short, where a test does not look at them
  return Object.assign(gateway, {
    context: Object.assign(gateway.context, { routing: { ...gateway.context.routing, random: () => 0.01 } }),
  });
}

interface Timed extends Got {
  readonly gateway: Routed;
  readonly attempts: number;
  readonly tookMs: number;
}

/** What came, and how long it took, in turned time. */
async function timed(
  scripts: readonly (readonly Fault[])[],
  fields: object,
  parts: RouteParts = {},
  headers: Record<string, string> = {},
  random = (): number => 0.01,
): Promise<Timed> {
  const time = turnTime();
  try {
    const gateway = scripted(scripts, parts, { clock: time.clock });
    Object.assign(gateway.context.routing, { random });
    const got = await time.until(ask(gateway, fields, headers));
    return { ...got, gateway, attempts: gateway.upstream.served.length, tookMs: time.nowMs() };
  } finally {
    time.stop();
  }
}

const HOW = [
  ["plain", {}],
  ["streamed", { stream: true }],
] as const;
const RETRYABLE: readonly (readonly [string, Fault])[] = [
  ["a connection that is refused", { kind: "refused" }],
  ["a connection that does not come", { kind: "no_connection" }],
  ["a head that does not come", { kind: "stall" }],
  ["a body that does not come", { kind: "silence" }],
  ...[408, 429, 500, 502, 503, 504, 529].map((code) => [`status ${code}`, status(code)] as const),
  ["an invalid answer", { kind: "garbage" }],
  ["a cut before any content", { kind: "cut", words: 0 }],
  ["an error event before any content", { kind: "error_event", words: 0 }],
  ["an answer in which nothing was generated", { kind: "empty" }],
];
const NEVER: readonly (readonly [number, string])[] = [
  [400, "upstream_invalid_request"],
  [402, "upstream_quota"],
  [403, "upstream_authentication"],
  [401, "upstream_authentication"],
  [404, "model_not_found"],
  [409, "upstream_invalid_request"],
  [413, ""],
  [422, "upstream_invalid_request"],
];
const SHORT = { timeouts: { connectMs: 15, firstByteMs: 15, betweenChunksMs: 15 } };

describe.each([...HOW])("%s", (_, how) => {
  test.each(RETRYABLE)("[d7.1] [s:gateway.num-retries] %s is retried at the same target", async (_name, fault) => {
    const gateway = scripted([[fault, OK]], { ...SHORT, retries: 1 });
    const got = await ask(gateway, how);
    expect([got.status, got.content, gateway.upstream.targets()]).toEqual([
      200,
      "up0.2;".repeat(WORDS),
      ["up0", "up0"],
    ]);
    expect(got.headers.get("x-gateway-attempts")).toBe("2");
  });

  test.each(RETRYABLE)("[d7.1] [d7.3] %s, without retries: the next target answers, at once", async (_name, fault) => {
    const gateway = scripted([[fault], [OK]], SHORT);
    const got = await ask(gateway, how);
    expect([got.status, got.content, gateway.upstream.targets()]).toEqual([
      200,
      "up1.1;".repeat(WORDS),
      ["up0", "up1"],
    ]);
    expect([got.headers.get("x-gateway-model"), got.headers.get("x-gateway-attempts")]).toEqual(["up1:m", "2"]);
  });

  test.each(NEVER)("[d7.1] status %d is never retried at the same target", async (code, expected) => {
    const gateway = scripted([[status(code), OK]], { retries: 3 });
    const got = await ask(gateway, how);
    expect(gateway.upstream.targets()).toEqual(["up0"]);
    expect(got.status).toBeGreaterThanOrEqual(400);
    if (expected !== "") expect(got.code).toBe(expected);
  });

  test("[d7.1] no 4xx other than 408 and 429 is retried at the same target", async () => {
    for (let code = 400; code < 500; code++) {
      if (code === 408 || code === 429) continue;
      const gateway = scripted([[status(code), OK]], { retries: 3 });
      await ask(gateway, how);
      expect([code, gateway.upstream.targets()]).toEqual([code, ["up0"]]);
    }
  });

  test("[d7.1] a status that is never retried is not retried either where its body says that a moment later it may work", async () => {
    for (const [code, error, expected] of [
      [400, { code: "overloaded_error" }, "upstream_overloaded"],
      [400, { code: "rate_limit_exceeded" }, "rate_limit_exceeded"],
      [403, { code: "rate_limit_exceeded" }, "rate_limit_exceeded"],
    ] as const) {
      const gateway = scripted([[status(code, {}, error), OK]], { retries: 3 });
      expect([(await ask(gateway, how)).code, gateway.upstream.targets()]).toEqual([expected, ["up0"]]);
      const further = scripted([[status(code, {}, error)], [OK]], { retries: 3 });
      expect([(await ask(further, how)).status, further.upstream.targets()]).toEqual([200, ["up0", "up1"]]);
    }
  });

  test("[d7.1] attempts at one target are 1 + num_retries, from the request before the route, and 1 where neither sets it", async () => {
    for (const [retries, num_retries, attempts] of [
      [null, undefined, 2],
      [0, undefined, 1],
      [2, undefined, 3],
      [2, 0, 1],
      [0, 2, 3],
      [1, null, 2],
    ] as const) {
      const gateway = scripted([[{ kind: "refused" }]], { retries });
      const got = await ask(gateway, { ...how, ...(num_retries !== undefined && { num_retries }) });
      expect([retries, num_retries, gateway.upstream.targets().length]).toEqual([retries, num_retries, attempts]);
      expect([got.status, got.code, got.error!["metadata"].attempts.length]).toEqual([
        502,
        "upstream_connection",
        attempts,
      ]);
    }
  });

  test("[d7.1] the bound applies to each target of a route, and they are attempted in order", async () => {
    const gateway = scripted([[{ kind: "refused" }], [status(503)], [{ kind: "cut", words: 0 }]], { retries: 1 });
    const got = await ask(gateway, how);
    expect(gateway.upstream.targets().toSorted()).toEqual(["up0", "up0", "up1", "up1", "up2", "up2"]);
    expect(gateway.upstream.targets().slice(0, 4)).toEqual(["up0", "up0", "up1", "up1"]);
    expect(got.error!["metadata"].attempts).toHaveLength(6);
  });

  test("[d7.1] retry-after is waited for when no other target is left", async () => {
    for (const headers of [{ "retry-after-ms": "120" }, { "retry-after": "0.12" }]) {
      const got = await timed([[status(429, headers), OK]], how, { retries: 1 });
      expect([got.status, got.attempts]).toEqual([200, 2]);
      const [first, second] = got.gateway.upstream.served.map(({ startedMs }) => startedMs);
      expect(second! - first!).toBeWithin(120, 125);
    }
  });

  test("[d7.1] retry-after above 10 s, or beyond the deadline, is not waited for: the client receives the failure at once", async () => {
    for (const [wait, timeout] of [
      ["11", 600],
      ["2", 1],
    ] as const) {
      const got = await timed([[status(429, { "retry-after": wait }), OK]], { ...how, timeout }, { retries: 1 });
      expect([got.status, got.code, got.headers.get("retry-after"), got.attempts]).toEqual([
        429,
        "rate_limit_exceeded",
        wait,
        1,
      ]);
      expect(got.tookMs).toBeLessThan(10);
    }
  });

  test("[d7.1] while another target is left there is no wait, neither for a rate limit nor for a backoff", async () => {
    const scripts = [[status(429, { "retry-after": "2" })], [{ kind: "refused" as const }], [OK]];
    const got = await timed(scripts, how, { retries: 2 });
    expect([got.status, got.gateway.upstream.targets()]).toEqual([200, ["up0", "up1", "up1", "up1", "up2"]]);
    expect(got.tookMs).toBeLessThan(50);
  });

  test("[d7.1] backoff has full jitter: between nothing and 250 ms doubled with each retry", async () => {
    const random = mock(() => 0.4);
    const got = await timed([[{ kind: "refused" }]], how, { retries: 2 }, {}, random);
    const [first, second, third] = got.gateway.upstream.served.map(({ startedMs }) => startedMs);
    expect([got.status, random.mock.calls.length]).toEqual([502, 2]);
    expect(second! - first!).toBeWithin(100, 105);
    expect(third! - second!).toBeWithin(200, 205);
  });

  test("[d7.1] a refusal of the operator's credential is not retried at the same target, but the next target has another account", async () => {
    for (const code of [401, 403, 402]) {
      const gateway = scripted([[status(code), OK], [OK]], { retries: 2 });
      const got = await ask(gateway, how);
      expect([got.status, gateway.upstream.targets()]).toEqual([200, ["up0", "up1"]]);
    }
  });

  test("[d7.2] the expiry of each timeout of the route is a 504 that names the timeout", async () => {
    const cases = [
      [{ connectMs: 20 }, { kind: "no_connection" }, /connect.*20 ms/],
      [{ firstByteMs: 20 }, { kind: "stall" }, /first byte.*20 ms/],
      [{ betweenChunksMs: 20 }, { kind: "silence" }, /between bytes.*20 ms/],
      ...("stream" in how ? [[{ firstTokenMs: 20 }, { kind: "silence" }, /20 ms.*first_token_ms/] as const] : []),
      [{ totalMs: 30 }, { kind: "stall" }, /timeout of 0\.03 s/],
    ] as const;
    for (const [timeouts, fault, words] of cases) {
      const got = await timed([[fault]], how, { timeouts });
      expect([got.status, got.code]).toEqual([504, "upstream_timeout"]);
      expect(got.error!["message"]).toMatch(words);
      expect(got.tookMs).toBeWithin(20, 35);
      expect(got.gateway.upstream.served.map(({ ended }) => ended)).not.toContain(null);
    }
  });

  test("[d7.2] timeout is the wall clock of the whole operation: attempts, waits and fallbacks together", async () => {
    const refused = [{ kind: "refused", delayMs: 60 }] as const;
    const fields = { ...how, timeout: 0.25, fallbacks: ["up3:m"] };
    const got = await timed([refused, refused, refused], fields, { retries: 9 });
    expect(got.tookMs).toBeWithin(240, 255);
    const late = await timed([[{ kind: "stall" }]], { ...how, timeout: 0.1 });
    expect([late.status, late.code, late.gateway.upstream.targets()]).toEqual([504, "upstream_timeout", ["up0"]]);
    expect(late.error!["message"]).toContain("timeout of 0.1 s");
    expect(late.error!["metadata"].attempts).toEqual([
      { provider: "up0", model: "m", status: null, code: "upstream_timeout" },
    ]);
    expect(late.tookMs).toBeWithin(100, 105);
  });

  test("[d7.2] a late first token at one target leaves time for the next", async () => {
    const gateway = scripted([[{ kind: "stall" }], [OK]], {
      timeouts: "stream" in how ? { firstTokenMs: 30 } : { firstByteMs: 30 },
    });
    const got = await ask(gateway, how);
    expect([got.status, got.content, gateway.upstream.targets()]).toEqual([
      200,
      "up1.1;".repeat(WORDS),
      ["up0", "up1"],
    ]);
    expect(gateway.upstream.served[0]!.ended).toBe("stream" in how ? "cancelled" : "failed");
  });

  test("[d7.2] X-Stainless-Timeout is the client's own limit, less a margin, where the request has no timeout", async () => {
    // 5 s less, and never more than half of it
    const scripts = [[{ kind: "stall" as const }]];
    const told = await timed(scripts, how, {}, { "x-stainless-timeout": "0.1" });
    expect([told.status, told.code]).toEqual([504, "upstream_timeout"]);
    expect(told.tookMs).toBeWithin(50, 55);
    const own = await timed(scripts, { ...how, timeout: 0.15 }, {}, { "x-stainless-timeout": "0.02" });
    expect(own.error!["message"]).toContain("0.15 s");
  });

  test("[d7.6] a failed call lists every attempt, without hosts and keys", async () => {
    const leak = status(503, {}, { message: "up0.test says key-of-up0 is no good" });
    const gateway = scripted([[leak], [{ kind: "refused" }], [status(404)]], {});
    const got = await ask(gateway, how);
    expect([got.status, got.code]).toEqual([404, "model_not_found"]);
    expect(got.error!["metadata"]).toEqual({
      attempts: [
        { provider: "up0", model: "m", status: 503, code: "upstream_overloaded" },
        { provider: "up1", model: "m", status: null, code: "upstream_connection" },
        { provider: "up2", model: "m", status: 404, code: "model_not_found" },
      ],
    });
    const all = JSON.stringify(got.error);
    for (const secret of ["key-of-", ".test"]) expect(all).not.toContain(secret);
    expect(gateway.records[0]!.attempts.map(({ provider, code }) => [provider, code])).toEqual([
      ["up0", "upstream_overloaded"],
      ["up1", "upstream_connection"],
      ["up2", "model_not_found"],
    ]);
  });

  test("[d7.6] headers name the target that answered and the number of attempts, and the answer names the target too", async () => {
    const gateway = scripted([[status(500)], [status(500), OK]], { retries: 1 });
    const response = await gateway.chat({ route: "r", messages: HELLO, num_retries: 1, ...how });
    expect([response.headers.get("x-gateway-model"), response.headers.get("x-gateway-attempts")]).toEqual([
      "up1:m",
      "4",
    ]);
    const text = await response.text();
    const parts = "stream" in how ? readStream(text).events : [JSON.parse(text) as Record<string, any>];
    for (const part of parts) expect(part["model"]).toBe("up1:m");
    expect([parts[0]?.["route"], parts.at(-1)?.["route"]]).toEqual(["r", "r"]);
    expect(gateway.records).toHaveLength(1);
    expect(gateway.records[0]).toMatchObject({ route: "r", provider: "up1", model: "m", status: 200 });
  });

  test("[d7.8] when no target is left the client receives the last attempt's failure, with retry-after where it is a limit", async () => {
    for (const [last, code, word] of [
      [status(429), 429, "rate_limit_exceeded"],
      [status(529), 503, "upstream_overloaded"],
      [status(500), 502, "upstream_error"],
      [status(504), 504, "upstream_timeout"],
      [{ kind: "garbage" }, 502, "stream" in how ? "upstream_incomplete" : "upstream_invalid_response"],
    ] as const) {
      const gateway = scripted([[{ kind: "refused" }], [last]], {});
      const got = await ask(gateway, how);
      expect([got.status, got.code]).toEqual([code, word]);
      if (code === 429) expect(Number(got.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("[d7.8] a target that could not take the request does not hide the failure of the one that was called", async () => {
    const gateway = routedGateway([routeOf("r", ["up0:m", { name: "up1:m", params: { temperature: 9 } }])], {
      up0: [status(503)],
    });
    const got = await ask(gateway, how);
    expect([got.status, got.code, gateway.upstream.targets()]).toEqual([503, "upstream_overloaded", ["up0"]]);
  });

  test("a timeout that is over before the first attempt is reported as a timeout", async () => {
    const gateway = scripted(
      [[OK], [OK]],
      {},
      {
        clock: {
          now: () => 1_767_225_600_000,
          monotonic: (() => {
            let at = 0;
            return () => (at += 40);
          })(),
        },
      },
    );
    const got = await ask(gateway, { ...how, timeout: 0.03 });
    expect([got.status, got.code, gateway.upstream.targets()]).toEqual([504, "upstream_timeout", []]);
  });

  test("[d7.7] a client that leaves ends the attempt at once, and no other begins", async () => {
    const gateway = scripted([[{ kind: "stall" }], [OK]], { retries: 2 });
    const leaving = new AbortController();
    const answer = gateway.chat({ route: "r", messages: HELLO, ...how }, { signal: leaving.signal });
    await until(() => gateway.upstream.served.length === 1);
    leaving.abort();
    await answer;
    expect(gateway.upstream.served.map(({ target, ended }) => [target, ended])).toEqual([["up0", "cancelled"]]);
    expect(gateway.records.map(({ code, cancelled }) => [code, cancelled])).toEqual([["client_closed", true]]);
    expect(gateway.context.routing.health.inFlight("up0:m")).toBe(0);
  });

  test("[d7.7] a client that leaves during the wait before a retry ends the call", async () => {
    const gateway = scripted([[status(429, { "retry-after": "5" }), OK]], { retries: 2 });
    const leaving = new AbortController();
    const answer = gateway.chat({ route: "r", messages: HELLO, ...how }, { signal: leaving.signal });
    await until(() => gateway.upstream.served[0]?.ended === "read");
    leaving.abort();
    await answer;
    await until(() => gateway.records.length === 1);
    expect([gateway.upstream.targets(), gateway.records[0]!.code]).toEqual([["up0"], "client_closed"]);
  });
});

describe("with simulated time", () => {
  test("[d7.1] retry-after is honoured up to 10 s, and not above", async () => {
    const honoured = await timed([[status(429, { "retry-after": "9" }), OK]], { num_retries: 1 });
    expect([honoured.status, honoured.attempts]).toEqual([200, 2]);
    expect(honoured.tookMs).toBeWithin(9_000, 9_100);
    const longer = await timed([[status(429, { "retry-after": "10.5" }), OK]], { num_retries: 1 });
    expect([longer.status, longer.attempts, longer.tookMs < 100]).toEqual([429, 1, true]);
  });

  test("[d7.2] the whole call has 600 s by default, the route's total_ms takes precedence over that, and the request's timeout over both", async () => {
    for (const [parts, fields, ms] of [
      [{}, {}, 600_000],
      [{ timeouts: { totalMs: 20_000 } }, {}, 20_000],
      [{ timeouts: { totalMs: 900_000, firstByteMs: 3_600_000 } }, {}, 900_000],
      [{ timeouts: { totalMs: 20_000 } }, { timeout: 30 }, 30_000],
    ] as const) {
      const got = await timed([[{ kind: "silence" }]], fields, {
        ...parts,
        timeouts: { ...("timeouts" in parts ? parts.timeouts : {}), betweenChunksMs: 3_600_000 },
      });
      expect([got.status, got.code, Math.round(got.tookMs / 100) * 100]).toEqual([504, "upstream_timeout", ms]);
    }
  });

  test("[d7.2] X-Stainless-Timeout: the call ends 5 s before the client's limit", async () => {
    for (const [header, ms] of [
      ["20", 15_000],
      ["60", 55_000],
    ] as const) {
      const got = await timed(
        [[{ kind: "silence" }]],
        {},
        { timeouts: { betweenChunksMs: 3_600_000 } },
        { "x-stainless-timeout": header },
      );
      expect([got.status, Math.round(got.tookMs / 10) * 10]).toEqual([504, ms]);
    }
  });

  test("[d7.4] [d8.4] the head is held 10 s, and then a comment comes every 15 s until there is content", async () => {
    const time = turnTime();
    try {
      const gateway = scripted([[{ kind: "ok", delayMs: 60_000 }]], {}, { clock: time.clock });
      const response = await time.until(gateway.chat({ route: "r", messages: HELLO, stream: true }));
      expect([Math.round(time.nowMs()), response.headers.get("x-gateway-model")]).toEqual([10_000, null]);
      const text = await time.until(response.text());
      // with the head, and at 25, 40 and 55 s
      expect(text.slice(0, text.indexOf("data: "))).toBe(": keep-alive\n\n".repeat(4));
      expect(readStream(text).content).toBe("up0.1;".repeat(WORDS));
    } finally {
      time.stop();
    }
  });
});

describe("[d7.5] a breaker", () => {
  const BREAKER = { failures: 2, ratio: 0.5, windowMs: 60_000, openMs: 60_000 };
  async function closedAfter(fault: Fault, fields: object): Promise<boolean> {
    const gateway = scripted([[fault]], { breaker: BREAKER, timeouts: { firstByteMs: 15 } });
    for (let call = 0; call < 6; call++) await ask(gateway, fields);
    return gateway.context.routing.health.blockedReason("up0:m", BREAKER, performance.now()) === null;
  }
  test("opens on failures of the upstream and on none of the client's", async () => {
    for (const fault of [
      status(500),
      status(401),
      { kind: "refused" } as const,
      { kind: "garbage" } as const,
      { kind: "stall" } as const,
    ])
      expect([fault, await closedAfter(fault, {})]).toEqual([fault, false]);
    for (const code of [400, 404, 422]) expect([code, await closedAfter(status(code), {})]).toEqual([code, true]);
    // a client that waits no longer than this could open the breaker for all callers
    expect(await closedAfter({ kind: "ok", delayMs: 10 }, { timeout: 0.003 })).toBe(true);
  });
  test("is not affected by a client that leaves, and what was used is settled", async () => {
    const gateway = scripted([[{ kind: "ok", words: 50, gapMs: 2 }]], { breaker: BREAKER });
    for (let call = 0; call < 4; call++) {
      const reader = (await gateway.chat({ route: "r", messages: HELLO, stream: true })).body!.getReader();
      await reader.read();
      await reader.read();
      await reader.cancel();
    }
    expect(gateway.context.routing.health.blockedReason("up0:m", BREAKER, performance.now())).toBeNull();
    for (const { usage, usageSource } of gateway.records)
      expect([usageSource, usage!.completion_tokens > 0]).toEqual(["estimated", true]);
  });
});

test("[d7.6] the whole list of attempts stands in a header where the token has the permission debug", async () => {
  const calls = async (options: StubOptions): Promise<string | null> =>
    (await ask(scripted([[status(500)], [OK]], {}, options), {})).headers.get("x-gateway-attempt-list");
  expect(JSON.parse((await calls({ permissions: ["debug"] }))!)).toEqual([
    { provider: "up0", model: "m", status: 500, code: "upstream_error" },
    { provider: "up1", model: "m", status: 200, code: null },
  ]);
  expect(await calls({})).toBeNull();
});

test("[d7.1] an empty answer is returned where no attempt has a better one", async () => {
  const gateway = scripted([[{ kind: "empty" }]], { retries: 1 });
  const got = await ask(gateway, { stream: true });
  expect([
    got.status,
    got.content,
    gateway.upstream.targets(),
    gateway.records.at(-1)!.attempts.map(({ code }) => code),
  ]).toEqual([200, "", ["up0", "up0"], ["upstream_incomplete", null]]);
  expect(gateway.context.routing.health.snapshot(0).map(({ inFlight }) => inFlight)).toEqual([0]);
});

test("[d7.2] a client that does not read holds nothing past the timeout, and receives the error when it reads on", async () => {
  const time = turnTime();
  try {
    const gateway = scripted([[{ kind: "ok", words: 50, gapMs: 5 }]], {}, { clock: time.clock });
    const response = await time.until(gateway.chat({ route: "r", messages: HELLO, stream: true, timeout: 0.1 }));
    const reader = response.body!.getReader();
    const first = await time.until(reader.read());
    await time.drain(250);
    expect(gateway.records.map(({ code, status: sent }) => [code, sent])).toEqual([["upstream_timeout", 504]]);
    expect(gateway.context.routing.health.snapshot(0).map(({ inFlight }) => inFlight)).toEqual([0]);
    // without a server it is text
    let text = String(first.value);
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += String(part.value);
    const read = readStream(text);
    expect([read.error?.["code"], read.done]).toEqual(["upstream_timeout", true]);
  } finally {
    time.stop();
  }
});
