// Runs the steps of a search in the serving thread: at once as long as they take little, and otherwise in several turns
// of the event loop, so that other calls have theirs in between.
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { type Steps, turnByTurn } from "../../core/concurrency/steps.ts";
import { systemClock } from "../../core/clock.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { stepsOf } from "../../guards/work-meter.ts";

/** The most steps of the pattern machine that are taken in the serving thread in one go: some 2 ms. */
export const STEPS_HERE = 150_000;
/** What a step of the search costs besides the steps of the pattern machine, in these: some 5 µs. */
const STEPS_BESIDE = 500;

/**
 * Returns what `search` returns, or a promise if that takes long. `search` gets the working time that it has taken, in
 * milliseconds. Rejects with the reason of the signal when that is aborted between two turns.
 */
export function searchInTurns<T>(
  signal: CancelSignal | null,
  search: (spentMs: () => number) => Steps<T>,
): MaybePromise<T> {
  let spentMs = 0;
  let startedMs = 0;
  const steps = search(() => spentMs + systemClock.monotonic() - startedMs);
  const oneTurn = (): IteratorResult<void, T> => {
    startedMs = systemClock.monotonic();
    let step!: IteratorResult<void, T>;
    const next = (): void => void (step = steps.next());
    for (let taken = 0; taken < STEPS_HERE;) {
      taken += STEPS_BESIDE + stepsOf(next);
      if (step.done === true) break;
    }
    spentMs += systemClock.monotonic() - startedMs;
    return step;
  };
  const first = oneTurn();
  return first.done === true ? first.value : turnByTurn(oneTurn, signal, first);
}
