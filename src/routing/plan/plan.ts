// Decides which target is attempted next, and after which wait: promises 7.1, 7.3 and 7.5 as a state machine without a
// clock, a socket or randomness of its own.

// Decides (targets and attempts): Which target is passed over because it is unable, and when is one attempted
// nevertheless? By: `moveOn`. Also: `plan-waits.ts` (`lastResort`), by `blockedReason` of `routing/health/health.ts`;
// asked again before the attempt begins in `engine/attempt/run-attempt.ts` (`isBlocked`). Rule: Unable ones come last,
// wherever they stand.
import {
  begin,
  blockedReason,
  explained,
  giveUp,
  isFree,
  type Planned,
  repeat,
  type State,
  type Tally,
  withOtherCredential,
} from "./plan-state.ts";
import type { Candidate, Failure, PlanInput, Stage, Step, TryStep } from "./plan-steps.ts";
import { lastResort, waitFor } from "./plan-waits.ts";
import { choose, type Choice } from "./strategies.ts";

export interface Plan<T extends Candidate> {
  /**
   * `failure` is that of the last step, and `null` at the first call. `leftMs` is the time left until the deadline. The
   * failure must have been reported to `health` before.
   */
  next(failure: Failure | null, nowMs: number, leftMs: number): Step<T>;
  /**
   * Chooses a second attempt beside the one in flight: another target of the same stage, which then counts as
   * attempted, or else the same target, once more than its retries. A target that `takes` rejects, because it may not be
   * called, is passed over and not chosen later. Returns `null` when none is healthy, or when `mayGo` rejects the chosen
   * one, which then does not count as attempted. For `next`, the last step is still that of the first attempt: when both have
   * failed, `secondFailed` receives the failure of the second, and then `next` that of the first.
   */
  second(
    nowMs: number,
    mayGo?: (candidate: T) => boolean,
    takes?: (candidate: T, why: string) => boolean,
  ): TryStep<T> | null;
  /** Called with the failure of the second attempt where the first one has no answer either. */
  secondFailed(failure: Failure, nowMs: number): void;
  /** Whether another target, which was not attempted yet, could be called now. */
  isAnotherLeft(nowMs: number): boolean;
}

/** The number of targets that may report a fault of the request itself before the call fails. */
export const MAX_REQUEST_FAULTS = 3;
/** Failures after which the same target may be attempted again. */
const KEEPS_TARGET: ReadonlySet<Failure["kind"]> = new Set(["retryable", "timed_out", "other_credential"]);
const REQUEST_FAULTS: ReadonlySet<Failure["kind"]> = new Set(["request_fault", "context_length", "content_policy"]);

export function createPlan<T extends Candidate>(input: PlanInput<T>): Plan<T> {
  const agenda = input.stages.map((stage, place): Planned<T> => ({
    stage,
    prefix: place === 0 ? "" : `fallback ${place}: ${stage.label}`,
  }));
  const state: State<T> = {
    input,
    tallies: [],
    last: null,
    beside: null,
    attempts: 0,
    requestFaults: 0,
    current: null,
    agenda,
    entered: [],
    policyLists: [],
    end: null,
  };
  return {
    next: (failure, nowMs, leftMs) =>
      state.end ??
      (failure === null || state.last === null
        ? first(state, nowMs, leftMs)
        : after(state, state.last, failure, nowMs, leftMs)),
    second: (nowMs, mayGo = () => true, takes = () => true) =>
      state.end !== null || state.last === null ? null : beside(state, state.last, { nowMs, mayGo, takes }),
    secondFailed: (failure, nowMs) => secondFailed(state, failure, nowMs),
    isAnotherLeft: (nowMs) => isAnotherLeft(state, nowMs),
  };
}

function first<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  return leftMs <= 0
    ? giveUp(state, "deadline")
    : (moveOn(state, nowMs) ?? lastResort(state, nowMs) ?? giveUp(state, "no_target"));
}

