// The health of upstreams: breakers that only an upstream's own faults open, one probe at a time, rate limits, latency,
// retry budget, bounds.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DEFAULT_BREAKER, type BreakerSettings } from "../../../src/core/configured/route.ts";
import { openHealth, type Health, type Outcome } from "../../../src/routing/health/health.ts";
import { openKeyedState, type Kept } from "../../../src/routing/health/keyed-state.ts";
import { printedSeed } from "../../harness/time/chance.ts";

const B: BreakerSettings = { failures: 3, ratio: 0.5, windowMs: 10_000, openMs: 1_000 };
const KEY = "one:model#key";

function attempt(health: Health, outcome: Outcome, nowMs: number, key = KEY, breaker = B): number {
  const probe = health.begin(key, breaker, nowMs);
  health.end(key, breaker, outcome, nowMs, { probe });
  return probe;
}

function trip(health: Health, nowMs: number, key = KEY, breaker = B): void {
  for (let at = 0; at < breaker.failures; at++) attempt(health, "upstream_fault", nowMs, key, breaker);
}

describe("a breaker", () => {
  test("opens at the least number of faults, and not before", () => {
    const health = openHealth();
    for (const reason of [null, null, "open"] as const) {
      attempt(health, "upstream_fault", 0);
      expect(health.blockedReason(KEY, B, 0)).toBe(reason);
    }
    expect(health.freeAtMs(KEY, B, 0)).toBe(1_000);
    expect(health.blockedReason("another", B, 0)).toBeNull();
  });
  test("stays closed while the share of faults is too small", () => {
    const health = openHealth();
    for (let at = 0; at < 100; at++)
      for (const outcome of ["success", "client_fault", "upstream_fault"] as const) attempt(health, outcome, at);
    expect(health.blockedReason(KEY, B, 100)).toBeNull();
    for (let at = 0; at < 100; at++) attempt(health, "upstream_fault", 100);
    expect(health.blockedReason(KEY, B, 100)).toBe("open");
  });
  test("forgets what is older than its window", () => {
    const health = openHealth();
    attempt(health, "upstream_fault", 0);
    attempt(health, "upstream_fault", 0);
    attempt(health, "upstream_fault", B.windowMs);
    expect(health.blockedReason(KEY, B, B.windowMs)).toBeNull();
  });
  test("lets one probe through, which closes it", () => {
    const health = openHealth();
    trip(health, 0);
    expect(health.begin(KEY, B, 999)).toBe(0);
    expect(health.blockedReason(KEY, B, 1_000)).toBeNull();
    const probe = health.begin(KEY, B, 1_000);
    expect(probe).toBeGreaterThan(0);
    expect(health.blockedReason(KEY, B, 1_001)).toBe("probing");
    expect(health.freeAtMs(KEY, B, 1_001)).toBeGreaterThan(1_001);
    expect(health.begin(KEY, B, 1_001)).toBe(0);
    health.end(KEY, B, "success", 1_002, { probe });
    expect(health.blockedReason(KEY, B, 1_002)).toBeNull();
    attempt(health, "upstream_fault", 1_003);
    expect(health.blockedReason(KEY, B, 1_003)).toBeNull();
  });
  test("is closed by the first content of its probe, before that has ended", () => {
    const health = openHealth();
    trip(health, 0);
    const probe = health.begin(KEY, B, 1_000);
    health.answering(KEY, B, 1_200, 200, probe);
    expect(health.blockedReason(KEY, B, 1_200)).toBeNull();
    expect(health.latencyMs(KEY, 1_200)).toBe(200);
  });
  test("[d7.5] stays open twice as long with each probe that fails, up to 60 s, or to its setting where that is longer", () => {
    for (const [openMs, pauses] of [
      [1_000, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]],
      [10_000, [10_000, 20_000, 40_000, 60_000, 60_000]],
      [60_000, [60_000, 60_000]],
      [90_000, [90_000, 90_000]],
    ] as const) {
      const health = openHealth();
      const settings = { ...B, openMs };
      trip(health, 0, KEY, settings);
      let nowMs = 0;
      for (const pauseMs of pauses) {
        expect(health.freeAtMs(KEY, settings, nowMs)).toBe(nowMs + pauseMs);
        nowMs += pauseMs;
        expect(attempt(health, "upstream_fault", nowMs, KEY, settings)).toBeGreaterThan(0);
      }
      nowMs = health.freeAtMs(KEY, settings, nowMs);
      attempt(health, "success", nowMs, KEY, settings);
      trip(health, nowMs, KEY, settings);
      expect(health.freeAtMs(KEY, settings, nowMs)).toBe(nowMs + openMs);
    }
  });
  test("gives the probe to another call when it is cancelled", () => {
    const health = openHealth();
    trip(health, 0);
    expect(attempt(health, "cancelled", 1_000)).toBe(1);
    expect(health.blockedReason(KEY, B, 1_000)).toBeNull();
    expect(health.begin(KEY, B, 1_000)).toBe(2);
  });
  test("does not take the end of an older call for that of the probe", () => {
    const health = openHealth();
    const older = health.begin(KEY, B, 0);
    trip(health, 0);
    const first = health.begin(KEY, B, 1_000);
    health.end(KEY, B, "success", 1_001, { probe: older });
    expect(health.blockedReason(KEY, B, 1_001)).toBe("probing");
    health.answering(KEY, B, 1_002, 2, first);
    trip(health, 1_003);
    const second = health.begin(KEY, B, 2_003);
    health.end(KEY, B, "success", 2_004, { probe: first });
    expect(health.blockedReason(KEY, B, 2_004)).toBe("probing");
    health.end(KEY, B, "success", 2_005, { probe: second });
    expect(health.blockedReason(KEY, B, 2_005)).toBeNull();
  });
  test("[d7.5] opens again for twice as long when the answer of the probe breaks off after its first content", () => {
    const health = openHealth();
    trip(health, 0);
    const probe = health.begin(KEY, B, 1_000);
    health.answering(KEY, B, 1_002, 2, probe);
    expect(health.blockedReason(KEY, B, 1_002)).toBeNull();
    const beside = health.begin(KEY, B, 1_003);
    health.end(KEY, B, "upstream_fault", 1_004, { probe });
    expect([health.blockedReason(KEY, B, 3_003), health.blockedReason(KEY, B, 3_004)]).toEqual(["open", null]);
    // one that began while it was closed says nothing of the upstream as it is now
    health.end(KEY, B, "success", 1_005, { probe: beside });
    expect(health.blockedReason(KEY, B, 1_005)).toBe("open");
    // a probe that answers to its end closes it for good
    const next = health.begin(KEY, B, 3_004);
    health.answering(KEY, B, 3_005, 1, next);
    health.end(KEY, B, "success", 3_006, { probe: next });
    expect(health.blockedReason(KEY, B, 3_006)).toBeNull();
  });
  test("of a strict route blocks no other route", () => {
    const health = openHealth();
    const strict = { ...B, failures: 1, openMs: 60_000 };
    attempt(health, "upstream_fault", 0, KEY, strict);
    expect([health.blockedReason(KEY, strict, 0), health.blockedReason(KEY, B, 0)]).toEqual(["open", null]);
    expect(health.blockedReason(KEY, { ...strict }, 0)).toBe("open");
  });

  test("[d7.5] whose settings no route has any more is given up, and hides none of the others from then on", () => {
    const changes: string[] = [];
    const health = openHealth(({ state }) => changes.push(state));
    trip(health, 0);
    const changed = { ...B, failures: 2 };
    attempt(health, "success", 900_999, KEY, changed);
    expect([health.snapshot(900_999)[0]!.state, changes]).toEqual(["half_open", ["opened"]]);
    for (const outcome of ["upstream_fault", "cancelled"] as const) attempt(health, outcome, 901_000, KEY, changed);
    expect([health.snapshot(901_000)[0]!.state, changes]).toEqual(["half_open", ["opened"]]);
    attempt(health, "success", 901_000, KEY, changed);
    expect([health.snapshot(901_000)[0]!.state, changes]).toEqual(["closed", ["opened", "closed"]]);
    trip(health, 901_001, KEY, changed);
    expect([health.snapshot(901_001)[0]!.state, changes]).toEqual(["open", ["opened", "closed", "opened"]]);
  });

  const outcomes = fc.array(
    fc.record({
      outcome: fc.constantFrom<Outcome>("success", "client_fault", "cancelled", "upstream_fault"),
      afterMs: fc.integer({ min: 0, max: 2_000 }),
      runsMs: fc.integer({ min: 0, max: 5_000 }),
    }),
    { maxLength: 60 },
  );
  const settings = fc.record({
    failures: fc.integer({ min: 1, max: 5 }),
    ratio: fc.double({ min: 0, max: 1, noNaN: true }),
    windowMs: fc.integer({ min: 100, max: 20_000 }),
    openMs: fc.integer({ min: 1, max: 3_000 }),
  });
  const seed = printedSeed("breakers");
  test("never opens on anything but the upstream's faults", () => {
    fc.assert(
      fc.property(outcomes, settings, (calls, breaker) => {
        const health = openHealth();
        let nowMs = 0;
        for (const { outcome, afterMs } of calls) {
          nowMs += afterMs;
          attempt(health, outcome === "upstream_fault" ? "client_fault" : outcome, nowMs, KEY, breaker);
          expect(health.blockedReason(KEY, breaker, nowMs)).toBeNull();
        }
      }),
      { seed, numRuns: 2_000 },
    );
  });
  test("has one probe in flight at most, which is never lost for good", () => {
    fc.assert(
      fc.property(outcomes, settings, (calls, breaker) => {
        const health = openHealth();
        const inFlight: { probe: number; outcome: Outcome; endsMs: number }[] = [];
        let nowMs = 0;
        const endUpTo = (untilMs: number): void => {
          for (const one of inFlight.splice(0).toSorted((a, b) => a.endsMs - b.endsMs))
            if (one.endsMs <= untilMs) health.end(KEY, breaker, one.outcome, one.endsMs, { probe: one.probe });
            else inFlight.push(one);
        };
        for (const { outcome, afterMs, runsMs } of calls) {
          nowMs += afterMs;
          endUpTo(nowMs);
          const isFree = health.blockedReason(KEY, breaker, nowMs) === null;
          expect(health.freeAtMs(KEY, breaker, nowMs) === nowMs).toBe(isFree);
          const probe = health.begin(KEY, breaker, nowMs);
          inFlight.push({ probe, outcome, endsMs: nowMs + runsMs });
          expect(probe !== 0 && !isFree).toBe(false);
          // Every probe before this one has ended, or its number has lost its meaning with the breaker that it closed.
          if (probe !== 0) expect(inFlight.filter((other) => other.probe === probe)).toHaveLength(1);
          if (probe !== 0) expect(health.blockedReason(KEY, breaker, nowMs)).toBe("probing");
        }
        endUpTo(Number.POSITIVE_INFINITY);
        expect(health.inFlight(KEY)).toBe(0);
        const laterMs = nowMs + 5_000 + breaker.openMs * 10;
        expect(health.blockedReason(KEY, breaker, laterMs)).toBeNull();
        attempt(health, "success", laterMs, KEY, breaker);
        expect(health.snapshot(laterMs)[0]?.state ?? "closed").toBe("closed");
      }),
      { seed, numRuns: 2_000 },
    );
  });
});

