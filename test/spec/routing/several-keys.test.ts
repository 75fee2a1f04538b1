// Promise 7.1 with several keys of one provider: what a provider says to one of them says nothing about the others, so that
// a call goes on with the next one, before it fails or goes elsewhere, and the target stays what it was.
import { describe, expect, test } from "bun:test";
import { DIRECT_ROUTE } from "../../../src/core/configured/route.ts";
import { OpenCopies } from "../../../src/engine/mirror/copies.ts";
import { openRouting } from "../../../src/engine/plan/open-routing.ts";
import { type Fault, faultyUpstream, OK, status } from "../../harness/faults.ts";
import { type Stub, stubGateway, type StubOptions } from "../../harness/in-process.ts";
import { type RouteParts, routeOf } from "../../harness/routed.ts";
import { readStream } from "../../harness/sse.ts";
import { providerSettings, storedKey } from "../../harness/targets.ts";
import { until } from "../../harness/time/until.ts";

const HELLO = [{ role: "user", content: "Hello" }];
const WAIT = status(429, { "retry-after": "60" });
const WAIT_SOME_TIME = status(429);
const SPENT = status(429, {}, { code: "insufficient_quota" });
const UNKNOWN = status(401);
const FORBIDDEN = status(403);
const BROKEN = status(500);
const KEY_REFUSALS = [
  ["429 with a time", WAIT],
  ["429 without a time", WAIT_SOME_TIME],
  ["an exhausted account", SPENT],
  ["401", UNKNOWN],
  ["403", FORBIDDEN],
] as const;

interface Keyed extends Stub {
  /** The keys of the requests so far, and which target was called with them. */
  sentWith(): readonly string[];
}

/** The provider `many` with a key for each script, and `other` with the key `other`. The route has no retries. */
function keyed(
  scripts: Readonly<Record<string, readonly Fault[]>>,
  parts: RouteParts = {},
  options: StubOptions = {},
): Keyed {
  const keyOf = (headers: Readonly<Record<string, string>>): string =>
    (headers["authorization"] ?? "").replace("Bearer ", "");
  const upstream = faultyUpstream({ scripts, targetOf: ({ headers }) => keyOf(headers) });
  const keys = Object.keys(scripts).filter((key) => key !== "other");
  const provider = (id: string, names: readonly string[]) =>
    providerSettings({ id, family: "custom", baseUrl: `http://${id}.test/v1`, credentials: names.map(storedKey) });
  const gateway = stubGateway({
    upstream,
    providers: [provider("many", keys), provider("other", ["other"])],
    ...options,
    snapshot: {
      routes: new Map([
        [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])],
        [
          "r",
          routeOf("r", ["many:m"], {
            breaker: { failures: 2, ratio: 0.1, windowMs: 60_000, openMs: 60_000 },
            ...parts,
          }),
        ],
      ]),
      ...options.snapshot,
    },
  });
  return Object.assign(gateway, { sentWith: () => upstream.targets() });
}

async function asked(gateway: Stub, fields: object = {}) {
  const response = await gateway.chat({ route: "r", messages: HELLO, ...fields });
  const text = await response.text();
  return {
    status: response.status,
    model: response.headers.get("x-gateway-model"),
    attempts: response.headers.get("x-gateway-attempts"),
    headers: response.headers,
    text,
  };
}

