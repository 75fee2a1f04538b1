// Work in steps: a generator that yields wherever other calls may get their turn of the event loop, and returns the
// result. The same work is done at once where it is known to be short.
import type { Clock } from "../clock.ts";
import type { CancelSignal } from "./cancellation.ts";
import { yieldToLoop } from "./event-loop.ts";

export type Steps<Result> = Generator<void, Result>;

/** A turn ends at the first step that ends after this time. */
const TURN_MS = 5;

export function inOneTurn<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Rejects with the reason of the signal when that is aborted between two turns. */
export function inTurns<Result>(
  steps: Steps<Result>,
  clock: Pick<Clock, "monotonic">,
  signal: CancelSignal | null = null,
): Promise<Result> {
  return turnByTurn(() => {
    const sinceMs = clock.monotonic();
    let step = steps.next();
    while (step.done !== true && clock.monotonic() - sinceMs < TURN_MS) step = steps.next();
    return step;
  }, signal);
}

/**
 * Calls `oneTurn` in successive turns of the event loop until it is done; `first` is what it has returned in this one.
 * Rejects with the reason of the signal when that is aborted between two turns.
 */
export async function turnByTurn<Result>(
  oneTurn: () => IteratorResult<void, Result>,
  signal: CancelSignal | null = null,
  first: IteratorResult<void, Result> = oneTurn(),
): Promise<Result> {
  for (let step = first; ; step = oneTurn()) {
    if (step.done === true) return step.value;
    await yieldToLoop();
    signal?.throwIfAborted();
  }
}