describe("a rate limit", () => {
  test("excludes the target until it is over, and does not open the breaker", () => {
    const health = openHealth();
    for (let at = 0; at < 10; at++) {
      health.begin(KEY, B, at);
      health.end(KEY, B, "upstream_fault", at, { retryAfterMs: 5_000 });
    }
    expect(health.blockedReason(KEY, B, 5_008)).toBe("rate_limited");
    expect(health.freeAtMs(KEY, B, 100)).toBe(5_009);
    expect(health.blockedReason(KEY, B, 5_009)).toBeNull();
  });
  test("is not shortened by a later answer", () => {
    const health = openHealth();
    health.end(KEY, B, "upstream_fault", 0, { retryAfterMs: 5_000 });
    health.end(KEY, B, "upstream_fault", 1, { retryAfterMs: 10 });
    expect(health.freeAtMs(KEY, B, 1)).toBe(5_000);
  });
  test("frees the probe that met it", () => {
    const health = openHealth();
    trip(health, 0);
    const probe = health.begin(KEY, B, 1_000);
    health.end(KEY, B, "upstream_fault", 1_000, { retryAfterMs: 500, probe });
    expect([health.blockedReason(KEY, B, 1_400), health.blockedReason(KEY, B, 1_500)]).toEqual(["rate_limited", null]);
    expect(health.begin(KEY, B, 1_500)).toBe(2);
  });
});