describe("a call goes on with another key", () => {
  test.each(KEY_REFUSALS)(
    "[d7.1] after %s for one of them, before a fallback and without a retry",
    async (_, refusal) => {
      const gateway = keyed({ first: [refusal], second: [OK] }, { fallbacks: ["other:m"] });
      expect(await asked(gateway)).toMatchObject({ status: 200, model: "many:m", attempts: "2" });
      expect(gateway.sentWith()).toEqual(["first", "second"]);
      const { attempts, plan } = gateway.records[0]!;
      expect(attempts.map(({ code }) => code === null)).toEqual([false, true]);
      expect(plan.map(({ target, why }) => [target, why])).toEqual([
        ["many:m", "the only target"],
        ["many:m", "with another credential of the provider"],
      ]);
    },
  );

  test("[d7.1 d7.4] in a stream, as long as none of its content was sent", async () => {
    const gateway = keyed({
      first: [{ kind: "error_event", words: 0, code: "rate_limit_exceeded" }],
      second: [OK],
    });
    const read = readStream((await asked(gateway, { stream: true })).text);
    expect(read).toMatchObject({ done: true, error: null });
    expect(read.content).toContain("second.1;");
    expect(gateway.sentWith()).toEqual(["first", "second"]);
  });

  test("[d7.1] and keeps its retries for failures of the provider", async () => {
    const gateway = keyed({ first: [WAIT], second: [BROKEN, OK] }, { retries: 1 });
    expect(await asked(gateway)).toMatchObject({ status: 200, attempts: "3" });
    expect(gateway.sentWith()).toEqual(["first", "second", "second"]);
  });

  test("[d7.1] but not with one that was refused in the same call, and not with more than ten", async () => {
    const two = keyed({ first: [FORBIDDEN], second: [FORBIDDEN] }, { fallbacks: ["other:m"] });
    expect((await asked(two)).model).toBe("other:m");
    expect(two.sentWith()).toEqual(["first", "second", "other"]);
    const many = keyed(Object.fromEntries(Array.from({ length: 14 }, (_, at) => [`key${at}`, [UNKNOWN]])));
    expect((await asked(many)).status).toBe(502);
    expect(new Set(many.sentWith()).size).toBe(10);
    expect(many.sentWith()).toHaveLength(10);
  });

  test("[d7.1] nor is the second attempt beside a late one made with a key that was refused in the same call", async () => {
    const hedged = Promise.withResolvers<void>();
    const late: Fault = { kind: "ok", heldUntil: hedged.promise };
    const credentials = [{ ...storedKey("first"), weight: 5 }, storedKey("second")];
    const gateway = keyed(
      { first: [FORBIDDEN], second: [late, OK] },
      { hedge: { after: 1, maxExtra: 1 } },
      { providers: [providerSettings({ id: "many", family: "custom", baseUrl: "http://many.test/v1", credentials })] },
    );
    const answered = asked(gateway);
    await until(() => gateway.sentWith().length === 3);
    hedged.resolve();
    expect((await answered).status).toBe(200);
    expect(gateway.sentWith()).toEqual(["first", "second", "second"]);
  });

  test("[d7.1] and never after another failure, nor with keys of the operator after a caller's own", async () => {
    const gateway = keyed({ first: [BROKEN], second: [OK] });
    expect((await asked(gateway)).status).toBe(502);
    expect(gateway.sentWith()).toEqual(["first"]);
    const own = keyed({ first: [OK], second: [OK], mine: [UNKNOWN] });
    expect((await asked(own, { route: undefined, model: "many:m", api_key: "mine" })).status).toBe(401);
    expect(own.sentWith()).toEqual(["mine"]);
  });
});

