// Targets, stages and failures for the tests of routing: everything has a default, and a test sets only what it is
// about.
import { DEFAULT_BREAKER } from "../../../src/core/configured/route.ts";
import type { Plan } from "../../../src/routing/plan/plan.ts";
import type { Candidate, Failure, Stage, PlanInput, Step } from "../../../src/routing/plan/plan-steps.ts";
import { createPlan } from "../../../src/routing/plan/plan.ts";
import { openHealth } from "../../../src/routing/health/health.ts";

export const T0 = 1_000_000;
export const HOUR_MS = 3_600_000;

export function candidate(key: string, more: Partial<Candidate> = {}): Candidate {
  return {
    key,
    variant: "",
    rules: "",
    upstream: `up-${key}`,
    weight: 1,
    order: 0,
    costNanoUsd: null,
    isOffered: true,
    isCallable: () => true,
    ...more,
  };
}

export function stage(
  candidates: readonly (Candidate | string)[],
  more: Partial<Stage<Candidate>> = {},
): Stage<Candidate> {
  return {
    label: "route r",
    group: {},
    strategy: "priority",
    candidates: candidates.map((each) => (typeof each === "string" ? candidate(each) : each)),
    breaker: DEFAULT_BREAKER,
    onExhausted: "least_bad",
    retries: 1,
    retryTimeouts: false,
    stickyKey: null,
    ...more,
  };
}

export function planOf(stages: readonly Stage<Candidate>[], more: Partial<PlanInput<Candidate>> = {}): Plan<Candidate> {
  return createPlan({
    stages,
    contextWindowStage: () => null,
    contentPolicyStages: () => NO_LEGS,
    health: openHealth(),
    random: () => 0.5,
    ...more,
  });
}

const NO_LEGS: readonly Stage<Candidate>[] = [];

export const failed = (kind: Failure["kind"] = "retryable", retryAfterMs: number | null = null): Failure => ({
  kind,
  retryAfterMs,
});

/** `a`, `a after 125`, or why it gave up. */
export function shown(step: Step<Candidate>): string {
  if (step.kind === "give_up") return step.why;
  return step.waitMs === 0 ? step.candidate.key : `${step.candidate.key} after ${step.waitMs}`;
}

/** The steps when every attempt fails as said, the last failure for ever, at one point in time. */
export function stepsOf(
  plan: Plan<Candidate>,
  failures: readonly Failure[] = [failed()],
  leftMs = HOUR_MS,
): readonly string[] {
  const steps: string[] = [];
  let step = plan.next(null, T0, leftMs);
  for (let at = 0; at < 100; at++) {
    steps.push(shown(step));
    if (step.kind === "give_up") return steps;
    step = plan.next(failures[Math.min(at, failures.length - 1)]!, T0, leftMs);
  }
  throw new Error("the plan does not end");
}
