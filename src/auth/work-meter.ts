// How much work guards may do at once on the thread on which they run. The unit is a step of the machine that runs patterns: one instruction that is looked at for one
// character, some 10 ns. Each thread has a meter of its own, because a look is never interrupted.

/** Thrown out of a look that would take longer than it may here. What had been found is lost: it is to be looked at elsewhere, from the beginning. */
export class TooMuchWork extends Error {
  constructor() {
    super("Looking at this text takes more work than may be done at once.");
  }
}

let left = Number.POSITIVE_INFINITY;

/** Throws TooMuchWork. */
export function spend(steps: number): void {
  left -= steps;
  if (left < 0) throw new TooMuchWork();
}

/** Does what takes at most so many steps. Throws TooMuchWork for what takes more. */
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
