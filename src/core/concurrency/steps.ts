// Work in steps: a generator that yields wherever other calls may get their turn of the event loop, and returns the
// result. The same work is done at once where it is known to be short.
import type { Clock } from "../clock.ts";
import { yieldToLoop } from "./event-loop.ts";

export type Steps<Result> = Generator<void, Result>;

/** A turn ends at the first step that ends after this time. */
const TURN_MS = 5;

export function inOneTurn<Result>(steps: Steps<Result>): Result {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

export async function inTurns<Result>(steps: Steps<Result>, { monotonic }: Pick<Clock, "monotonic">): Promise<Result> {
  let sinceMs = monotonic();
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (monotonic() - sinceMs < TURN_MS) continue;
    await yieldToLoop();
    sinceMs = monotonic();
  }
}
