// The simulation plays calls as the engine does: over drawn routes and faults, both attempt the same targets in the same
// order, end with the same code, and take as long. The engine runs in turned time.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CHAT_FORM } from "../../src/engine/request/parse.ts";
import type { BreakerSettings, Hedge, Route } from "../../src/core/configured/route.ts";
import {
  pricesFor,
  preparedCall,
  type SimulatedCall,
  simulatedPrincipal,
} from "../../src/simulation/simulated-call.ts";

import { runCalls, type CallTrace } from "../../src/simulation/run-calls.ts";
import { createCourses } from "../../src/simulation/upstream-course.ts";
import type { Fault as SimulatedFault } from "../../src/simulation/faults.ts";
import type { Fault } from "../harness/faults.ts";
import { routedGateway, routeOf, type RouteParts } from "../harness/routed.ts";
import { providerSettings, storedKey } from "../harness/targets.ts";
import { printedSeed } from "../harness/time/chance.ts";
import { drawCount } from "../harness/time/long-run.ts";
import { turnTime } from "../harness/time/turned-time.ts";

/** What becomes of each attempt at a target, and after how long. */
type Conduct =
  | { readonly kind: "ok"; readonly afterMs: number }
  | { readonly kind: "dead" | "stall" }
  | { readonly kind: "status"; readonly status: number };

/** `isOfTenant`: the tenant's own people have written its time limits. */
type DrawnRoute = RouteParts & { readonly targets: readonly string[]; readonly isOfTenant: boolean };

interface Scenario {
  readonly conducts: Readonly<Record<string, Conduct>>;
  readonly main: DrawnRoute;
  readonly other: DrawnRoute;
  /** The providers are the tenant's own. */
  readonly isOwn: boolean;
  readonly isStream: boolean;
  readonly pausesMs: readonly number[];
  readonly random: number;
}

const UPS = ["up0", "up1", "up2"] as const;
const conduct: fc.Arbitrary<Conduct> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("ok" as const), afterMs: fc.constantFrom(100, 700, 4_000) }) },
  fc.record({ kind: fc.constantFrom("dead" as const, "stall" as const) }),
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("status" as const),
      status: fc.constantFrom(400, 401, 404, 408, 409, 422, 429, 500, 503),
    }),
  },
);
const breaker: fc.Arbitrary<BreakerSettings> = fc.record({
  failures: fc.constantFrom(1, 2),
  ratio: fc.constant(0.1),
  windowMs: fc.constant(60_000),
  openMs: fc.constantFrom(5_000, 60_000),
}) as fc.Arbitrary<BreakerSettings>;
const hedge: fc.Arbitrary<Hedge | null> = fc.option(
  fc.record({ after: fc.constantFrom(300, 2_000), maxExtra: fc.constant(1) }),
);
const parts = (fallbacks: readonly (readonly string[])[]) =>
  fc.record({
    targets: fc.shuffledSubarray([...UPS], { minLength: 1 }),
    retries: fc.nat({ max: 2 }),
    timeouts: fc.record({
      totalMs: fc.constantFrom(null, 3_000, 30_000),
      firstByteMs: fc.constantFrom(null, 500, 5_000),
    }),
    isOfTenant: fc.boolean(),
    breaker,
    hedge,
    onExhausted: fc.constantFrom("least_bad" as const, "error" as const),
    fallbacks: fc.constantFrom(...fallbacks),
  });
const scenario: fc.Arbitrary<Scenario> = fc.record({
  conducts: fc.record(Object.fromEntries(UPS.map((up) => [up, conduct]))) as fc.Arbitrary<Scenario["conducts"]>,
  main: parts([[], ["route:other"], ["up2:m"]]),
  other: parts([[], ["up1:m"]]),
  isOwn: fc.boolean(),
  isStream: fc.boolean(),
  pausesMs: fc.array(fc.constantFrom(50, 1_000, 10_000), { minLength: 0, maxLength: 3 }),
  random: fc.constantFrom(0.1, 0.6),
});

interface Played {
  readonly targets: readonly string[];
  readonly code: string | null;
  readonly tookMs: number;
}

/** The simulation's own times of a refused connection and of an error response. */
const [REFUSED_MS, STATUS_MS] = [1, 20];

function faultOf(what: Conduct): Fault {
  if (what.kind === "ok") return { kind: "ok", delayMs: what.afterMs };
  if (what.kind === "status") return { kind: "status", status: what.status, delayMs: STATUS_MS, body: "" };
  return what.kind === "dead" ? { kind: "refused", delayMs: REFUSED_MS } : { kind: "stall" };
}

