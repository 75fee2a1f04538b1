// What a plan knows of its call so far: which stages it has begun, which targets it has attempted, and which it may still
// choose.
import type { BlockedReason } from "../health/health.ts";
import type { Candidate, PlanInput, Stage, Step, TryStep } from "./plan-steps.ts";

/** The attempts at one target, by the candidate's key and variant, even if the target is in several stages. */
export interface Tally<T extends Candidate> {
  readonly candidate: T;
  readonly stage: Stage<T>;
  attempts: number;
  /** The target is not attempted again, because it would refuse the request again. */
  isSpent: boolean;
  /** Its last attempt ended by a time limit, so that it is repeated only when no other able target is left. */
  isTooSlow: boolean;
  failedAtMs: number;
  retryAfterMs: number;
  /** Drawn once for each failure; `null` before that. */
  backoffMs: number | null;
}

/** A stage that is still to be attempted. */
export interface Planned<T extends Candidate> {
  readonly stage: Stage<T>;
  /** A prefix for the strategy's explanation, such as `fallback 1: route cheap`. */
  readonly prefix: string;
}

export interface State<T extends Candidate> {
  readonly input: PlanInput<T>;
  readonly tallies: Tally<T>[];
  last: Tally<T> | null;
  /** The target of the second attempt that runs at the same time as the last one; `null` if there is no such attempt. */
  beside: Tally<T> | null;
  attempts: number;
  /** The number of targets that have refused the request itself. */
  requestFaults: number;
  current: Planned<T> | null;
  /** The stages that follow, in order, when nothing is left in the current stage. */
  agenda: Planned<T>[];
  /** Stages that were begun. Targets that were passed over in them may become available, or be the last resort. */
  entered: Planned<T>[];
  /** Content policy lists that are or were on the agenda. */
  readonly policyLists: (readonly Stage<T>[])[];
  end: Step<T> | null;
}

export function giveUp<T extends Candidate>(
  state: State<T>,
  why: "exhausted" | "final" | "deadline" | "no_target",
): Step<T> {
  state.end = { kind: "give_up", why };
  return state.end;
}

export function isFree<T extends Candidate>(state: State<T>, stage: Stage<T>, candidate: T, nowMs: number): boolean {
  return isUntried(state, candidate) && blockedReason(state, stage, candidate, nowMs) === null;
}

export function isUntried<T extends Candidate>(state: State<T>, candidate: T): boolean {
  return candidate.isOffered && tallyOf(state, candidate) === null;
}

export function blockedReason<T extends Candidate>(
  { input }: State<T>,
  { breaker }: Stage<T>,
  { key }: T,
  nowMs: number,
): BlockedReason | null {
  return input.health.blockedReason(key, breaker, nowMs);
}

/** A target that was refused and never called counts as attempted only under the rules that refused it. */
export function tallyOf<T extends Candidate>({ tallies }: State<T>, one: T): Tally<T> | null {
  const found = tallies.find(
    ({ candidate: { key, variant, rules }, attempts }) =>
      key === one.key && variant === one.variant && (attempts > 0 || rules === one.rules),
  );
  return found ?? null;
}

export function explained<T extends Candidate>({ prefix }: Planned<T>, why: string): string {
  if (why === "") return prefix === "" ? "the only target" : prefix;
  return prefix === "" ? why : `${prefix}, ${why}`;
}

export type How = Pick<TryStep<Candidate>, "waitMs" | "why" | "isLastResort">;

export function begin<T extends Candidate>(state: State<T>, stage: Stage<T>, candidate: T, how: How): TryStep<T> {
  state.last = {
    candidate,
    stage,
    attempts: 1,
    isSpent: false,
    isTooSlow: false,
    failedAtMs: 0,
    retryAfterMs: 0,
    backoffMs: null,
  };
  state.tallies.push(state.last);
  state.attempts += 1;
  return { kind: "try", candidate, stage, ...how };
}

/** Attempts the target with another of its credentials. This does not count as a retry. */
export function withOtherCredential<T extends Candidate>(
  state: State<T>,
  tally: Tally<T>,
  isLastResort: boolean,
): Step<T> {
  const { candidate, stage } = tally;
  state.attempts += 1;
  state.last = tally;
  return { kind: "try", candidate, stage, waitMs: 0, why: "with another credential of the provider", isLastResort };
}

export function repeat<T extends Candidate>(state: State<T>, tally: Tally<T>, waitMs: number, nowMs: number): Step<T> {
  const { candidate, stage } = tally;
  const why = `retry ${tally.attempts} of ${stage.retries} after a retryable failure`;
  tally.attempts += 1;
  state.attempts += 1;
  state.last = tally;
  const isLastResort = blockedReason(state, stage, candidate, nowMs) !== null;
  return { kind: "try", candidate, stage, waitMs, why, isLastResort };
}