describe("the latency", () => {
  const measured = (samples: readonly (readonly [number, number])[]): Health => {
    const health = openHealth();
    for (const [nowMs, firstContentMs] of samples) {
      health.begin(KEY, B, nowMs);
      health.answering(KEY, B, nowMs, firstContentMs, 0);
      health.end(KEY, B, "success", nowMs, {});
    }
    return health;
  };
  test("is unknown, then the first sample; rises at once and falls slowly", () => {
    expect(openHealth().latencyMs(KEY, 0)).toBeNull();
    expect(openHealth().latencyAgeMs(KEY, 0)).toBeNull();
    expect(measured([[0, 100]]).latencyMs(KEY, 0)).toBe(100);
    const risen = measured([
      [0, 100],
      [0, 2_000],
    ]);
    expect(risen.latencyMs(KEY, 0)).toBe(2_000);
    expect(risen.latencyAgeMs(KEY, 7)).toBe(7);
    // A tenth of the second sample is in the mean: 290. What is above it has fallen to 1/e after ten seconds.
    expect(risen.latencyMs(KEY, 10_000)).toBeCloseTo(290 + 1_710 / Math.E, 6);
    const after = measured([
      [0, 2_000],
      [10, 100],
    ]).latencyMs(KEY, 10)!;
    expect(after).toBeGreaterThan(1_700);
    expect(after).toBeLessThan(2_000);
  });
  test("follows a target that recovered within five measurements ten seconds apart", () => {
    const samples = Array.from({ length: 5 }, (_, at) => [(at + 1) * 10_000, 100] as const);
    expect(measured([[0, 1_000], ...samples]).latencyMs(KEY, 50_000)).toBeLessThan(110);
  });
  test("has a 95th percentile of the last 128 samples, and none of fewer than 20", () => {
    const ramp = (from: number, count: number): (readonly [number, number])[] =>
      Array.from({ length: count }, (_, at) => [at, from + at] as const);
    expect(measured(ramp(1, 19)).p95Ms(KEY)).toBeNull();
    expect(measured(ramp(1, 100)).p95Ms(KEY)).toBe(95);
    expect(measured([...ramp(50_000, 128), ...ramp(1, 128)]).p95Ms(KEY)).toBe(122);
  });
});

