// Promises 7.5, 7.9 and 7.10 through the whole gateway, in turned time: a target that is known to be unable is passed
// over wherever it stands, silence counts at the breaker, and a fallback is reached while there is time for it.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Health } from "../../../src/routing/health/health.ts";
import { type Fault, OK, status, WORDS } from "../../harness/faults.ts";
import { ASK, cachedGateway, STREAMED } from "../../harness/cached.ts";
import { cannedUpstream, type StubOptions } from "../../harness/in-process.ts";
import { routedGateway, routeOf, type Routed, type RouteParts } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { type TurnedTime, turnTime } from "../../harness/time/turned-time.ts";

const HELLO = [{ role: "user", content: "Hello" }];
const HOW = [
  ["plain", {}],
  ["streamed", { stream: true }],
] as const;
const STALL: Fault = { kind: "stall" };

let time: TurnedTime;
beforeEach(() => void (time = turnTime()));
afterEach(() => time.stop());

/** A route of `up0:m`, by default with the fallback `up1:m`. */
function primary(up0: readonly Fault[], parts: RouteParts = {}, options: StubOptions = {}): Routed {
  return gatewayOf(["up0:m"], { up0 }, { fallbacks: ["up1:m"], ...parts }, options);
}

function gatewayOf(
  targets: Parameters<typeof routeOf>[1],
  scripts: Readonly<Record<string, readonly Fault[]>>,
  parts: RouteParts = {},
  options: StubOptions = {},
): Routed {
  return routedGateway([routeOf("r", targets, parts)], scripts, { clock: time.clock, ...options });
}

interface Got {
  readonly status: number;
  readonly code: string | null;
  readonly content: string;
  readonly tookMs: number;
}

async function send(gateway: Routed, fields: object, headers: Record<string, string> = {}): Promise<Got> {
  const startedMs = time.nowMs();
  const response = await gateway.chat({ route: "r", messages: HELLO, ...fields }, { headers });
  const text = await response.text();
  const tookMs = time.nowMs() - startedMs;
  if (response.headers.get("content-type")!.startsWith("text/event-stream")) {
    const { content, error } = readStream(text);
    return { status: response.status, code: error?.["code"] ?? null, content, tookMs };
  }
  const { choices, error } = JSON.parse(text) as Record<string, any>;
  return { status: response.status, code: error?.code ?? null, content: choices?.[0].message.content ?? "", tookMs };
}

const ask = (...args: Parameters<typeof send>): Promise<Got> => time.until(send(...args));

/** A call whose client leaves after so long. */
async function leave(gateway: Routed, fields: object, afterMs: number): Promise<void> {
  const leaving = new AbortController();
  setTimeout(() => leaving.abort(), afterMs);
  const response = await time.until(
    gateway.chat({ route: "r", messages: HELLO, ...fields }, { signal: leaving.signal }),
  );
  await time.until(response.text().catch(() => ""));
  await time.drain(afterMs);
}

const BREAKER = routeOf("r", []).breaker;

function trip({ context }: Routed, key: string): void {
  for (let fault = 0; fault < BREAKER.failures; fault++)
    context.routing.health.end(key, BREAKER, "upstream_fault", time.nowMs(), {});
}

const asked = ({ upstream }: Routed, target: string): number =>
  upstream.targets().filter((one) => one === target).length;
const stateOf = ({ context }: Routed, key: string): ReturnType<Health["snapshot"]>[number]["state"] | undefined =>
  context.routing.health.snapshot(time.nowMs()).find((one) => one.key === key)?.state;
const FROM_UP1 = expect.stringMatching(/^(up1\.\d+;){3}$/) as unknown as string;

