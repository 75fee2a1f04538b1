// A world for a plan: random stages over a few upstreams of different health, each with a script of how its attempts
// end. It makes the attempts of the plan, reports the health as the engine does, and records what happened, so that the
// invariants can be checked.
import fc from "fast-check";
import { DEFAULT_BREAKER, type StrategyType } from "../../../src/core/configured/route.ts";
import { openHealth, type Health } from "../../../src/routing/health/health.ts";
import { createPlan } from "../../../src/routing/plan/plan.ts";
import type { Candidate, Failure, Stage, Step } from "../../../src/routing/plan/plan-steps.ts";
import { candidate, T0 } from "./candidates.ts";
import { chanceOf } from "../../../src/simulation/chance.ts";

export type Ending = { readonly kind: "success" } | Failure;

export interface TargetScript {
  readonly weight: number;
  readonly order: number;
  readonly costNanoUsd: number | null;
  readonly start: "fresh" | "tripped" | "half_open" | "probing" | "rate_limited" | "no_budget" | "busy" | "contested";
  /** The last one for ever. */
  readonly endings: readonly Ending[];
  readonly tookMs: number;
}

interface LegScript {
  readonly targets: readonly number[];
  readonly strategy: StrategyType;
  readonly onExhausted: "error" | "least_bad";
  readonly retries: number;
  readonly retryTimeouts: boolean;
  readonly stickyKey: string | null;
  /** Belongs to the route of the leg before it. */
  readonly isContinued: boolean;
}

export interface World {
  readonly targets: readonly TargetScript[];
  readonly stages: readonly LegScript[];
  readonly policyLegs: readonly LegScript[];
  /** By target: the leg for its context length. */
  readonly contextLegs: readonly (LegScript | null)[];
  readonly deadlineMs: number;
  readonly chance: number;
}

export interface Seen {
  readonly step: Step<Candidate>;
  readonly nowMs: number;
  readonly leftMs: number;
  /** Before this step. */
  readonly failure: Ending | null;
  readonly failedKey: string | null;
  /** Keys that were free when the step was asked for, and those of them that the gateway would call. */
  readonly free: ReadonlySet<string>;
  readonly able: ReadonlySet<string>;
}

const TARGETS = 5;
const STRATEGIES: readonly StrategyType[] = ["priority", "weighted", "least_latency", "least_cost", "least_busy"];

const retryable = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("retryable" as const),
      retryAfterMs: fc.option(fc.integer({ min: 0, max: 15_000 }), { freq: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Failure>({ kind: "timed_out", retryAfterMs: null }) },
);
const other = fc.record({
  kind: fc.constantFrom(
    "final" as const,
    "elsewhere" as const,
    "request_fault" as const,
    "context_length" as const,
    "content_policy" as const,
    "refused" as const,
  ),
  retryAfterMs: fc.constant(null),
});
const success = fc.constant<Ending>({ kind: "success" });

const legScript: fc.Arbitrary<LegScript> = fc.record({
  targets: fc.uniqueArray(fc.nat(TARGETS - 1), { maxLength: 4 }),
  strategy: fc.constantFrom(...STRATEGIES),
  onExhausted: fc.constantFrom("error", "least_bad"),
  retries: fc.nat(3),
  retryTimeouts: fc.boolean(),
  stickyKey: fc.option(fc.constantFrom("x", "y"), { freq: 3 }),
  isContinued: fc.integer({ min: 0, max: 3 }).map((drawn) => drawn === 0),
});

function targetScript(
  endings: fc.Arbitrary<Ending>,
  start: fc.Arbitrary<TargetScript["start"]>,
): fc.Arbitrary<TargetScript> {
  return fc.record({
    weight: fc.constantFrom(0.5, 1, 2, 7),
    order: fc.nat(2),
    costNanoUsd: fc.option(fc.nat(5)),
    start,
    endings: fc.array(endings, { minLength: 1, maxLength: 4 }),
    tookMs: fc.nat(3_000),
  });
}

/** `patient`: the only faults are retryable failures, so that only time and health matter. */
export function worlds(mood: "any" | "patient"): fc.Arbitrary<World> {
  const start = fc.constantFrom<TargetScript["start"]>(
    "fresh",
    "fresh",
    "fresh",
    "tripped",
    "half_open",
    "probing",
    "rate_limited",
    "no_budget",
    "busy",
    "contested",
  );
  const endings =
    mood === "patient"
      ? retryable
      : fc.oneof(
          { weight: 5, arbitrary: retryable },
          { weight: 2, arbitrary: other },
          { weight: 1, arbitrary: success },
        );
  return fc.record({
    targets: fc.array(targetScript(endings, start), { minLength: TARGETS, maxLength: TARGETS }),
    stages: fc.array(legScript, { minLength: 1, maxLength: 4 }),
    policyLegs: fc.array(legScript, { maxLength: 2 }),
    contextLegs: fc.array(fc.option(legScript), { minLength: TARGETS, maxLength: TARGETS }),
    deadlineMs: fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.constant(600_000)),
    chance: fc.nat(),
  });
}