describe("the target of several keys", () => {
  test("[d7.5] does not rest and has no failure while one of them is able", async () => {
    const gateway = keyed({ first: [WAIT, OK], second: [OK], third: [UNKNOWN] }, { fallbacks: ["other:m"] });
    for (let call = 0; call < 8; call++) expect((await asked(gateway)).model).toBe("many:m");
    const sent = gateway.sentWith();
    // each refused key is left alone from then on
    expect(sent.filter((key) => key === "first")).toHaveLength(1);
    expect(sent.filter((key) => key === "third")).toHaveLength(1);
    const nowMs = gateway.context.clock.monotonic();
    expect(gateway.context.routing.health.snapshot(nowMs)).toMatchObject([{ key: "many:m", state: "closed" }]);
  });

  test("[d7.5] rests until the first of them is able when all have to wait", async () => {
    const gateway = keyed(
      { first: [status(429, { "retry-after": "600" })], second: [status(429, { "retry-after": "30" })] },
      { fallbacks: ["other:m"] },
    );
    expect((await asked(gateway)).model).toBe("other:m");
    expect((await asked(gateway)).model).toBe("other:m");
    expect(gateway.sentWith()).toEqual(["first", "second", "other", "other"]);
    const nowMs = gateway.context.clock.monotonic();
    const resting = gateway.context.routing.health.snapshot(nowMs).find(({ key }) => key === "many:m")!;
    expect(resting.state).toBe("rate_limited");
    expect(resting.openUntilMs! - nowMs).toBeGreaterThan(0);
    expect(resting.openUntilMs! - nowMs).toBeLessThanOrEqual(30_000);
  });

  test.each([
    ["401", [UNKNOWN]],
    ["an exhausted account", [SPENT]],
  ] as const)(
    "[d7.5] rests as well where only the first has to wait, and the last was refused with %s",
    async (_what, refused) => {
      const gateway = keyed({ first: [WAIT], second: refused }, { fallbacks: ["other:m"] });
      for (let call = 0; call < 3; call++) expect((await asked(gateway)).model).toBe("other:m");
      expect(gateway.sentWith()).toEqual(["first", "second", "other", "other", "other"]);
    },
  );

  test("[d7.5] does not rest, and has a fault, where all were refused", async () => {
    const gateway = keyed({ first: [UNKNOWN], second: [SPENT] }, { fallbacks: ["other:m"] });
    await asked(gateway);
    const nowMs = gateway.context.clock.monotonic();
    const known = gateway.context.routing.health.snapshot(nowMs).find(({ key }) => key === "many:m")!;
    expect(known.state).toBe("closed");
    await asked(gateway);
    expect(gateway.sentWith()).toEqual(["first", "second", "other", "second", "other"]);
  });

  test("[d7.1] waits with one model at a key, and is called with it for the others", async () => {
    const gateway = keyed({ first: [WAIT, OK], second: [OK] });
    await asked(gateway);
    for (let call = 0; call < 4; call++) await asked(gateway, { route: undefined, model: "many:elsewhere" });
    expect(gateway.sentWith().slice(2).toSorted()).toEqual(["first", "first", "second", "second"]);
  });

  test("[d7.8] is reported as told to wait where one key waits and the others are refused for good", async () => {
    const gateway = keyed({ first: [WAIT], second: [UNKNOWN] });
    const failed = await asked(gateway);
    expect({ status: failed.status, wait: failed.headers.get("retry-after") }).toEqual({ status: 429, wait: "60" });
    expect(failed.headers.get("x-should-retry")).toBeNull();
    const whole = keyed({ first: [UNKNOWN], second: [WAIT] });
    expect((await asked(whole)).status).toBe(429);
    const refused = keyed({ first: [UNKNOWN], second: [SPENT] });
    expect(JSON.parse((await asked(refused)).text)).toMatchObject({ error: { code: "upstream_quota" } });
  });
});

test("[d16.1] a key that the provider tells a copy to wait with stays in use for the calls of clients", async () => {
  const target = routeOf("", ["many:m"]).targets[0]!;
  const mirror = { target, toOtherVendors: true, maxInFlight: 16, timeoutMs: 60_000 };
  const gateway = keyed(
    { first: [WAIT, OK], second: [OK], other: [OK] },
    {},
    {
      copies: new OpenCopies(openRouting(Math.random)),
      snapshot: {
        routes: new Map([
          [DIRECT_ROUTE, routeOf(DIRECT_ROUTE, [])],
          ["r", routeOf("r", ["other:m"], { mirror })],
        ]),
      },
    },
  );
  expect((await asked(gateway)).status).toBe(200);
  await until(() => gateway.records.some(({ mirrorOf }) => mirrorOf !== null));
  expect(gateway.sentWith().toSorted()).toEqual(["first", "other", "second"]);
  for (let call = 0; call < 4; call++) await asked(gateway, { route: undefined, model: "many:m" });
  expect(gateway.sentWith().slice(3).toSorted()).toEqual(["first", "first", "second", "second"]);
});
