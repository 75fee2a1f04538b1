// Decides which target is attempted next, and after which wait: promises 7.1 and 7.3 as a state machine without a
// clock, a socket or randomness of its own.
import type { BreakerSettings, StrategyType } from "../core/route.ts";
import { backoffMs } from "./backoff.ts";
import type { Health } from "./health.ts";
import { choose, type Choice } from "./strategies.ts";

/** A target that may be attempted, as the caller prepared it. */
export interface Candidate {
  /** The key of its health: provider, model and credential together. */
  readonly key: string;
  /**
   * Identifies the parameters that an entry sets for this candidate, because a candidate with other parameters is
   * attempted separately; empty when there are none.
   */
  readonly variant: string;
  /** The key of its retry budget. It is the provider's id, because targets of one provider tend to fail together. */
  readonly upstream: string;
  readonly weight: number;
  readonly order: number;
  /** What this call would cost there; `null` when that is not known, which sorts last. */
  readonly costNanoUsd: number | null;
}

/** A stage: the targets among which a strategy chooses, either those of a route or a single model. */
export interface Stage<T extends Candidate> {
  /** A label for explanations, such as `route chat_default` or `anthropic:claude-haiku-4-5`. */
  readonly label: string;
  /**
   * Stages with the same value hold targets of one route: when one of these targets finds a fault of the request, all
   * of them are skipped.
   */
  readonly group: object;
  readonly strategy: StrategyType;
  readonly candidates: readonly T[];
  readonly breaker: BreakerSettings;
  readonly onExhausted: "error" | "least_bad";
  /** Further attempts at the same target. */
  readonly retries: number;
  /** Equal keys prefer the same target as long as it is healthy. */
  readonly stickyKey: string | null;
}

/** How an attempt failed, as far as the plan needs to know. docs/routes.md has a table of failures. */
export interface Failure {
  /**
   * `retryable`: the same call may succeed here or at any other target. `elsewhere`: the call may succeed at any other
   * target, but not here. `request_fault`: the upstream refuses the request itself, so that only a fallback is
   * attempted and no further target of the same route. `content_policy`: the same, but a list of its own comes first.
   * `context_length`: the call may succeed at any other target; a map of its own comes first. `final`: the call has
   * ended. `refused`: a policy or a limit forbids the target, so that it was not called. The next target is attempted,
   * this one never again, and the attempt is not counted.
   */
  readonly kind:
    | "retryable"
    | "elsewhere"
    | "request_fault"
    | "context_length"
    | "content_policy"
    | "final"
    | "refused";
  /** How long the upstream asked to wait. */
  readonly retryAfterMs: number | null;
}

export interface TryStep<T extends Candidate> {
  readonly kind: "try";
  readonly candidate: T;
  readonly stage: Stage<T>;
  readonly waitMs: number;
  readonly why: string;
}

export type Step<T extends Candidate> =
  | TryStep<T>
  /** `no_target`: nothing is healthy, the stage is configured to return an error, and nothing was attempted. */
  | { readonly kind: "give_up"; readonly why: "exhausted" | "final" | "deadline" | "no_target" };

export interface PlanInput<T extends Candidate> {
  /** The first stage is the requested route or model; its fallbacks follow in order. */
  readonly stages: readonly Stage<T>[];
  /**
   * The stage that is attempted first after `context_length` for the candidate that failed; `null` when there is none.
   */
  contextWindowStage(candidate: T): Stage<T> | null;
  /**
   * The stages that are attempted first, in order, after `content_policy`: the list of the candidate's route. The same
   * object is returned each time.
   */
  contentPolicyStages(candidate: T): readonly Stage<T>[];
  readonly health: Health;
  /** Returns a number of at least 0 and below 1. */
  readonly random: () => number;
}

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
   * one, which then does not count as attempted. The last step remains the last step: when both have failed, `next`
   * receives the failure of the first.
   */
  second(
    nowMs: number,
    mayGo?: (candidate: T) => boolean,
    takes?: (candidate: T, why: string) => boolean,
  ): TryStep<T> | null;
}

/** The attempts at one target, by the candidate's key and variant, even if the target is in several stages. */
interface Tally<T extends Candidate> {
  readonly candidate: T;
  readonly stage: Stage<T>;
  attempts: number;
  /** The target is not attempted again, because it would refuse the request again. */
  isSpent: boolean;
  failedAtMs: number;
  retryAfterMs: number;
  /** Drawn once for each failure; `null` before that. */
  backoffMs: number | null;
}

