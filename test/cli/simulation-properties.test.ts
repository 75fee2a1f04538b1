// The engine under random configurations, calls and faults in virtual time, and what has to hold however bad they are.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { played } from "../../src/cli/simulate.ts";
import type { AttemptTrace, CallTrace, Run } from "../../src/simulation/run-calls.ts";
import { readEnvironment } from "../../src/config/environment.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-simulation-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const seed = printedSeed("simulated runs");
const environment = readEnvironment({});

const TARGETS = ["openai:a", "anthropic:b", "gemini:c", "groq:d"] as const;
/** Never at fault where a run has a healthy target. */
const HEALTHY = TARGETS[3];

interface World {
  readonly configuration: object;
  readonly traffic: {
    readonly calls: readonly Call[];
    readonly faults: readonly object[];
    readonly latencies: object;
    readonly seed: number;
  };
}
interface Call {
  readonly count: number;
}

function playedIn({ configuration, traffic }: World): Run {
  const [file, trafficFile] = [join(folder, "configuration.yaml"), join(folder, "traffic.yaml")];
  writeFileSync(file, JSON.stringify(configuration));
  writeFileSync(trafficFile, JSON.stringify(traffic));
  return played(file, { traffic: trafficFile }, environment).run;
}

const optional = <T>(values: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(values, { nil: undefined });
const target = (name: string, isBounded: boolean) =>
  fc.record({
    model: fc.constant(name),
    weight: fc.constantFrom(0.5, 1, 3),
    order: fc.nat(1),
    max_concurrency: isBounded ? optional(fc.integer({ min: 1, max: 3 })) : fc.constant(undefined),
  });

function routeOf(names: fc.Arbitrary<readonly string[]>, isBounded: boolean) {
  return fc.record({
    strategy: fc.constantFrom("priority", "weighted", "least_latency", "least_cost", "least_busy"),
    sticky: optional(fc.constantFrom("user", "prompt")),
    targets: names.chain((chosen) => fc.tuple(...chosen.map((name) => target(name, isBounded)))),
    retries: fc.nat(3),
    timeouts: fc.record({
      first_byte_ms: fc.integer({ min: 3_000, max: 6_000 }),
      first_token_ms: fc.integer({ min: 3_000, max: 6_000 }),
    }),
    breaker: fc.record({ failures: fc.integer({ min: 1, max: 6 }), open_ms: fc.integer({ min: 100, max: 20_000 }) }),
    on_exhausted: fc.constantFrom("error", "least_bad"),
    hedge: optional(
      fc.record({
        after: fc.constantFrom<(string | number)[]>("p95", 100, 1_000),
        max_extra: fc.constantFrom(0.05, 1),
      }),
    ),
    queue: fc.record({ max: fc.nat(3), timeout_ms: fc.integer({ min: 1, max: 3_000 }) }),
  });
}

function faultOf(names: readonly string[], kinds: readonly string[]) {
  return fc
    .record({
      target: fc.constantFrom(...names),
      kind: fc.constantFrom(...kinds),
      from: fc.nat(20_000),
      lasts: fc.integer({ min: 1, max: 40_000 }),
      status: fc.constantFrom(429, 500, 502, 503, 401),
      retry: optional(fc.nat(15_000)),
      added: fc.nat(5_000),
    })
    .map(({ target: name, kind, from, lasts, status, retry, added }) => ({
      target: name,
      from_ms: from,
      to_ms: from + lasts,
      kind: kind === "client" ? "status" : kind,
      ...(kind === "status" && { status, retry_after_ms: retry }),
      ...(kind === "client" && { status: 400 }),
      ...(kind === "slow" && { added_ms: added }),
    }));
}

/** With jitter within every first_token_ms: what is healthy is never too late. */
const latencies = fc.record(
  Object.fromEntries(
    TARGETS.map((name) => [
      name,
      fc.record({ first_token_ms: fc.nat(1_000), total_ms: fc.nat(2_000), jitter: fc.constantFrom(0, 0.3) }),
    ]),
  ),
);

function callsOf(isStream: fc.Arbitrary<boolean>, timeoutMs: fc.Arbitrary<number | undefined>) {
  const call = fc.record({
    route: fc.constant("r"),
    at_ms: fc.nat(20_000),
    count: fc.integer({ min: 1, max: 30 }),
    every_ms: fc.nat(1_500),
    stream: isStream,
    users: optional(fc.integer({ min: 1, max: 5 })),
    num_retries: optional(fc.nat(2)),
    timeout_ms: timeoutMs,
    tenant: fc.constantFrom("default", "other"),
  });
  return fc.array(call, { minLength: 1, maxLength: 3 });
}

/** A second route is what the first one falls back to. */
function worlds(
  first: readonly string[],
  kinds: readonly string[],
  faulty: readonly string[],
  calls: fc.Arbitrary<readonly Call[]>,
  isBounded: boolean,
): fc.Arbitrary<World> {
  const others = fc.subarray(TARGETS.filter((name) => !first.includes(name)));
  return fc
    .record({
      r: routeOf(
        others.map((more) => [...first, ...more]),
        isBounded,
      ),
      s: routeOf(fc.constant(TARGETS), isBounded),
      hasFallback: fc.boolean(),
      calls,
      latencies,
      seed: fc.nat(1_000_000),
      faults: fc.array(faultOf(faulty, kinds), { maxLength: 6 }),
    })
    .map(({ r, s, hasFallback, calls: made, latencies: times, faults, seed: own }) => {
      const reached = new Set([...r.targets, ...(hasFallback ? s.targets : [])].map(({ model }) => model));
      return {
        configuration: { routes: { r: { ...r, ...(hasFallback && { fallbacks: ["route:s"] }) }, s } },
        traffic: {
          calls: made,
          faults: faults.filter(({ target: name }) => reached.has(name)),
          latencies: Object.fromEntries(Object.entries(times).filter(([name]) => reached.has(name))),
          seed: own,
        },
      };
    });
}

const check = (world: fc.Arbitrary<World>, judge: (run: Run, world: World) => void, numRuns: number): void =>
  fc.assert(
    fc.property(world, (one) => judge(playedIn(one), one)),
    { seed, numRuns },
  );

const ANY_KIND = ["dead", "stall", "status", "client", "cut", "slow", "garbage"];
const anything = worlds(
  [TARGETS[0]],
  ANY_KIND,
  TARGETS,
  callsOf(fc.boolean(), optional(fc.integer({ min: 1, max: 8_000 }))),
  true,
);

function judgeCall({ call, attempts, winner, code, endedMs }: CallTrace): void {
  expect(endedMs - call.atMs).toBeLessThanOrEqual(call.timeoutMs + 0.001);
  for (const { startedMs, contentMs, endedMs: attemptEndedMs } of attempts)
    expect(
      startedMs >= call.atMs &&
        attemptEndedMs >= startedMs &&
        attemptEndedMs <= endedMs &&
        (contentMs === null || contentMs <= attemptEndedMs),
    ).toBe(true);
  // one stream at most reaches the client, and what succeeded is what won
  expect(attempts.filter(({ contentMs }) => contentMs !== null).length).toBe(winner === null ? 0 : 1);
  expect(attempts.filter(({ ending }) => ending === "success").length).toBe(code === null ? 1 : 0);
  const retries = Math.max(...call.prepared.stages.map((stage) => stage.retries));
  for (const [, there] of Map.groupBy(
    attempts.filter(({ ending }) => ending !== "refused" && ending !== "shed"),
    (each) => each.target,
  ))
    expect(there.filter(({ isHedge }) => !isHedge).length).toBeLessThanOrEqual(1 + retries);
  // after content no other target is asked; a fault of the request is found at three targets at most, and at none of them twice
  const isFault = ({ code: own, isHedge }: AttemptTrace): boolean => own === "upstream_invalid_request" && !isHedge;
  expect(attempts.filter(isFault).length).toBeLessThanOrEqual(3);
  attempts.forEach((each, at) => {
    const later = attempts.slice(at + 1).filter(({ isHedge }) => !isHedge);
    if (each === winner && each.ending === "failed") expect(later).toEqual([]);
    if (isFault(each)) expect(later.map((one) => one.target)).not.toContain(each.target);
  });
}

describe("whatever happens in a simulation", () => {
  test("calls end in time, with one answer at most and bounded attempts, each settled", () => {
    let calls = 0;
    check(
      anything,
      (run, { traffic }) => {
        expect(run.lost).toBe(0);
        expect(run.calls.length).toBe(traffic.calls.reduce((sum, call) => sum + call.count, 0));
        run.calls.forEach(judgeCall);
        calls += run.calls.length;
      },
      drawCount(150, 400),
    );
    console.log(`${calls} calls`);
    expect(calls).toBeGreaterThan(1_500);
  });
  test("a breaker never opens on a client's fault", () => {
    check(
      worlds([TARGETS[0]], ["client"], TARGETS, callsOf(fc.boolean(), fc.constant(undefined)), true),
      (run) => expect(run.health).toEqual([]),
      drawCount(40, 100),
    );
  });
  test("with one healthy target left every call succeeds", () => {
    const broken = TARGETS.filter((name) => name !== HEALTHY);
    check(
      worlds(
        [TARGETS[0], HEALTHY],
        ["stall", "status", "garbage"],
        broken,
        callsOf(fc.boolean(), fc.constant(undefined)),
        false,
      ),
      (run) =>
        expect(run.calls.filter(({ code }) => code !== null).map(({ code, attempts }) => [code, attempts])).toEqual([]),
      drawCount(80, 200),
    );
  });
});
