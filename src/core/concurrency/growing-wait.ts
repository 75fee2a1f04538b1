// How long to wait before the next try of something that fails again and again.

/**
 * Returns the milliseconds to wait after so many failures in a row: none before the first one, then `firstMs`, and twice as
 * long after each further one, up to `longestMs`.
 */
export function growingWaitMs(failures: number, firstMs: number, longestMs: number): number {
  return failures < 1 ? 0 : Math.min(longestMs, firstMs * 2 ** (failures - 1));
}