describe.each([...HOW])("a target that is known to be unable, %s", (_, how) => {
  const unable: readonly (readonly [string, Fault, RouteParts])[] = [
    ["hangs", STALL, { timeouts: { firstByteMs: 50 } }],
    ["answers 500", status(500), {}],
    ["told to come back in 60 s", status(429, { "retry-after": "60" }), {}],
  ];
  test.each([...unable])(
    "[d7.5] is passed over for the fallback of the route, where it %s",
    async (__, fault, parts) => {
      const gateway = primary([fault], parts);
      for (let call = 0; call < 10; call++) expect((await ask(gateway, how)).content).toEqual(FROM_UP1);
      const before = asked(gateway, "up0");
      expect(before).toBeLessThanOrEqual(5);
      for (let call = 0; call < 100; call++) expect((await ask(gateway, how)).content).toEqual(FROM_UP1);
      expect(asked(gateway, "up0")).toBe(before);
    },
  );
  test.each([...unable])(
    "[d7.5] is passed over for a fallback of the request, where it %s",
    async (__, fault, parts) => {
      const gateway = gatewayOf(["up0:m"], { up0: [fault] }, parts);
      const direct = "timeouts" in parts ? {} : { model: "up0:m", route: "direct" };
      for (let call = 0; call < 100; call++)
        expect((await ask(gateway, { ...how, fallbacks: ["up1:m"], ...direct })).content).toEqual(FROM_UP1);
      expect(asked(gateway, "up0")).toBeLessThanOrEqual(5);
    },
  );
  test("[d7.5] is asked again where nothing else is able, unless the route says error", async () => {
    const bothOpen = (parts: RouteParts): Routed => {
      const gateway = primary([status(500)], parts);
      for (const key of ["up0:m", "up1:m"]) trip(gateway, key);
      return gateway;
    };
    const leastBad = bothOpen({});
    expect((await ask(leastBad, how)).content).toEqual(FROM_UP1);
    // both are free at the same time, so that the order decides
    expect(leastBad.upstream.targets()).toEqual(["up0", "up1"]);
    const none = bothOpen({ onExhausted: "error" });
    const got = await ask(none, how);
    expect([got.status, got.code, none.upstream.targets()]).toEqual([503, "no_target_available", []]);
  });
  test("[d7.5] of calls that come when its breaker is half-open, one probes it, and the others go on", async () => {
    const gateway = primary([status(500), status(500), status(500), status(500), status(500), STALL], {
      timeouts: { firstByteMs: 1_000 },
    });
    for (let call = 0; call < 5; call++) await ask(gateway, how);
    expect(stateOf(gateway, "up0:m")).toBe("open");
    await time.until(new Promise((resume) => setTimeout(resume, BREAKER.openMs)));
    const got = await time.until(Promise.all(Array.from({ length: 20 }, () => send(gateway, how))));
    expect(asked(gateway, "up0")).toBe(6);
    expect(got.map(({ content }) => content)).toEqual(Array.from({ length: 20 }, () => FROM_UP1));
    expect(got.filter(({ tookMs }) => tookMs >= 1_000)).toHaveLength(1);
  });
  test("[d7.5] is left by calls that waited for a place there when its breaker opened", async () => {
    const gateway = gatewayOf(
      [{ name: "up0:m", maxConcurrency: 1 }],
      { up0: [{ ...status(500), delayMs: 100 } as Fault] },
      { fallbacks: ["up1:m"] },
    );
    const got = await time.until(Promise.all(Array.from({ length: 12 }, () => send(gateway, how))));
    expect(got.map(({ content }) => content)).toEqual(Array.from({ length: 12 }, () => FROM_UP1));
    expect(asked(gateway, "up0")).toBe(5);
    expect(gateway.context.routing.health.snapshot(time.nowMs()).map(({ inFlight }) => inFlight)).toEqual([0, 0]);
  });
  test("[d7.5] gets no second attempt, and a sticky call leaves it", async () => {
    const gateway = primary([status(500)], {
      hedge: { after: 20, maxExtra: 1 },
      sticky: { by: "user" },
      fallbacks: ["up1:m"],
    });
    for (let call = 0; call < 5; call++) await ask(gateway, { ...how, user: "anna" });
    const got = await ask(gateway, { ...how, user: "anna" });
    expect([got.content, asked(gateway, "up0")]).toEqual([FROM_UP1, 5]);
  });
});

const IMPATIENT: readonly (readonly [string, (gateway: Routed, how: object, ms: number) => Promise<unknown>])[] = [
  ["sets a timeout", (gateway, how, ms) => ask(gateway, { ...how, timeout: ms / 1000 })],
  // the gateway answers 5 s before the limit of the library, or in half of the time
  [
    "has a library with a limit",
    (gateway, how, ms) => ask(gateway, how, { "x-stainless-timeout": String(Math.min(2 * ms, ms + 5_000) / 1000) }),
  ],
  ["leaves", (gateway, how, ms) => leave(gateway, how, ms)],
];

