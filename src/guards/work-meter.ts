// Limits how much work guards may do in one go on the thread on which they run. The unit is a step of the pattern
// machine: one instruction applied to one character, some 10 ns. Each thread has its own meter, because a search is
// never interrupted.

/**
 * Thrown when a search would take longer than it may on this thread. Its findings are lost: the search has to start
 * again elsewhere.
 */
class TooMuchWork extends Error {
  constructor() {
    super("Checking this text takes more work than is allowed at once.");
  }
}

/** The steps that may still be taken; outside of all work more than a thread ever takes. */
let left = Number.MAX_SAFE_INTEGER;

/** Counts steps. Ends the work in whose bound they do not fit. */
export function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw new TooMuchWork();
}

/**
 * Returns the result of `work`, or of `tooMuch` when the work takes more than this many steps. Work within other work
 * ends both when the bound of the other is reached.
 */
export function withinWork<T, U>(steps: number, work: () => T, tooMuch: () => U): T | U {
  const before = left;
  const given = Math.min(before, steps);
  left = given;
  try {
    return work();
  } catch (thrown) {
    const taken = given - left;
    if (!(thrown instanceof TooMuchWork) || taken > before) throw thrown;
  } finally {
    left = before - (given - left);
  }
  return tooMuch();
}

/** Returns how many steps the work took. */
export function stepsOf(work: () => unknown): number {
  const before = left;
  work();
  return before - left;
}
