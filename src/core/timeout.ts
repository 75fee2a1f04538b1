// Bounds for work that may never settle. This is the only file of core/ with a timer.

/**
 * Settles as `work` does, or rejects with `late()` after `timeoutMs` milliseconds. The work itself continues; its
 * outcome is ignored from then on, even a rejection.
 */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  const settled = await within(work, timeoutMs);
  if (settled === LATE) throw late();
  return settled;
}

/** What `within` resolves with when the time is over. */
export const LATE = Symbol("late");

/**
 * Settles as `work` does, or resolves with `LATE` after `timeoutMs` milliseconds. The work itself continues; its
 * outcome is ignored from then on, even a rejection.
 */
export async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | typeof LATE> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<typeof LATE>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, LATE);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
