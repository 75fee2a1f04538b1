// Properties of every plan, over thousands of random worlds: bounds of attempts and waits, no forbidden repetition, an
// unable target is passed over, and a healthy one is reached.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Candidate, Stage, TryStep } from "../../../src/routing/plan/plan-steps.ts";
import { printedSeed } from "../../harness/time/chance.ts";
import { type Ending, run, worlds, type Seen, type World } from "./plan-worlds.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const seed = printedSeed("plans");
const RUNS = drawCount(1_000, 4_000);
const REPEATABLE: ReadonlySet<Ending["kind"]> = new Set(["retryable", "timed_out", "blocked"]);
const REQUEST_FAULTS: ReadonlySet<Ending["kind"]> = new Set(["request_fault", "content_policy", "context_length"]);

function hold(
  name: string,
  judge: (world: World, ran: ReturnType<typeof run>) => void,
  {
    mood = "any",
    adapt = (world) => world,
  }: { readonly mood?: "any" | "patient"; readonly adapt?: (world: World) => World } = {},
): void {
  test(name, () => {
    fc.assert(
      fc.property(worlds(mood), (drawn) => {
        const world = adapt(drawn);
        judge(world, run(world));
      }),
      { seed, numRuns: RUNS },
    );
  });
}

/** What the plan has called by a step, and what may still be reached then. */
interface Reached {
  /** Targets that were called, or that the gateway refused to call. */
  readonly tried: ReadonlySet<string>;
  /** Able targets of the stages of the plan that were never tried. */
  readonly left: readonly Candidate[];
}

/** Judges each attempt with what had been reached before it. Targets that were found to be blocked count as not tried. */
function eachTry(
  { seen, stages }: ReturnType<typeof run>,
  judge: (one: ReturnType<typeof tries>[number], reached: Reached) => void,
): void {
  const called = new Map<string, number>();
  const refused = new Set<string>();
  const groups = new Set<object>();
  let last: TryStep<Candidate> | null = null;
  for (const one of tries(seen)) {
    const { failure, step, able } = one;
    if (last !== null && failure?.kind === "blocked")
      called.set(last.candidate.key, called.get(last.candidate.key)! - 1);
    if (last !== null && failure?.kind === "refused") refused.add(last.candidate.key);
    if (last !== null && (failure?.kind === "request_fault" || failure?.kind === "content_policy"))
      groups.add(last.stage.group);
    const tried = new Set([...refused, ...[...called].flatMap(([key, times]) => (times > 0 ? [key] : []))]);
    const left = stages
      .flatMap(({ group, candidates }) => (groups.has(group) ? [] : candidates))
      .filter(({ key }) => able.has(key) && !tried.has(key));
    judge(one, { tried, left });
    called.set(step.candidate.key, (called.get(step.candidate.key) ?? 0) + 1);
    last = step;
  }
}

const tries = (seen: readonly Seen[]): readonly (Omit<Seen, "step"> & { readonly step: TryStep<Candidate> })[] =>
  seen.flatMap(({ step, ...rest }) => (step.kind === "try" ? [{ ...rest, step }] : []));

