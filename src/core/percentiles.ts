// The middle and the slow end of some values.

export interface Percentiles {
  readonly p50: number | null;
  readonly p95: number | null;
}

/** Rounded; `null` where there is no value. Values that are `null` do not count. */
export function percentilesOf(values: readonly (number | null)[]): Percentiles {
  const sorted = values.filter((value) => value !== null).toSorted((a, b) => a - b);
  const at = (share: number): number | null =>
    sorted.length === 0 ? null : Math.round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return { p50: at(0.5), p95: at(0.95) };
}
