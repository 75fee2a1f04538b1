// Which target is tried next, and after which wait: the whole of decisions 7.1 and 7.3 as a state machine without clock, socket or chance of its own.
import type { BreakerSettings, StrategyType } from "../core/route.ts";
import { backoffMs } from "./backoff.ts";
import type { Health } from "./health.ts";
import { choose, type Choice } from "./strategies.ts";

/** A target that may be tried, as the engine prepared it. */
export interface Candidate {
  /** Of its health: provider, model and credential together. */
  readonly key: string;
  /** Of the parameters that an entry brings for it: with others it is tried for itself. Empty: none. */
  readonly variant: string;
  /** Of the retry budget: what goes down together, the provider's id. */
  readonly upstream: string;
  readonly weight: number;
  readonly order: number;
  /** What this call would cost there; null: not known, which goes last. */
  readonly costNanoUsd: number | null;
}

/** Targets among which a strategy chooses: those of a route, or a single model. */
export interface Leg<T extends Candidate> {
  /** For explanations: `route chat_default`, `anthropic:claude-haiku-4-5`. */
  readonly label: string;
  /** Legs with the same value are the targets of one route: a fault of the request that one of them finds ends all of them. */
  readonly group: object;
  readonly strategy: StrategyType;
  readonly candidates: readonly T[];
  readonly breaker: BreakerSettings;
  readonly onExhausted: "error" | "least_bad";
  /** Further attempts at the same target. */
  readonly retries: number;
  /** The same key prefers the same target, as long as that is healthy. */
  readonly stickyKey: string | null;
}

/** How an attempt failed, as far as the plan has to know. docs/routes.md has the table of failures. */
export interface Failure {
  /**
   * `retryable`: the same call may succeed, here or at any other target. `elsewhere`: not here, but at any other target. `request_fault`: the upstream refuses the request itself: only a
   * fallback may take it, and no further target of the same route. `content_policy`: the same, with a list of its own that comes first. `context_length`: at any other target, with a map of its own
   * that comes first. `final`: the call has ended. `refused`: the target was not called at all, because a policy or a limit forbids it: the next one is tried, never this one, and no attempt is counted.
   */
  readonly kind:
    | "retryable"
    | "elsewhere"
    | "request_fault"
    | "context_length"
    | "content_policy"
    | "final"
    | "refused";
  /** What the upstream said to wait. */
  readonly retryAfterMs: number | null;
}

export interface TryStep<T extends Candidate> {
  readonly kind: "try";
  readonly candidate: T;
  readonly leg: Leg<T>;
  readonly waitMs: number;
  readonly why: string;
}

export type Step<T extends Candidate> =
  | TryStep<T>
  /** `no_target`: nothing is healthy and the leg says error, before anything was tried. */
  | { readonly kind: "give_up"; readonly why: "exhausted" | "final" | "deadline" | "no_target" };

export interface PlanInput<T extends Candidate> {
  /** The first is the route or model that was asked for, the others its fallbacks in order. */
  readonly legs: readonly Leg<T>[];
  /** Tried first after `context_length`, for the candidate that failed. Null: there is none for it. */
  contextLeg(candidate: T): Leg<T> | null;
  /** Tried first after `content_policy`, in order: the list of the route that the candidate is served under, which is the same object each time. */
  contentPolicyLegs(candidate: T): readonly Leg<T>[];
  readonly health: Health;
  /** 0 to below 1. */
  readonly random: () => number;
}

export interface Plan<T extends Candidate> {
  /** `failure` is that of the last step; null for the first. `leftMs`: what is left of the deadline. The health must know of the failure already. */
  next(failure: Failure | null, nowMs: number, leftMs: number): Step<T>;
  /**
   * A second attempt beside the one under way: another target of the same leg, which counts as tried then; else the same target, once more than its retries.
   * Null: neither is healthy, or `mayGo` says no to the one chosen, which does not count as tried then. The last step stays the last step: when both have failed, `next` is told the failure of the first.
   */
  second(nowMs: number, mayGo?: (candidate: T) => boolean): TryStep<T> | null;
}

/** What was tried, by the candidate's key and variant: a target that stands in several legs is one. */
interface Tally<T extends Candidate> {
  readonly candidate: T;
  readonly leg: Leg<T>;
  attempts: number;
  /** Never again: what it refused, it will refuse again. */
  isSpent: boolean;
  failedAtMs: number;
  retryAfterMs: number;
  /** Drawn once for each failure; null: not yet. */
  backoffMs: number | null;
}