describe("every plan", () => {
  hold("tries a target at most once and its retries, however many legs it stands in, and says why", (_, { seen }) => {
    const attempts = new Map<string, number>();
    const refused = new Set<string>();
    for (const { step, failure, failedKey } of tries(seen)) {
      if (failure?.kind === "refused") refused.add(failedKey!);
      if (failure?.kind === "blocked") attempts.set(failedKey!, attempts.get(failedKey!)! - 1);
      const { key } = step.candidate;
      const before = attempts.get(key) ?? 0;
      attempts.set(key, before + 1);
      expect(before + 1).toBeLessThanOrEqual(1 + step.stage.retries);
      expect(step.stage.candidates).toContain(step.candidate);
      expect(refused.has(key)).toBe(false);
      expect(step.why).toMatch(before === 0 ? /^(?!retry)./ : new RegExp(`^retry ${before} of ${step.stage.retries} `));
    }
  });
  hold("repeats nothing but after a retryable failure, and ends with the first final one", (_, { seen }) => {
    const spent = new Set<string>();
    for (const { step, failure, failedKey } of seen) {
      if (failure !== null && !REPEATABLE.has(failure.kind)) spent.add(failedKey!);
      if (failure?.kind === "final") expect(step).toEqual({ kind: "give_up", why: "final" });
      if (step.kind === "try") expect(spent.has(step.candidate.key)).toBe(false);
    }
  });
  hold(
    "[d7.3] takes a fault of the request to no further target of the same route, and to three targets at most",
    (_, { seen }) => {
      const left = new Set<object>();
      let faults = 0;
      let last: TryStep<Candidate> | null = null;
      for (const { step, failure } of seen) {
        if (failure !== null && REQUEST_FAULTS.has(failure.kind)) {
          faults += 1;
          if (failure.kind !== "context_length") left.add(last!.stage.group);
          if (faults === 3) expect(step.kind).toBe("give_up");
        }
        if (step.kind === "give_up") continue;
        expect(faults).toBeLessThan(3);
        expect(left.has(step.stage.group)).toBe(false);
        last = step;
      }
    },
  );
  hold(
    "[d7.3] takes a context length first to what the map names, and a content policy first along its list",
    (_, { seen, contextLegs, policyLegs }) => {
      const tried = new Set<string>();
      const left = new Set<object>();
      let last: TryStep<Candidate> | null = null;
      // the list is gone through once
      let isListed = false;
      for (const { step, failure, failedKey, free } of seen) {
        if (failure !== null && ["request_fault", "content_policy"].includes(failure.kind)) left.add(last!.stage.group);
        const open = (stages: readonly Stage<Candidate>[]): boolean =>
          stages.some(
            ({ candidates, group }) =>
              !left.has(group) && candidates.some(({ key }) => free.has(key) && !tried.has(key)),
          );
        if (step.kind === "try") {
          const own =
            failure?.kind === "context_length"
              ? [contextLegs.get(failedKey!)].filter((each) => each !== undefined)
              : failure?.kind === "content_policy" && !isListed
                ? policyLegs
                : [];
          isListed ||= failure?.kind === "content_policy";
          if (open(own)) expect(own).toContain(step.stage);
          tried.add(step.candidate.key);
          last = step;
        }
      }
    },
  );
  hold("waits only within the deadline, at most 10 s, at least what the upstream said", (_, { seen }) => {
    const readyAtMs = new Map<string, number>();
    for (const { step, nowMs, leftMs, failure, failedKey } of seen) {
      if (failure !== null && failure.kind !== "success" && failure.kind !== "blocked" && failedKey !== null)
        readyAtMs.set(failedKey, nowMs + (failure.retryAfterMs ?? 0));
      if (leftMs <= 0 && failure?.kind !== "final") expect(step).toEqual({ kind: "give_up", why: "deadline" });
      if (step.kind === "give_up") continue;
      expect(step.waitMs).toBeGreaterThanOrEqual(0);
      expect(step.waitMs).toBeLessThan(leftMs);
      expect(step.waitMs).toBeLessThanOrEqual(10_000);
      expect(nowMs + step.waitMs).toBeGreaterThanOrEqual((readyAtMs.get(step.candidate.key) ?? 0) - 1e-6);
    }
  });
  hold(
    "does not wait while a healthy target is left untried",
    (_, { seen, stages }) => {
      const tried = new Set<string>();
      for (const { step, free } of tries(seen)) {
        if (step.waitMs > 0)
          expect(
            stages.flatMap(({ candidates }) => candidates).filter(({ key }) => free.has(key) && !tried.has(key)),
          ).toEqual([]);
        tried.add(step.candidate.key);
      }
    },
    { mood: "patient" },
  );
  hold(
    "[d7.5] attempts an unable target only where no able one is left, as the least bad of its stage, or when its limit is over, or again",
    (_, ran) => {
      eachTry(ran, ({ step, free }, { tried, left }) => {
        const { key } = step.candidate;
        if (free.has(key) || tried.has(key)) return;
        expect(step.isLastResort).toBe(true);
        expect(left).toEqual([]);
        if (step.waitMs > 0) return;
        expect(step.stage.onExhausted).toBe("least_bad");
        for (const each of step.stage.candidates) expect(free.has(each.key) && !tried.has(each.key)).toBe(false);
      });
    },
  );
  hold("repeats a target at once only while another one that the gateway would call is left", (_, ran) => {
    const further = [...ran.policyLegs, ...ran.contextLegs.values()].flatMap(({ candidates }) => candidates);
    eachTry(ran, ({ step, failure, failedKey, able }, { left, tried }) => {
      if (failure?.kind === "retryable" && failedKey === step.candidate.key && step.waitMs === 0)
        expect([...left, ...further.filter(({ key }) => able.has(key) && !tried.has(key))]).not.toEqual([]);
    });
  });
  hold("[d7.10] does not repeat a target after a time limit while another able one is left", (_, ran) => {
    const endings = new Map<string, Ending["kind"]>();
    eachTry(ran, ({ step, failure, failedKey }, { left }) => {
      if (failure !== null && failure.kind !== "blocked") endings.set(failedKey!, failure.kind);
      if (endings.get(step.candidate.key) === "timed_out" && !step.stage.retryTimeouts) expect(left).toEqual([]);
    });
  });
  hold("repeats nothing at an upstream whose budget is empty", ({ targets }, { seen }) => {
    const tried = new Set<string>();
    for (const { step, nowMs } of tries(seen)) {
      const { key } = step.candidate;
      if (tried.has(key) && targets[Number(key.slice(1))]!.start === "no_budget")
        expect(nowMs - seen[0]!.nowMs).toBeGreaterThanOrEqual(9_000);
      tried.add(key);
    }
  });
  hold("begins with a healthy target of the lowest order of its first leg that has one", (_, { seen, stages }) => {
    const [start] = tries(seen);
    const free = stages[0]!.candidates.filter(({ key }) => seen[0]!.free.has(key));
    if (start === undefined || free.length === 0) return;
    expect(start.step.stage).toBe(stages[0]!);
    expect(free.map(({ key }) => key)).toContain(start.step.candidate.key);
    expect(start.step.candidate.order).toBe(Math.min(...free.map(({ order }) => order)));
  });
  hold("reports that there is no target only when none was healthy and none was attempted", (_, { seen, stages }) => {
    const last = seen.at(-1)!;
    if (last.step.kind !== "give_up" || last.step.why !== "no_target") return;
    expect(seen).toHaveLength(1);
    for (const stage of stages)
      expect(
        stage.onExhausted === "least_bad" ? stage.candidates : stage.candidates.filter(({ key }) => last.free.has(key)),
      ).toEqual([]);
  });
  hold("is the same for the same chance", (world, { seen }) => {
    const shown = (each: Seen): unknown => {
      const { step, nowMs } = each;
      return step.kind === "try" ? [step.candidate.key, step.waitMs, step.why, nowMs] : [step.why, nowMs];
    };
    expect(run(world).seen.map(shown)).toEqual(seen.map(shown));
  });
});