/** A stage that is still to be attempted. */
interface Planned<T extends Candidate> {
  readonly stage: Stage<T>;
  /** A prefix for the strategy's explanation, such as `fallback 1: route cheap`. */
  readonly prefix: string;
  /** The stage was begun before, and another one was inserted before the rest of it. */
  readonly isResumed: boolean;
}

interface State<T extends Candidate> {
  readonly input: PlanInput<T>;
  readonly tallies: Tally<T>[];
  last: Tally<T> | null;
  attempts: number;
  /** The number of targets that have refused the request itself. */
  requestFaults: number;
  current: Planned<T> | null;
  /** The stages that follow, in order, when nothing is left in the current stage. */
  agenda: Planned<T>[];
  /** Stages that were begun. Targets that were passed over in them may become available. */
  entered: Stage<T>[];
  /** Content policy lists that are or were on the agenda. */
  readonly policyLists: (readonly Stage<T>[])[];
  end: Step<T> | null;
}

/** The client should decide about longer waits. */
const MAX_WAIT_MS = 10_000;
/** The number of targets that may report a fault of the request itself before the call fails. */
const MAX_REQUEST_FAULTS = 3;
const REQUEST_FAULTS: ReadonlySet<Failure["kind"]> = new Set(["request_fault", "context_length", "content_policy"]);

export function createPlan<T extends Candidate>(input: PlanInput<T>): Plan<T> {
  const agenda = input.stages.map((stage, place): Planned<T> => ({
    stage,
    prefix: place === 0 ? "" : `fallback ${place}: ${stage.label}`,
    isResumed: false,
  }));
  const state: State<T> = {
    input,
    tallies: [],
    last: null,
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
  };
}

function first<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  return leftMs <= 0 ? giveUp(state, "deadline") : (moveOn(state, nowMs) ?? giveUp(state, "no_target"));
}

function after<T extends Candidate>(
  state: State<T>,
  failed: Tally<T>,
  failure: Failure,
  nowMs: number,
  leftMs: number,
): Step<T> {
  failed.failedAtMs = nowMs;
  failed.retryAfterMs = Math.max(0, failure.retryAfterMs ?? 0);
  failed.backoffMs = null;
  if (failure.kind !== "retryable") failed.isSpent = true;
  if (failure.kind === "final") return giveUp(state, "final");
  if (leftMs <= 0) return giveUp(state, "deadline");
  if (REQUEST_FAULTS.has(failure.kind) && ++state.requestFaults >= MAX_REQUEST_FAULTS) return giveUp(state, "final");
  switch (failure.kind) {
    case "context_length":
      planContextWindowStage(state, failed);
      break;
    case "content_policy":
      leaveGroup(state, failed.stage.group);
      planContentPolicyStages(state, failed);
      break;
    case "request_fault":
      leaveGroup(state, failed.stage.group);
      break;
    case "refused":
      failed.attempts -= 1;
      state.attempts -= 1;
      break;
    case "retryable":
      if (isRepeatedAtOnce(state, failed, nowMs)) return repeat(state, failed, 0);
      break;
    case "elsewhere":
  }
  return moveOn(state, nowMs) ?? waitFor(state, nowMs, leftMs);
}

function giveUp<T extends Candidate>(state: State<T>, why: "exhausted" | "final" | "deadline" | "no_target"): Step<T> {
  state.end = { kind: "give_up", why };
  return state.end;
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
  if (state.current !== null) state.agenda.unshift({ ...state.current, isResumed: true });
  state.current = null;
  state.agenda.unshift(
    ...stages.map((stage): Planned<T> => ({ stage, prefix: `${prefix}: ${stage.label}`, isResumed: false })),
  );
}

/** Drops the rest of a route whose target has refused the request itself, retries included. */
function leaveGroup<T extends Candidate>(state: State<T>, group: object): void {
  const isElsewhere = ({ stage }: Pick<Planned<T>, "stage">): boolean => stage.group !== group;
  state.agenda = state.agenda.filter(isElsewhere);
  state.entered = state.entered.filter((stage) => stage.group !== group);
  if (state.current?.stage.group === group) state.current = null;
  for (const tally of state.tallies) if (tally.stage.group === group) tally.isSpent = true;
}

