// Limits how much work guards may do in one go on the thread on which they run. The unit is a step of the pattern
// machine: one instruction applied to one character, some 10 ns. Each thread has its own meter, because a search is
// never interrupted.

/**
 * Thrown when a search would take longer than it may on this thread. Its findings are lost: the search has to start
 * again elsewhere.
 */
export class TooMuchWork extends Error {
  constructor() {
    super("Checking this text takes more work than is allowed at once.");
  }
}

let left = Number.POSITIVE_INFINITY;

/** Throws TooMuchWork. */
export function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw new TooMuchWork();
}

/** Runs work that takes at most this many steps. Throws TooMuchWork when it takes more. */
export function withinWork<T>(steps: number, work: () => T): T {
  const before = left;
  left = Math.min(before, steps);
  const given = left;
  try {
    return work();
  } finally {
    left = before - (given - left);
  }
}