function after<T extends Candidate>(
  state: State<T>,
  failed: Tally<T>,
  failure: Failure,
  nowMs: number,
  leftMs: number,
): Step<T> {
  if (failure.kind === "refused" || failure.kind === "blocked") {
    takeBack(state, failed, failure.kind === "refused");
    return leftMs <= 0 ? giveUp(state, "deadline") : goOn(state, nowMs, leftMs);
  }
  noteFailure(failed, failure, nowMs);
  if (failure.kind === "final") return giveUp(state, "final");
  if (leftMs <= 0) return giveUp(state, "deadline");
  noteRequestFault(state, failed, failure);
  if (state.requestFaults >= MAX_REQUEST_FAULTS) return giveUp(state, "final");
  switch (failure.kind) {
    case "other_credential": {
      // the breaker may have been opened by other calls
      const isBlocked = blockedReason(state, failed.stage, failed.candidate, nowMs) !== null;
      if (!isBlocked || !isAnotherLeft(state, nowMs)) return withOtherCredential(state, failed, isBlocked);
      break;
    }
    case "retryable":
    case "timed_out":
      if (isRepeatedAtOnce(state, failed, nowMs)) return repeat(state, failed, 0, nowMs);
      break;
    default:
  }
  return goOn(state, nowMs, leftMs);
}

/** What the second attempt has found of its target and of the request. Which step follows is decided with the first. */
function secondFailed<T extends Candidate>(state: State<T>, failure: Failure, nowMs: number): void {
  const { beside: failed } = state;
  state.beside = null;
  if (failed === null || state.end !== null) return;
  if (failure.kind !== "refused" && failure.kind !== "blocked") {
    noteFailure(failed, failure, nowMs);
    noteRequestFault(state, failed, failure);
  } else if (failed !== state.last) takeBack(state, failed, failure.kind === "refused");
}

function noteFailure<T extends Candidate>(failed: Tally<T>, failure: Failure, nowMs: number): void {
  failed.failedAtMs = nowMs;
  failed.retryAfterMs = Math.max(0, failure.retryAfterMs ?? 0);
  failed.backoffMs = null;
  failed.isTooSlow = failure.kind === "timed_out" && !failed.stage.retryTimeouts;
  if (!KEEPS_TARGET.has(failure.kind)) failed.isSpent = true;
}

/** Plans what follows a fault of the request itself. */
function noteRequestFault<T extends Candidate>(state: State<T>, failed: Tally<T>, { kind }: Failure): void {
  if (!REQUEST_FAULTS.has(kind)) return;
  state.requestFaults += 1;
  if (state.requestFaults >= MAX_REQUEST_FAULTS) return;
  if (kind === "context_length") return planContextWindowStage(state, failed);
  leaveGroup(state, failed.stage.group);
  if (kind === "content_policy") planContentPolicyStages(state, failed);
}

function goOn<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  return moveOn(state, nowMs) ?? waitFor(state, nowMs, leftMs);
}

/** The target was not called. One that is refused is never chosen again. */
function takeBack<T extends Candidate>(state: State<T>, tally: Tally<T>, isRefused: boolean): void {
  tally.attempts -= 1;
  state.attempts -= 1;
  if (isRefused) tally.isSpent = true;
  else if (tally.attempts === 0) state.tallies.splice(state.tallies.indexOf(tally), 1);
}

/** The stage of the map comes before the rest of the stage in which the conversation was too long. */
function planContextWindowStage<T extends Candidate>(state: State<T>, failed: Tally<T>): void {
  const stage = state.input.contextWindowStage(failed.candidate);
  if (stage !== null) planFirst(state, [stage], "context window fallback");
}

function planContentPolicyStages<T extends Candidate>(state: State<T>, failed: Tally<T>): void {
  const list = state.input.contentPolicyStages(failed.candidate);
  if (state.policyLists.includes(list)) return;
  state.policyLists.push(list);
  planFirst(state, list, "content policy fallback");
}

/** Inserts stages before the rest of the current one, which continues after them. */
function planFirst<T extends Candidate>(state: State<T>, stages: readonly Stage<T>[], prefix: string): void {
  if (state.current !== null) state.agenda.unshift(state.current);
  state.current = null;
  state.agenda.unshift(...stages.map((stage): Planned<T> => ({ stage, prefix: `${prefix}: ${stage.label}` })));
}