/** The attempt is repeated without a wait as long as there is another target left in case it fails again. */
function isRepeatedAtOnce<T extends Candidate>(state: State<T>, failed: Tally<T>, nowMs: number): boolean {
  const { health } = state.input;
  return (
    failed.attempts <= failed.stage.retries &&
    failed.retryAfterMs === 0 &&
    health.blockedReason(failed.candidate.key, failed.stage.breaker, nowMs) === null &&
    isAnotherLeft(state, nowMs) &&
    health.takeRetry(failed.candidate.upstream, nowMs)
  );
}

function isAnotherLeft<T extends Candidate>(state: State<T>, nowMs: number): boolean {
  if (state.current !== null && hasFree(state, state.current.stage, nowMs)) return true;
  return state.agenda.some((planned) => isEnterable(state, planned, nowMs));
}

function hasFree<T extends Candidate>(state: State<T>, stage: Stage<T>, nowMs: number): boolean {
  return stage.candidates.some((candidate) => isFree(state, stage, candidate, nowMs));
}

function isEnterable<T extends Candidate>(state: State<T>, { stage, isResumed }: Planned<T>, nowMs: number): boolean {
  return !isResumed && stage.onExhausted === "least_bad"
    ? stage.candidates.some((candidate) => tallyOf(state, candidate) === null)
    : hasFree(state, stage, nowMs);
}

function isFree<T extends Candidate>(state: State<T>, stage: Stage<T>, candidate: T, nowMs: number): boolean {
  return (
    tallyOf(state, candidate) === null && state.input.health.blockedReason(candidate.key, stage.breaker, nowMs) === null
  );
}

function tallyOf<T extends Candidate>({ tallies }: State<T>, { key, variant }: T): Tally<T> | null {
  for (const tally of tallies) if (tally.candidate.key === key && tally.candidate.variant === variant) return tally;
  return null;
}

/** Returns the next target that was never attempted, in this stage or a later one. */
function moveOn<T extends Candidate>(state: State<T>, nowMs: number): Step<T> | null {
  const step = state.current === null ? null : chooseIn(state, state.current.stage, nowMs);
  if (step !== null) return step;
  for (let planned = state.agenda.shift(); planned !== undefined; planned = state.agenda.shift()) {
    const { stage, isResumed } = planned;
    state.current = planned;
    if (!isResumed) state.entered.push(stage);
    // unhealthy targets of a resumed stage were already passed over
    const begun = chooseIn(state, stage, nowMs) ?? (isResumed ? null : leastBadOf(state, stage, nowMs));
    if (begun !== null) return begun;
  }
  return null;
}

