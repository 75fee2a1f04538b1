// A bound for work that may never settle.

/**
 * Settles as `work` does, or rejects with `late()` after `timeoutMs` milliseconds. The work itself goes on; its outcome is ignored from then on, a rejection included.
 */
export async function withTimeout<T>(work: Promise<T>, timeoutMs: number, late: () => Error): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), timeoutMs);
  });
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}