/** Drops the rest of a route whose target has refused the request itself, retries included. */
function leaveGroup<T extends Candidate>(state: State<T>, group: object): void {
  const isElsewhere = ({ stage }: Pick<Planned<T>, "stage">): boolean => stage.group !== group;
  state.agenda = state.agenda.filter(isElsewhere);
  state.entered = state.entered.filter(isElsewhere);
  if (state.current?.stage.group === group) state.current = null;
  for (const tally of state.tallies) if (tally.stage.group === group) tally.isSpent = true;
}

/** The attempt is repeated without a wait as long as there is another target left in case it fails again. */
function isRepeatedAtOnce<T extends Candidate>(state: State<T>, failed: Tally<T>, nowMs: number): boolean {
  const { health } = state.input;
  return (
    !failed.isSpent &&
    !failed.isTooSlow &&
    failed.attempts <= failed.stage.retries &&
    failed.retryAfterMs === 0 &&
    blockedReason(state, failed.stage, failed.candidate, nowMs) === null &&
    isAnotherLeft(state, nowMs) &&
    health.takeRetry(failed.candidate.upstream, nowMs)
  );
}

function isAnotherLeft<T extends Candidate>(state: State<T>, nowMs: number): boolean {
  const isLeft = ({ stage }: Planned<T>): boolean =>
    stage.candidates.some((candidate) => isFree(state, stage, candidate, nowMs) && candidate.isCallable());
  return state.entered.some(isLeft) || state.agenda.some(isLeft);
}

/**
 * Returns the next able target that was never attempted, in this stage or a later one. An unable one is passed over,
 * wherever it stands.
 */
function moveOn<T extends Candidate>(state: State<T>, nowMs: number): Step<T> | null {
  for (;;) {
    const step = state.current === null ? null : chooseIn(state, state.current, nowMs);
    if (step !== null) return step;
    const planned = state.agenda.shift();
    if (planned === undefined) return null;
    state.current = planned;
    if (!state.entered.includes(planned)) state.entered.push(planned);
  }
}

function chooseIn<T extends Candidate>(state: State<T>, planned: Planned<T>, nowMs: number): Step<T> | null {
  const { stage } = planned;
  const choice = chosenIn(state, stage, nowMs);
  if (choice === null) return null;
  const why = explained(planned, stage.candidates.length === 1 ? "" : choice.why);
  return begin(state, stage, choice.candidate, { waitMs: 0, why, isLastResort: false });
}

function chosenIn<T extends Candidate>(state: State<T>, stage: Stage<T>, nowMs: number): Choice<T> | null {
  const { health, random } = state.input;
  return choose({
    strategy: stage.strategy,
    stickyKey: stage.stickyKey,
    candidates: stage.candidates,
    isFree: (candidate) => isFree(state, stage, candidate, nowMs),
    health,
    nowMs,
    random,
  });
}

function beside<T extends Candidate>(
  state: State<T>,
  last: Tally<T>,
  {
    nowMs,
    mayGo,
    takes,
  }: {
    readonly nowMs: number;
    readonly mayGo: (candidate: T) => boolean;
    readonly takes: (candidate: T, why: string) => boolean;
  },
): TryStep<T> | null {
  const { stage } = last;
  for (let choice = chosenIn(state, stage, nowMs); choice !== null; choice = chosenIn(state, stage, nowMs)) {
    const why = `hedge: ${choice.why}`;
    const isTaken = takes(choice.candidate, why);
    if (isTaken && !mayGo(choice.candidate)) return null;
    const step = begin(state, stage, choice.candidate, { waitMs: 0, why, isLastResort: false });
    state.last!.failedAtMs = nowMs;
    if (isTaken) state.beside = state.last;
    else takeBack(state, state.last!, true);
    state.last = last;
    if (isTaken) return step;
  }
  if (blockedReason(state, stage, last.candidate, nowMs) !== null || !mayGo(last.candidate)) return null;
  state.attempts += 1;
  state.beside = last;
  const why = "hedge at the same target";
  return { kind: "try", candidate: last.candidate, stage: last.stage, waitMs: 0, why, isLastResort: false };
}