describe("patience", () => {
  test("[d7.9] is three times the usual time to the first byte, at least 1 s, and 10 s where nothing is known", () => {
    const health = openHealth();
    expect(health.patienceMs(KEY)).toBe(10_000);
    health.begin(KEY, B, 0);
    expect(health.patienceMs(KEY)).toBe(10_000);
    // the first byte counts, and not the first content
    health.answering(KEY, B, 5_000, 5_000, 0, 200);
    expect(health.patienceMs(KEY)).toBe(1_000);
    for (let at = 1; at <= 100; at++) health.answering(KEY, B, 5_000 + at, 5_000, 0, at * 10);
    expect(health.patienceMs(KEY)).toBe(3 * 950);
    for (let at = 0; at < 128; at++) health.answering(KEY, B, 10_000 + at, 400, 0);
    expect(health.patienceMs(KEY)).toBe(1_200);
  });
});

describe("the retry budget", () => {
  test("is thirty within ten seconds where calls are few, and each upstream has its own", () => {
    const health = openHealth();
    const taken = Array.from({ length: 40 }, (_, at) => health.takeRetry("one", at * 10)).filter(Boolean).length;
    expect(taken).toBe(30);
    expect(health.takeRetry("another", 400)).toBe(true);
    expect(health.takeRetry("one", 9_000)).toBe(false);
    expect(health.takeRetry("one", 10_000)).toBe(true);
  });
  test("is a tenth of the calls of the last ten seconds where they are many", () => {
    const health = openHealth();
    for (let at = 0; at < 1_000; at++) health.called("one", at);
    const take = (nowMs: number): number =>
      Array.from({ length: 500 }, () => health.takeRetry("one", nowMs)).filter(Boolean).length;
    expect(take(1_000)).toBe(100);
    expect(take(5_000)).toBe(0);
    expect(take(11_000)).toBe(30);
  });
});