function simulatedFaultOf(target: string, what: Conduct): readonly SimulatedFault[] {
  if (what.kind === "ok") return [];
  const always = { target: `${target}:m`, share: 1, from_ms: 0, to_ms: Number.POSITIVE_INFINITY };
  return what.kind === "status"
    ? [{ ...always, kind: what.kind, status: what.status }]
    : [{ ...always, kind: what.kind }];
}

const routesOf = ({ main, other }: Scenario): readonly Route[] =>
  [["main", main] as const, ["other", other] as const].map(([name, { targets, isOfTenant, ...rest }]) =>
    routeOf(
      name,
      targets.map((up) => `${up}:m`),
      { ...rest, ...(isOfTenant && { hasTimeoutsOfTenant: true }) },
    ),
  );

/** One call after another; each begins as long after the end of the one before as the scenario says. */
async function played(
  drawn: Scenario,
): Promise<{ readonly engine: readonly Played[]; readonly simulation: readonly Played[] }> {
  const { conducts, isOwn, isStream, pausesMs, random } = drawn;
  const time = turnTime();
  try {
    const gateway = routedGateway(
      routesOf(drawn),
      Object.fromEntries(UPS.map((up) => [up, [faultOf(conducts[up]!)]])),
      {
        clock: time.clock,
        providers: UPS.map((id) =>
          providerSettings({
            id,
            family: "custom",
            baseUrl: `http://${id}.test/v1`,
            credentials: [storedKey(`key-of-${id}`)],
            ...(isOwn && { owner: "default" }),
          }),
        ),
      },
    );
    Object.assign(gateway.context.routing, { random: () => random });
    const snapshot = gateway.context.snapshot();
    const body = { route: "main", messages: [{ role: "user", content: "Hello" }], stream: isStream };
    const engine: Played[] = [];
    const calls: SimulatedCall[] = [];
    const principal = simulatedPrincipal({ tenantId: "default", projectId: "default" });
    for (const pauseMs of [0, ...pausesMs]) {
      if (pauseMs > 0) await time.until(new Promise<void>((resolve) => void setTimeout(resolve, pauseMs)));
      const startMs = time.nowMs();
      const before = gateway.upstream.served.length;
      calls.push({
        atMs: startMs,
        asked: "main",
        tenant: "default",
        isStream,
        ...preparedCall(CHAT_FORM.parse(JSON.stringify(body), null), {
          operation: "chat.completions",
          snapshot,
          principal,
          prices: pricesFor(snapshot, principal),
          policies: null,
          facts: { traceId: "0".repeat(32), headers: new Headers(), timeMs: 0 },
        }),
      });
      const response = await time.until(gateway.chat(body));
      await time.until(response.text());
      const { code } = gateway.records.at(-1)!;
      engine.push({ targets: gateway.upstream.targets().slice(before), code, tookMs: time.nowMs() - startMs });
    }
    const run = runCalls({
      calls,
      courses: createCourses({
        timesOf: (name) => {
          const what = conducts[name.split(":")[0]!]!;
          const ms = "afterMs" in what ? what.afterMs : 0;
          return { firstMs: ms, totalMs: ms };
        },
        faults: UPS.flatMap((up) => simulatedFaultOf(up, conducts[up]!)),
        random: () => 0,
      }),
      limits: snapshot.limits,
      randomOf: () => () => random,
    });
    return { engine, simulation: run.calls.map(playedOf) };
  } finally {
    time.stop();
  }
}

function playedOf({ call, attempts, code, endedMs }: CallTrace): Played {
  const sent = attempts.filter(({ ending }) => ending !== "refused" && ending !== "shed");
  return { targets: sent.map(({ target }) => target.split(":")[0]!), code, tookMs: endedMs - call.atMs };
}

describe("[d16.1] a simulated call is what the engine makes of it", () => {
  const seed = printedSeed("simulated-engine");
  test("in its targets, its end and its time", async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (drawn) => {
        const { engine, simulation } = await played(drawn);
        const rounded = (calls: readonly Played[]) =>
          calls.map(({ tookMs, ...rest }) => ({ ...rest, tookMs: Math.round(tookMs / 50) }));
        expect(rounded(simulation)).toEqual(rounded(engine));
      }),
      { seed, numRuns: drawCount(1_500, 20_000) },
    );
  }, 120_000);
});