/** A leg that is to be looked at. */
interface Planned<T extends Candidate> {
  readonly leg: Leg<T>;
  /** What goes before the strategy's words: `fallback 1: route cheap`. */
  readonly prefix: string;
  /** It was looked at before, and another one was put before the rest of it. */
  readonly isResumed: boolean;
}

interface State<T extends Candidate> {
  readonly input: PlanInput<T>;
  readonly tallies: Tally<T>[];
  last: Tally<T> | null;
  attempts: number;
  /** Targets that have refused the request itself. */
  requestFaults: number;
  current: Planned<T> | null;
  /** What is looked at when nothing is left in the current leg, in order. */
  agenda: Planned<T>[];
  /** Legs that were looked at: what was passed over in them may become free. */
  entered: Leg<T>[];
  /** Lists of content policy that are on the agenda, or were. */
  readonly policyLists: Set<readonly Leg<T>[]>;
  end: Step<T> | null;
}

/** A longer wait is the client's to decide, not ours. */
const MAX_WAIT_MS = 10_000;
/** A fault of the request itself is found at so many targets at most. */
const MAX_REQUEST_FAULTS = 3;
const REQUEST_FAULTS: ReadonlySet<Failure["kind"]> = new Set(["request_fault", "context_length", "content_policy"]);