describe("the state", () => {
  test("is at most 10,000 keys, and those that are in use stay", () => {
    const health = openHealth();
    const busy = Array.from({ length: 200 }, (_, at) => `busy ${at}`);
    for (const key of busy) health.begin(key, B, 0);
    trip(health, 0, "used", B);
    for (let at = 0; at < 30_000; at++) {
      attempt(health, "success", at, `key ${at}`);
      if (at % 100 === 0) health.end("used", B, "client_fault", at, {});
    }
    const kept = health.snapshot(30_000).map(({ key }) => key);
    expect(kept.length).toBeLessThanOrEqual(10_000);
    expect(kept.length).toBeGreaterThan(9_900);
    expect(kept).toEqual(expect.arrayContaining([...busy, "used"]));
    expect(health.inFlight("busy 7")).toBe(1);
  });
  test("is dropped when it was idle, as new keys come", () => {
    const health = openHealth();
    for (let at = 0; at < 100; at++) attempt(health, "success", 0, `old ${at}`);
    for (let at = 0; at < 50; at++) attempt(health, "success", 16 * 60_000, `new ${at}`);
    expect(health.snapshot(16 * 60_000).filter(({ key }) => key.startsWith("old"))).toHaveLength(0);
  });
  test("[d7.5] of a target that rests, or whose breaker is open, is kept for as long as that lasts, although nothing calls it", () => {
    const health = openHealth();
    const long: BreakerSettings = { ...B, openMs: 60 * 60_000 };
    health.end("asked to wait", B, "upstream_fault", 0, {
      probe: health.begin("asked to wait", B, 0),
      retryAfterMs: 60 * 60_000,
    });
    trip(health, 0, "open", long);
    const blockedAt = (nowMs: number) => {
      for (let at = 0; at < 50; at++) attempt(health, "success", nowMs, `new ${nowMs} ${at}`);
      return [health.blockedReason("asked to wait", B, nowMs), health.blockedReason("open", long, nowMs)];
    };
    expect(blockedAt(59 * 60_000)).toEqual(["rate_limited", "open"]);
    expect(blockedAt(61 * 60_000)).toEqual([null, null]);
    expect(health.snapshot(61 * 60_000).map(({ key }) => key)).not.toContain("asked to wait");
  });
  test("keeps its bound even when all of it is in use", () => {
    const state = openKeyedState<Kept>({
      create: (nowMs) => ({ usedMs: nowMs, lookedMs: nowMs }),
      isBusy: () => true,
      max: 100,
    });
    for (let at = 0; at < 1_000; at++) state.of(String(at), at);
    expect([...state.entries()].length).toBe(100);
  });
  test("[d7.5] is not forgotten for the keys of others, however many they have", () => {
    const state = openKeyedState<Kept>({
      create: (nowMs) => ({ usedMs: nowMs, lookedMs: nowMs }),
      isBusy: () => true,
      ownerOf: (key) => key.split(" ").at(1) ?? null,
      max: 100,
    });
    const few = ["shared", "one beta", "two beta"];
    for (const key of few) state.of(key, 0);
    for (const owner of ["acme", "gamma"]) for (let at = 0; at < 500; at++) state.of(`${at} ${owner}`, 0);
    const keys = [...state.entries()].map(([key]) => key);
    expect(keys).toHaveLength(100);
    expect(keys).toEqual(expect.arrayContaining(few));
    expect(keys.filter((key) => key.endsWith(" acme")).length).toBeGreaterThan(30);
    // what all share has half of the room, and takes nothing from those who have little
    for (let at = 0; at < 500; at++) state.of(`shared${at}`, 0);
    const after = [...state.entries()].map(([key]) => key);
    expect(after.filter((key) => key.startsWith("shared")).length).toBeWithin(49, 68);
    expect(after).toEqual(expect.arrayContaining(few.slice(1)));
  });
  test("is available to metrics and listings", () => {
    const health = openHealth();
    health.begin("fine", DEFAULT_BREAKER, 0);
    trip(health, 0, "broken");
    trip(health, 0, "due");
    health.begin("due", B, 1_500);
    health.begin("limited", B, 0);
    health.answering("limited", B, 0, 50, 0);
    health.end("limited", B, "client_fault", 0, { retryAfterMs: 9_000 });
    trip(health, 1_400, "broken again");
    expect(health.snapshot(1_500)).toEqual([
      { key: "fine", state: "closed", inFlight: 1, latencyMs: null, openUntilMs: null },
      { key: "broken", state: "half_open", inFlight: 0, latencyMs: null, openUntilMs: null },
      { key: "due", state: "half_open", inFlight: 1, latencyMs: null, openUntilMs: null },
      { key: "limited", state: "rate_limited", inFlight: 0, latencyMs: 50, openUntilMs: 9_000 },
      { key: "broken again", state: "open", inFlight: 0, latencyMs: null, openUntilMs: 2_400 },
    ]);
  });
});