describe.each([...HOW])("silence, %s", (_, how) => {
  test.each([...IMPATIENT])("[d7.9] counts when it is longer than usual and the caller %s", async (__, give) => {
    const gateway = gatewayOf(["up0:m"], { up0: [{ kind: "ok", delayMs: 100 }, STALL] });
    expect((await ask(gateway, how)).content).toBe("up0.1;".repeat(WORDS));
    for (let call = 0; call < 5; call++) {
      expect(stateOf(gateway, "up0:m")).toBe("closed");
      await give(gateway, how, 3_000);
    }
    expect(stateOf(gateway, "up0:m")).toBe("open");
  });
  test.each([...IMPATIENT])("[d7.9] does not count when it is usual and the caller %s", async (__, give) => {
    // three times the usual 1.2 s is longer than the caller waits, and 1 s is never unusual
    for (const [usualMs, waitMs] of [
      [1_200, 3_000],
      [10, 900],
    ] as const) {
      const gateway = gatewayOf(["up0:m"], { up0: [{ kind: "ok", delayMs: usualMs }, STALL] });
      await ask(gateway, how);
      for (let call = 0; call < 10; call++) await give(gateway, how, waitMs);
      expect(stateOf(gateway, "up0:m")).toBe("closed");
    }
  });
  test.each([...IMPATIENT])("[d7.9] counts after 10 s where nothing is known and the caller %s", async (__, give) => {
    for (const [waitMs, state] of [
      [9_900, "closed"],
      [10_100, "open"],
    ] as const) {
      const gateway = gatewayOf(["up0:m"], { up0: [STALL] }, { breaker: { ...BREAKER, windowMs: 600_000 } });
      for (let call = 0; call < 5; call++) await give(gateway, how, waitMs);
      expect(stateOf(gateway, "up0:m")).toBe(state);
    }
  });
  test("[d7.9] does not count after the head of an answer", async () => {
    const gateway = gatewayOf(["up0:m"], { up0: [OK, { kind: "silence" }] });
    await ask(gateway, how);
    for (let call = 0; call < 10; call++) await ask(gateway, { ...how, timeout: 3 });
    expect(stateOf(gateway, "up0:m")).toBe("closed");
  });
  test("[d7.9] does not count when the attempt waited in the queue of its target", async () => {
    const gateway = gatewayOf(
      [{ name: "up0:m", maxConcurrency: 1 }],
      { up0: [OK, STALL] },
      { queue: { max: 64, timeoutMs: 60_000 } },
    );
    await ask(gateway, how);
    // one of them hangs for 3 s, and the others get its place when their time is over
    await time.until(Promise.all(Array.from({ length: 9 }, () => send(gateway, { ...how, timeout: 3 }))));
    expect(stateOf(gateway, "up0:m")).toBe("closed");
  });
});

describe("a caller with little time", () => {
  test("[d7.9] [d7.10] is answered by the second target while the first one hangs", async () => {
    for (const [__, how] of HOW)
      for (const fallbacks of [true, false]) {
        const gateway = fallbacks ? primary([STALL]) : gatewayOf(["up0:m", "up1:m"], { up0: [STALL] });
        for (let call = 0; call < 40; call++)
          expect((await ask(gateway, { ...how, timeout: 3 })).content).toEqual(FROM_UP1);
      }
  });
  test.each([
    [429, "{"],
    [500, ""],
    [503, '{"error":{"message":"Overloaded.","type":"server_error"}}'],
  ])("[d7.3] [d7.10] is answered by the second target when the body of a %d does not end", async (code, body) => {
    for (const [__, how] of HOW) {
      const gateway = primary([{ kind: "status", status: code, body, gapMs: 3_600_000 }]);
      const { content, tookMs } = await ask(gateway, how);
      expect([content, tookMs < 10_000]).toEqual([FROM_UP1, true]);
      expect(gateway.upstream.served.map(({ ended }) => ended)).toEqual(["cancelled", "read"]);
    }
  });
  test("[d7.9] opens no breaker by giving up a target that it leaves no time", async () => {
    const gateway = primary([{ kind: "ok", delayMs: 800 }]);
    expect((await ask(gateway, {})).content).toBe("up0.1;".repeat(WORDS));
    for (let call = 0; call < 20; call++) expect((await ask(gateway, { timeout: 1 })).content).toEqual(FROM_UP1);
    expect(stateOf(gateway, "up0:m")).toBe("closed");
  });
});