/** One target works, is healthy, and stands somewhere; all the others fail for ever. */
function withOneHealthy(world: World): World {
  const at = world.stages.flatMap(({ targets }) => targets)[world.chance % 7] ?? 0;
  const targets = world.targets.map((target, index) =>
    index === at ? { ...target, start: "fresh" as const, endings: [{ kind: "success" as const }] } : target,
  );
  const [firstLeg, ...rest] = world.stages;
  const stages = world.stages.some((each) => each.targets.includes(at))
    ? world.stages
    : [{ ...firstLeg!, targets: [...firstLeg!.targets, at] }, ...rest];
  return { ...world, targets, stages };
}

describe("with one healthy target left", () => {
  hold(
    "the plan reaches it, unless the deadline is over",
    (_, { seen, succeeded }) => {
      const last = seen.at(-1)!;
      if (succeeded) return;
      expect(last.step).toEqual({ kind: "give_up", why: "deadline" });
      expect(last.leftMs).toBeLessThanOrEqual(0);
    },
    { mood: "patient", adapt: withOneHealthy },
  );
  hold(
    "the plan does not wait on its way there",
    (_, { seen }) => {
      for (const { step } of tries(seen)) expect(step.waitMs).toBe(0);
    },
    { mood: "patient", adapt: withOneHealthy },
  );
});
