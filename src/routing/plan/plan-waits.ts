// What a plan does when no able target is left that it has not attempted: it waits for one, repeats an attempt after a
// backoff, or attempts a target that is known to be unable.

// Decides (targets and attempts): What if no target of a route is able? By: `lastResort`. Rule: With `on_exhausted:
// least_bad`, which is the default, the target that becomes able first is attempted all the same, after the able
// fallbacks; with `error` the call fails with `no_target_available`.
// Decides (targets and attempts): How long does the gateway wait when a provider sends `retry-after`? By: `waitFor`,
// `MAX_WAIT_MS` for the call. Also: `routing/health/health.ts` (`MAX_LIMITED_MS`) for the target after a 429. Rule: A
// call waits at most 10 s, and only where no other able target is left; after a longer time it fails at once. The
// target rests at most 24 h; of several keys, each rests by itself.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import type { BlockedReason } from "../health/health.ts";
import {
  begin,
  blockedReason,
  explained,
  giveUp,
  type How,
  isUntried,
  type Planned,
  repeat,
  type State,
  type Tally,
  tallyOf,
} from "./plan-state.ts";
import type { Candidate, Stage, Step } from "./plan-steps.ts";

/** The client should decide about longer waits. */
const MAX_WAIT_MS = 10_000;

/**
 * When no able target is left: of the stages in which none was, returns the target that becomes available first. Only
 * one of a stage is attempted, because no other one of it is able either.
 */
export function lastResort<T extends Candidate>(state: State<T>, nowMs: number): Step<T> | null {
  let best: { readonly planned: Planned<T>; readonly candidate: T; readonly waitMs: number } | null = null;
  for (const planned of state.entered) {
    const { stage } = planned;
    if (stage.onExhausted === "error" || stage.candidates.some((each) => (tallyOf(state, each)?.attempts ?? 0) > 0))
      continue;
    for (const candidate of stage.candidates) {
      if (!isUntried(state, candidate)) continue;
      const waitMs = freeInMs(state, stage, candidate, nowMs);
      if (best === null || waitMs < best.waitMs) best = { planned, candidate, waitMs };
    }
  }
  if (best === null) return null;
  const { planned, candidate } = best;
  const why =
    planned.stage.candidates.length === 1
      ? `${explained(planned, "")}, although it is not healthy`
      : explained(planned, "no target is healthy; this one is available first");
  return begin(state, planned.stage, candidate, { waitMs: 0, why, isLastResort: true });
}

interface Wait<T extends Candidate> {
  readonly waitMs: number;
  /** A target of lower rank comes first: able, too slow before, unable by then. */
  readonly rank: 0 | 1 | 2;
  /** Makes the step; `null` when the retry budget has no room. */
  readonly step: () => Step<T> | null;
}

/**
 * Every able target was attempted: waits for the one that is available first, if that is worth while. The last resort
 * comes before what would still be unable then.
 */
export function waitFor<T extends Candidate>(state: State<T>, nowMs: number, leftMs: number): Step<T> {
  const waits = [...waitsOfUntried(state, nowMs), ...waitsOfRepeats(state, nowMs)]
    .filter(({ waitMs }) => waitMs <= MAX_WAIT_MS)
    .toSorted((a, b) => a.rank - b.rank || a.waitMs - b.waitMs);
  const inTime = waits.filter(({ waitMs }) => waitMs < leftMs);
  const soonest = (isAble: boolean): Step<T> | null => {
    for (const { rank, step } of inTime) {
      const made = rank < 2 === isAble ? step() : null;
      if (made !== null) return made;
    }
    return null;
  };
  const step = soonest(true) ?? lastResort(state, nowMs) ?? soonest(false);
  if (step !== null) return step;
  if (inTime.length < waits.length) return giveUp(state, "deadline");
  return giveUp(state, state.attempts > 0 ? "exhausted" : "final");
}

function* waitsOfUntried<T extends Candidate>(state: State<T>, nowMs: number): Generator<Wait<T>> {
  for (const { stage } of state.entered)
    for (const candidate of stage.candidates) {
      if (!isUntried(state, candidate)) continue;
      const waitMs = waitOfUntried(state, stage, candidate, nowMs);
      const how: How = { waitMs, why: "skipped before, available by then", isLastResort: waitMs > 0 };
      yield { waitMs, rank: 0, step: () => begin(state, stage, candidate, how) };
    }
}

function* waitsOfRepeats<T extends Candidate>(state: State<T>, nowMs: number): Generator<Wait<T>> {
  const { health } = state.input;
  for (const tally of state.tallies) {
    const { candidate, stage } = tally;
    if (tally.isSpent || tally.attempts > stage.retries) continue;
    const blocked = blockedReason(state, stage, candidate, nowMs);
    const waitMs = waitOfRepeat(state, tally, blocked, nowMs);
    yield {
      waitMs,
      rank: blocked === "open" || blocked === "probing" ? 2 : tally.isTooSlow ? 1 : 0,
      step: () => (health.takeRetry(candidate.upstream, nowMs) ? repeat(state, tally, waitMs, nowMs) : null),
    };
  }
}

/**
 * A rate limit ends at a known time, which is worth waiting for; it is uncertain whether an upstream works when its
 * breaker becomes half-open.
 */
function waitOfUntried<T extends Candidate>(state: State<T>, stage: Stage<T>, candidate: T, nowMs: number): number {
  const blocked = blockedReason(state, stage, candidate, nowMs);
  if (blocked === null) return 0;
  return blocked === "rate_limited" ? freeInMs(state, stage, candidate, nowMs) : Number.POSITIVE_INFINITY;
}

function waitOfRepeat<T extends Candidate>(
  state: State<T>,
  tally: Tally<T>,
  blocked: BlockedReason | null,
  nowMs: number,
): number {
  const { candidate, stage } = tally;
  tally.backoffMs ??= backoffMs(tally.attempts - 1, state.input.random());
  const ownWaitMs = Math.max(0, tally.failedAtMs + Math.max(tally.backoffMs, tally.retryAfterMs) - nowMs);
  if (blocked === "rate_limited") return Math.max(ownWaitMs, freeInMs(state, stage, candidate, nowMs));
  return blocked === null || stage.onExhausted === "least_bad" ? ownWaitMs : Number.POSITIVE_INFINITY;
}

function freeInMs<T extends Candidate>(
  { input: { health } }: State<T>,
  { breaker }: Stage<T>,
  { key }: T,
  nowMs: number,
): number {
  return health.freeAtMs(key, breaker, nowMs) - nowMs;
}

const BASE_MS = 250;
const CAP_MS = 8_000;

/**
 * How long to wait before the same target is attempted again: exponential backoff with full jitter ("Exponential Backoff
 * And Jitter", AWS Architecture Blog), so that calls which failed together do not retry together. `retry` is 0 for the
 * first one; `chance` is at least 0 and below 1.
 */
export function backoffMs(retry: number, chance: number): number {
  return chance * growingWaitMs(retry + 1, BASE_MS, CAP_MS);
}
