// The range of time of a screen: one of the usual lengths up to now, which stays relative in the URL, or two moments.
export const RANGES: Readonly<Record<string, { readonly ms: number; readonly label: string }>> = {
  "15m": { ms: 900_000, label: "15 min" },
  "1h": { ms: 3_600_000, label: "1 h" },
  "24h": { ms: 86_400_000, label: "24 h" },
  "7d": { ms: 604_800_000, label: "7 days" },
  "30d": { ms: 2_592_000_000, label: "30 days" },
};
export const DEFAULT_RANGE = "24h";

export interface TimeRange {
  readonly fromMs: number;
  /** Null when the range reaches up to the present. */
  readonly toMs: number | null;
  /** The name of a relative range. */
  readonly name: string | null;
}

export function rangeOf(read: (name: string) => string | null, nowMs: number): TimeRange {
  const [fromMs, toMs] = [Date.parse(read("from") ?? ""), Date.parse(read("to") ?? "")];
  if (fromMs < toMs) return { fromMs, toMs, name: null };
  const name = read("range") ?? DEFAULT_RANGE;
  const known = Object.hasOwn(RANGES, name) ? name : DEFAULT_RANGE;
  return { fromMs: nowMs - RANGES[known]!.ms, toMs: null, name: known };
}