export function healthOf(targets: readonly TargetScript[]): Health {
  const health = openHealth();
  for (const [at, { start }] of targets.entries()) {
    const key = `t${at}`;
    if (["tripped", "half_open", "probing", "contested"].includes(start)) {
      const trippedAtMs = start === "tripped" ? T0 - 3_000 : T0 - DEFAULT_BREAKER.openMs - 1;
      for (let times = 0; times < DEFAULT_BREAKER.failures; times++)
        health.end(key, DEFAULT_BREAKER, "upstream_fault", trippedAtMs, {});
    }
    if (start === "probing" || start === "busy") health.begin(key, DEFAULT_BREAKER, T0 - 1);
    if (start === "rate_limited") health.end(key, DEFAULT_BREAKER, "client_fault", T0, { retryAfterMs: 4_000 });
    if (start === "no_budget") while (health.takeRetry(`up-${key}`, T0));
  }
  return health;
}

export function run(world: World): {
  readonly seen: readonly Seen[];
  readonly stages: readonly Stage<Candidate>[];
  readonly policyLegs: readonly Stage<Candidate>[];
  readonly contextLegs: ReadonlyMap<string, Stage<Candidate>>;
  readonly succeeded: boolean;
} {
  const attempts = new Map<string, number>();
  const endingAt = (key: string): Ending => {
    const { endings } = world.targets[Number(key.slice(1))]!;
    return endings[Math.min(attempts.get(key) ?? 0, endings.length - 1)]!;
  };
  const candidates = world.targets.map(({ weight, order, costNanoUsd }, at) =>
    candidate(`t${at}`, { weight, order, costNanoUsd, isCallable: () => endingAt(`t${at}`).kind !== "refused" }),
  );
  let group = {};
  const legOf = ({ targets, isContinued, ...rest }: LegScript, label: string): Stage<Candidate> => ({
    label,
    group: isContinued && !label.endsWith(" 0") && !label.startsWith("context") ? group : (group = {}),
    ...rest,
    breaker: DEFAULT_BREAKER,
    candidates: targets.map((at) => candidates[at]!),
  });
  const stages = world.stages.map((script, at) => legOf(script, `leg ${at}`));
  const policyLegs = world.policyLegs.map((script, at) => legOf(script, `policy ${at}`));
  const contextLegs = new Map<string, Stage<Candidate>>(
    world.contextLegs.flatMap((script, at) =>
      script === null ? [] : [[`t${at}`, legOf(script, `context ${at}`)] as const],
    ),
  );
  const health = healthOf(world.targets);
  const plan = createPlan<Candidate>({
    stages,
    contextWindowStage: ({ key }) => contextLegs.get(key) ?? null,
    contentPolicyStages: () => policyLegs,
    health,
    random: chanceOf(world.chance),
  });
  const contested = new Set(
    candidates.map(({ key }) => key).filter((_, at) => world.targets[at]!.start === "contested"),
  );
  const seen: Seen[] = [];
  let nowMs = T0;
  let failure: Failure | null = null;
  let failedKey: string | null = null;
  for (let guard = 0; guard < 200; guard++) {
    const leftMs = T0 + world.deadlineMs - nowMs;
    const free = new Set(
      candidates.map(({ key }) => key).filter((key) => health.blockedReason(key, DEFAULT_BREAKER, nowMs) === null),
    );
    const able = new Set(candidates.filter((each) => free.has(each.key) && each.isCallable()).map(({ key }) => key));
    const step: Step<Candidate> = plan.next(failure, nowMs, leftMs);
    seen.push({ step, nowMs, leftMs, failure, failedKey, free, able });
    if (step.kind === "give_up") return { seen, stages, policyLegs, contextLegs, succeeded: false };
    nowMs += step.waitMs;
    const { key, upstream } = step.candidate;
    const { tookMs } = world.targets[Number(key.slice(1))]!;
    // another call was quicker to probe it
    if (contested.delete(key)) health.begin(key, DEFAULT_BREAKER, nowMs);
    failedKey = key;
    if (!step.isLastResort && health.blockedReason(key, DEFAULT_BREAKER, nowMs) !== null) {
      failure = { kind: "blocked", retryAfterMs: null };
      continue;
    }
    const ending = endingAt(key);
    attempts.set(key, (attempts.get(key) ?? 0) + 1);
    if (ending.kind === "refused") {
      failure = ending;
      continue;
    }
    health.called(upstream, nowMs);
    const probe = health.begin(key, DEFAULT_BREAKER, nowMs);
    nowMs += Math.min(tookMs, T0 + world.deadlineMs - nowMs);
    if (ending.kind === "success") return { seen, stages, policyLegs, contextLegs, succeeded: true };
    const told = ending.retryAfterMs === null ? { probe } : { probe, retryAfterMs: ending.retryAfterMs };
    health.end(
      key,
      DEFAULT_BREAKER,
      ["retryable", "timed_out"].includes(ending.kind) ? "upstream_fault" : "client_fault",
      nowMs,
      told,
    );
    failure = ending;
  }
  throw new Error("the plan does not end");
}