function chooseIn<T extends Candidate>(state: State<T>, stage: Stage<T>, nowMs: number): Step<T> | null {
  const choice = chosenIn(state, stage, nowMs);
  return choice === null
    ? null
    : begin(state, stage, choice.candidate, 0, explained(state, stage.candidates.length === 1 ? "" : choice.why));
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

/**
 * For a stage without a healthy target, returns the one that becomes available first. Only one is attempted, because
 * the others are just as bad.
 */
function leastBadOf<T extends Candidate>(state: State<T>, stage: Stage<T>, nowMs: number): Step<T> | null {
  if (stage.onExhausted === "error") return null;
  let best: T | null = null;
  let bestAtMs = Number.POSITIVE_INFINITY;
  for (const each of stage.candidates) {
    if (tallyOf(state, each) !== null) continue;
    const atMs = state.input.health.freeAtMs(each.key, stage.breaker, nowMs);
    if (best !== null && atMs >= bestAtMs) continue;
    best = each;
    bestAtMs = atMs;
  }
  if (best === null) return null;
  const why =
    stage.candidates.length === 1
      ? `${explained(state, "")}, although it is not healthy`
      : explained(state, "no target is healthy; this one is available first");
  return begin(state, stage, best, 0, why);
}

function explained<T extends Candidate>({ current }: State<T>, why: string): string {
  const prefix = current?.prefix ?? "";
  if (why === "") return prefix === "" ? "the only target" : prefix;
  return prefix === "" ? why : `${prefix}, ${why}`;
}

function begin<T extends Candidate>(
  state: State<T>,
  stage: Stage<T>,
  candidate: T,
  waitMs: number,
  why: string,
): TryStep<T> {
  state.last = { candidate, stage, attempts: 1, isSpent: false, failedAtMs: 0, retryAfterMs: 0, backoffMs: null };
  state.tallies.push(state.last);
  state.attempts += 1;
  return { kind: "try", candidate, stage, waitMs, why };
}

function repeat<T extends Candidate>(state: State<T>, tally: Tally<T>, waitMs: number): Step<T> {
  const why = `retry ${tally.attempts} of ${tally.stage.retries} after a retryable failure`;
  tally.attempts += 1;
  state.attempts += 1;
  state.last = tally;
  return { kind: "try", candidate: tally.candidate, stage: tally.stage, waitMs, why };
}

/** Every target was attempted or is unhealthy: waits for the one that is available first, if that is worth while. */
function waitFor<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  let isTooLate = false;
  const waits: {
    readonly waitMs: number;
    readonly tally: Tally<T> | null;
    readonly stage: Stage<T>;
    readonly candidate: T;
  }[] = [];
  const consider = (waitMs: number, tally: Tally<T> | null, stage: Stage<T>, candidate: T): void => {
    if (waitMs > MAX_WAIT_MS) return;
    if (waitMs >= leftMs) isTooLate = true;
    else waits.push({ waitMs, tally, stage, candidate });
  };
  for (const stage of state.entered)
    for (const candidate of stage.candidates)
      if (tallyOf(state, candidate) === null)
        consider(waitOfUntried(state, stage, candidate, nowMs), null, stage, candidate);
  for (const tally of state.tallies)
    if (!tally.isSpent && tally.attempts <= tally.stage.retries)
      consider(waitOfRepeat(state, tally, nowMs), tally, tally.stage, tally.candidate);
  waits.sort((a, b) => a.waitMs - b.waitMs);
  for (const { waitMs, tally, stage, candidate } of waits) {
    if (tally === null) return begin(state, stage, candidate, waitMs, "skipped before, available by then");
    if (state.input.health.takeRetry(candidate.upstream, nowMs)) return repeat(state, tally, waitMs);
  }
  if (isTooLate) return giveUp(state, "deadline");
  return giveUp(state, state.attempts > 0 ? "exhausted" : "final");
}

/**
 * A rate limit ends at a known time, which is worth waiting for; it is uncertain whether an upstream works when its
 * breaker becomes half-open.
 */
function waitOfUntried<T extends Candidate>(
  { input: { health } }: State<T>,
  stage: Stage<T>,
  { key }: T,
  nowMs: number,
): number {
  const blocked = health.blockedReason(key, stage.breaker, nowMs);
  if (blocked === null) return 0;
  return blocked === "rate_limited" ? health.freeAtMs(key, stage.breaker, nowMs) - nowMs : Number.POSITIVE_INFINITY;
}

function waitOfRepeat<T extends Candidate>(
  { input: { health, random } }: State<T>,
  tally: Tally<T>,
  nowMs: number,
): number {
  tally.backoffMs ??= backoffMs(tally.attempts - 1, random());
  const ownWaitMs = Math.max(0, tally.failedAtMs + Math.max(tally.backoffMs, tally.retryAfterMs) - nowMs);
  const blocked = health.blockedReason(tally.candidate.key, tally.stage.breaker, nowMs);
  if (blocked === "rate_limited")
    return Math.max(ownWaitMs, health.freeAtMs(tally.candidate.key, tally.stage.breaker, nowMs) - nowMs);
  return blocked === null || tally.stage.onExhausted === "least_bad" ? ownWaitMs : Number.POSITIVE_INFINITY;
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
    const step = begin(state, stage, choice.candidate, 0, why);
    state.last!.failedAtMs = nowMs;
    state.last!.isSpent = !isTaken;
    state.last = last;
    if (isTaken) return step;
  }
  if (
    state.input.health.blockedReason(last.candidate.key, last.stage.breaker, nowMs) !== null ||
    !mayGo(last.candidate)
  )
    return null;
  state.attempts += 1;
  return { kind: "try", candidate: last.candidate, stage: last.stage, waitMs: 0, why: "hedge at the same target" };
}