export function createPlan<T extends Candidate>(input: PlanInput<T>): Plan<T> {
  const agenda = input.legs.map((leg, place): Planned<T> => ({
    leg,
    prefix: place === 0 ? "" : `fallback ${place}: ${leg.label}`,
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
    policyLists: new Set(),
    end: null,
  };
  return {
    next: (failure, nowMs, leftMs) =>
      state.end ??
      (failure === null || state.last === null
        ? first(state, nowMs, leftMs)
        : after(state, state.last, failure, nowMs, leftMs)),
    second: (nowMs, mayGo = () => true) =>
      state.end !== null || state.last === null ? null : beside(state, state.last, nowMs, mayGo),
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
      planContextLeg(state, failed);
      break;
    case "content_policy":
      leaveGroup(state, failed.leg.group);
      planPolicyLegs(state, failed);
      break;
    case "request_fault":
      leaveGroup(state, failed.leg.group);
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

/** The leg that the map names goes before the rest of the one in which the conversation was too long. */
function planContextLeg<T extends Candidate>(state: State<T>, failed: Tally<T>): void {
  const leg = state.input.contextLeg(failed.candidate);
  if (leg !== null) planFirst(state, [leg], "context window fallback");
}

function planPolicyLegs<T extends Candidate>(state: State<T>, failed: Tally<T>): void {
  const list = state.input.contentPolicyLegs(failed.candidate);
  if (state.policyLists.has(list)) return;
  state.policyLists.add(list);
  planFirst(state, list, "content policy fallback");
}

/** Before what is left of the current leg, which is taken up again behind them. */
function planFirst<T extends Candidate>(state: State<T>, legs: readonly Leg<T>[], words: string): void {
  if (state.current !== null) state.agenda.unshift({ ...state.current, isResumed: true });
  state.current = null;
  state.agenda.unshift(...legs.map((leg): Planned<T> => ({ leg, prefix: `${words}: ${leg.label}`, isResumed: false })));
}

/** What is left of a route whose target has refused the request itself, repeats included. */
function leaveGroup<T extends Candidate>(state: State<T>, group: object): void {
  const isElsewhere = ({ leg }: Pick<Planned<T>, "leg">): boolean => leg.group !== group;
  state.agenda = state.agenda.filter(isElsewhere);
  state.entered = state.entered.filter((leg) => leg.group !== group);
  if (state.current?.leg.group === group) state.current = null;
  for (const tally of state.tallies) if (tally.leg.group === group) tally.isSpent = true;
}

/** Without a wait, as long as there is another way to go should it fail again. */
function isRepeatedAtOnce<T extends Candidate>(state: State<T>, failed: Tally<T>, nowMs: number): boolean {
  const { health } = state.input;
  return (
    failed.attempts <= failed.leg.retries &&
    failed.retryAfterMs === 0 &&
    health.closedReason(failed.candidate.key, failed.leg.breaker, nowMs) === null &&
    isAnotherLeft(state, nowMs) &&
    health.takeRetry(failed.candidate.upstream, nowMs)
  );
}

function isAnotherLeft<T extends Candidate>(state: State<T>, nowMs: number): boolean {
  if (state.current !== null && hasFree(state, state.current.leg, nowMs)) return true;
  return state.agenda.some((planned) => isEnterable(state, planned, nowMs));
}

function hasFree<T extends Candidate>(state: State<T>, leg: Leg<T>, nowMs: number): boolean {
  return leg.candidates.some((candidate) => isFree(state, leg, candidate, nowMs));
}

function isEnterable<T extends Candidate>(state: State<T>, { leg, isResumed }: Planned<T>, nowMs: number): boolean {
  return !isResumed && leg.onExhausted === "least_bad"
    ? leg.candidates.some((candidate) => tallyOf(state, candidate) === null)
    : hasFree(state, leg, nowMs);
}

function isFree<T extends Candidate>(state: State<T>, leg: Leg<T>, candidate: T, nowMs: number): boolean {
  return (
    tallyOf(state, candidate) === null && state.input.health.closedReason(candidate.key, leg.breaker, nowMs) === null
  );
}

function tallyOf<T extends Candidate>({ tallies }: State<T>, { key, variant }: T): Tally<T> | null {
  for (const tally of tallies) if (tally.candidate.key === key && tally.candidate.variant === variant) return tally;
  return null;
}

/** The next target that was never tried, in this leg or a later one. */
function moveOn<T extends Candidate>(state: State<T>, nowMs: number): Step<T> | null {
  const step = state.current === null ? null : chooseIn(state, state.current.leg, nowMs);
  if (step !== null) return step;
  for (let planned = state.agenda.shift(); planned !== undefined; planned = state.agenda.shift()) {
    const { leg, isResumed } = planned;
    state.current = planned;
    if (!isResumed) state.entered.push(leg);
    // of a leg that was looked at before, what is not healthy was passed over then
    const begun = chooseIn(state, leg, nowMs) ?? (isResumed ? null : leastBadOf(state, leg, nowMs));
    if (begun !== null) return begun;
  }
  return null;
}

function chooseIn<T extends Candidate>(state: State<T>, leg: Leg<T>, nowMs: number): Step<T> | null {
  const choice = chosenIn(state, leg, nowMs);
  return choice === null
    ? null
    : begin(state, leg, choice.candidate, 0, explained(state, leg.candidates.length === 1 ? "" : choice.why));
}

function chosenIn<T extends Candidate>(state: State<T>, leg: Leg<T>, nowMs: number): Choice<T> | null {
  const { health, random } = state.input;
  return choose({
    strategy: leg.strategy,
    stickyKey: leg.stickyKey,
    candidates: leg.candidates,
    isFree: (candidate) => isFree(state, leg, candidate, nowMs),
    health,
    nowMs,
    random,
  });
}

/** Of a leg in which none is healthy: the one that is free first. Only one, for the others are as bad. */
function leastBadOf<T extends Candidate>(state: State<T>, leg: Leg<T>, nowMs: number): Step<T> | null {
  if (leg.onExhausted === "error") return null;
  let best: T | null = null;
  let bestAtMs = Number.POSITIVE_INFINITY;
  for (const each of leg.candidates) {
    if (tallyOf(state, each) !== null) continue;
    const atMs = state.input.health.freeAtMs(each.key, leg.breaker, nowMs);
    if (best !== null && atMs >= bestAtMs) continue;
    best = each;
    bestAtMs = atMs;
  }
  if (best === null) return null;
  const why =
    leg.candidates.length === 1
      ? `${explained(state, "")}, although it is not healthy`
      : explained(state, "least bad: none is healthy, this one is free first");
  return begin(state, leg, best, 0, why);
}

function explained<T extends Candidate>({ current }: State<T>, why: string): string {
  const prefix = current?.prefix ?? "";
  if (why === "") return prefix === "" ? "the only target" : prefix;
  return prefix === "" ? why : `${prefix}, ${why}`;
}

function begin<T extends Candidate>(
  state: State<T>,
  leg: Leg<T>,
  candidate: T,
  waitMs: number,
  why: string,
): TryStep<T> {
  state.last = { candidate, leg, attempts: 1, isSpent: false, failedAtMs: 0, retryAfterMs: 0, backoffMs: null };
  state.tallies.push(state.last);
  state.attempts += 1;
  return { kind: "try", candidate, leg, waitMs, why };
}

function repeat<T extends Candidate>(state: State<T>, tally: Tally<T>, waitMs: number): Step<T> {
  const why = `repeat ${tally.attempts} of ${tally.leg.retries} after retryable failure`;
  tally.attempts += 1;
  state.attempts += 1;
  state.last = tally;
  return { kind: "try", candidate: tally.candidate, leg: tally.leg, waitMs, why };
}

/** Every target was tried or is not healthy: what is worth waiting for, first who is ready first. */
function waitFor<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  let isTooLate = false;
  const waits: {
    readonly waitMs: number;
    readonly tally: Tally<T> | null;
    readonly leg: Leg<T>;
    readonly candidate: T;
  }[] = [];
  const consider = (waitMs: number, tally: Tally<T> | null, leg: Leg<T>, candidate: T): void => {
    if (waitMs > MAX_WAIT_MS) return;
    if (waitMs >= leftMs) isTooLate = true;
    else waits.push({ waitMs, tally, leg, candidate });
  };
  for (const leg of state.entered)
    for (const candidate of leg.candidates)
      if (tallyOf(state, candidate) === null)
        consider(waitOfUntried(state, leg, candidate, nowMs), null, leg, candidate);
  for (const tally of state.tallies)
    if (!tally.isSpent && tally.attempts <= tally.leg.retries)
      consider(waitOfRepeat(state, tally, nowMs), tally, tally.leg, tally.candidate);
  waits.sort((a, b) => a.waitMs - b.waitMs);
  for (const { waitMs, tally, leg, candidate } of waits) {
    if (tally === null) return begin(state, leg, candidate, waitMs, "passed over before, free by then");
    if (state.input.health.takeRetry(candidate.upstream, nowMs)) return repeat(state, tally, waitMs);
  }
  if (isTooLate) return giveUp(state, "deadline");
  return giveUp(state, state.attempts > 0 ? "exhausted" : "final");
}

/** A rate limit ends when it was said to end, which can be waited for; that an upstream works again when its breaker is half-open is a mere hope. */
function waitOfUntried<T extends Candidate>(
  { input: { health } }: State<T>,
  leg: Leg<T>,
  { key }: T,
  nowMs: number,
): number {
  const closed = health.closedReason(key, leg.breaker, nowMs);
  if (closed === null) return 0;
  return closed === "rate_limited" ? health.freeAtMs(key, leg.breaker, nowMs) - nowMs : Number.POSITIVE_INFINITY;
}

function waitOfRepeat<T extends Candidate>(
  { input: { health, random } }: State<T>,
  tally: Tally<T>,
  nowMs: number,
): number {
  tally.backoffMs ??= backoffMs(tally.attempts - 1, random());
  const ownWaitMs = Math.max(0, tally.failedAtMs + Math.max(tally.backoffMs, tally.retryAfterMs) - nowMs);
  const closed = health.closedReason(tally.candidate.key, tally.leg.breaker, nowMs);
  if (closed === "rate_limited")
    return Math.max(ownWaitMs, health.freeAtMs(tally.candidate.key, tally.leg.breaker, nowMs) - nowMs);
  return closed === null || tally.leg.onExhausted === "least_bad" ? ownWaitMs : Number.POSITIVE_INFINITY;
}

function beside<T extends Candidate>(
  state: State<T>,
  last: Tally<T>,
  nowMs: number,
  mayGo: (candidate: T) => boolean,
): TryStep<T> | null {
  const { leg } = last;
  const choice = chosenIn(state, leg, nowMs);
  if (choice !== null) {
    if (!mayGo(choice.candidate)) return null;
    const step = begin(state, leg, choice.candidate, 0, `second attempt: ${choice.why}`);
    state.last!.failedAtMs = nowMs;
    state.last = last;
    return step;
  }
  if (state.input.health.closedReason(last.candidate.key, last.leg.breaker, nowMs) !== null || !mayGo(last.candidate))
    return null;
  state.attempts += 1;
  return { kind: "try", candidate: last.candidate, leg: last.leg, waitMs: 0, why: "second attempt at the same target" };
}