describe("a breaker with settings of a tenant", () => {
  const STRICT: BreakerSettings = { failures: 1, ratio: 0.01, windowMs: 10_000, openMs: 3_600_000, ofTenant: "acme" };

  test("[d7.5] keeps the tenant's calls from a target of all, and others are told of that target as before", () => {
    const changes: string[] = [];
    const health = openHealth(({ key, state }) => changes.push(`${key} ${state}`));
    attempt(health, "success", 0);
    attempt(health, "upstream_fault", 0, KEY, STRICT);
    expect([health.blockedReason(KEY, STRICT, 1), health.blockedReason(KEY, B, 1)]).toEqual(["open", null]);
    expect(health.snapshot(1)[0]).toMatchObject({ state: "closed", openUntilMs: null });
    expect(changes).toEqual([]);
    // it hides nothing either, and a tenant with the same settings as the operator has a breaker of its own
    trip(health, 2);
    expect(changes).toEqual([`${KEY} opened`]);
    expect(health.snapshot(2)[0]).toMatchObject({ state: "open", openUntilMs: 1_002 });
    expect(health.blockedReason(KEY, { ...B, ofTenant: "acme" }, 2)).toBeNull();
  });

  test("[d7.5] tells of a target of the tenant's own provider", () => {
    const changes: string[] = [];
    const health = openHealth(({ key, state }) => changes.push(`${key} ${state}`));
    attempt(health, "upstream_fault", 0, "own:m of acme", STRICT);
    expect(changes).toEqual(["own:m of acme opened"]);
    expect(health.snapshot(1)[0]).toMatchObject({ state: "open" });
  });

  test("[d7.5] takes the place of none of the operator's, however many different ones there are", () => {
    const health = openHealth();
    trip(health, 0);
    for (let openMs = 1; openMs < 50; openMs++) attempt(health, "success", 1, KEY, { ...STRICT, openMs });
    expect(health.blockedReason(KEY, B, 2)).toBe("open");
  });

  test("[d7.5] takes the place of none of another tenant, however many different ones there are, and however many tenants", () => {
    const health = openHealth();
    attempt(health, "upstream_fault", 0, KEY, STRICT);
    for (let openMs = 1; openMs < 50; openMs++)
      attempt(health, "success", 1, KEY, { ...STRICT, ofTenant: "other", openMs });
    for (let tenant = 1; tenant < 100; tenant++)
      attempt(health, "success", 1, KEY, { ...STRICT, ofTenant: `tenant ${tenant}` });
    expect(health.blockedReason(KEY, STRICT, 2)).toBe("open");
  });
});