describe("a fallback", () => {
  test.each([...HOW])(
    "[d7.10] is reached with default limits when the target before it is silent, %s",
    async (__, how) => {
      const limitMs = "stream" in how ? 60_000 : 300_000;
      const gateway = primary([STALL], { retries: 1 });
      const got = await ask(gateway, how);
      expect([got.content, got.tookMs, gateway.upstream.targets()]).toEqual([FROM_UP1, limitMs, ["up0", "up1"]]);
      const [late] = gateway.records.at(-1)!.attempts;
      expect(late!.code).toBe("upstream_timeout");
    },
  );
  test.each([...HOW])("[d7.10] is left at least half of the call's time, %s", async (__, how) => {
    const gateway = gatewayOf(["up0:m"], { up0: [STALL], up1: [STALL] }, { fallbacks: ["up1:m", "up2:m"] });
    const got = await ask(gateway, { ...how, timeout: 40 });
    expect(gateway.upstream.served.map(({ target, startedMs }) => [target, startedMs])).toEqual([
      ["up0", 0],
      ["up1", 20_000],
      ["up2", 30_000],
    ]);
    expect(got.content).toBe("up2.1;".repeat(WORDS));
  });
  test.each([...HOW])("[d7.10] is waited for as long as the route says where it sets a limit, %s", async (__, how) => {
    const firstByte = primary([{ kind: "ok", delayMs: 400_000 }], { timeouts: { firstByteMs: 500_000 } });
    expect((await ask(firstByte, how)).content).toBe("up0.1;".repeat(WORDS));
    const firstToken = primary([{ kind: "ok", delayMs: 200_000 }], { timeouts: { firstTokenMs: 500_000 } });
    expect((await ask(firstToken, how)).content).toBe("up0.1;".repeat(WORDS));
  });
  test.each([...HOW])("[d7.10] that is unable takes no time from the target before it, %s", async (__, how) => {
    const [firstMs, secondMs] = "stream" in how ? [60_000, 120_000] : [300_000, 450_000];
    const broken = primary([{ kind: "ok", delayMs: firstMs + 5_000 }]);
    setTimeout(() => trip(broken, "up1:m"), firstMs - 5_000);
    expect((await ask(broken, how)).content).toBe("up0.1;".repeat(WORDS));
    // it is able again when its breaker is half-open
    const recovering = primary([{ kind: "ok", delayMs: secondMs + 5_000 }]);
    setTimeout(() => trip(recovering, "up1:m"), firstMs - 5_000);
    const got = await ask(recovering, how);
    expect([got.content, got.tookMs]).toEqual([FROM_UP1, secondMs]);
    const none = gatewayOf(["up0:m"], { up0: [{ kind: "ok", delayMs: secondMs + 5_000 }] });
    expect((await ask(none, how)).content).toBe("up0.1;".repeat(WORDS));
  });
  test.each([...HOW])(
    "[d7.10] is attempted at once after a time limit, unless the route asks for repetitions, %s",
    async (__, how) => {
      const limits: readonly (readonly [RouteParts["timeouts"], Fault])[] = [
        [{ connectMs: 1_000 }, { kind: "no_connection" }],
        [{ firstByteMs: 1_000 }, STALL],
        [{ betweenChunksMs: 1_000 }, { kind: "silence" }],
        ...("stream" in how ? [[{ firstTokenMs: 1_000 }, { kind: "silence" }] as const] : []),
      ];
      for (const [timeouts, fault] of limits) {
        const gateway = primary([fault], { retries: 2, timeouts: timeouts! });
        const got = await ask(gateway, how);
        expect([got.content, got.tookMs, gateway.upstream.targets()]).toEqual([FROM_UP1, 1_000, ["up0", "up1"]]);
        const repeating = primary([fault], { retries: 2, retryTimeouts: true, timeouts: timeouts! });
        expect((await ask(repeating, how)).tookMs).toBe(3_000);
        expect(repeating.upstream.targets()).toEqual(["up0", "up0", "up0", "up1"]);
      }
    },
  );
  test("[d7.10, d13.5] is not called for a call that shares a request whose head has come", async () => {
    const provider = cannedUpstream(STREAMED);
    const gateway = cachedGateway({
      clock: time.clock,
      upstream: {
        async send(request, call) {
          const { body, ...head } = await provider.send(request, call);
          let waitMs = 70_000;
          const read = async (): Promise<Uint8Array | null> => {
            if (waitMs > 0) await new Promise((resume) => setTimeout(resume, waitMs));
            waitMs = 0;
            return body.read();
          };
          return { ...head, body: { ...body, read } };
        },
      },
    });
    const call = (): Promise<Response> => gateway.chat({ ...ASK, stream: true, fallbacks: ["two:m"] });
    const answers = await time.until(Promise.all([call(), call()]));
    for (const answer of answers) expect(await time.until(answer.text())).toContain("[DONE]");
    expect(gateway.sent.map(({ url }) => new URL(url).hostname)).toEqual(["one.test"]);
    expect(gateway.records.map(({ cache }) => cache!.outcome).toSorted()).toEqual(["hit", "miss"]);
  });
  test("[d7.10] does not end the repetitions of a provider's own 408 and 504", async () => {
    for (const code of [408, 504]) {
      const gateway = primary([status(code), OK], { retries: 1 });
      expect((await ask(gateway, {})).content).toBe("up0.2;".repeat(WORDS));
    }
  });
});
