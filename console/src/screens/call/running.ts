// Whether a call that is not recorded may still run: its trace id begins with the time at which it arrived.
const TIME_DIGITS = 12;
/** Longer calls are rare, and a page that asks for ever helps nobody. */
const LONGEST_MS = 3_600_000;
/** Clocks of browsers differ from those of servers. */
const AHEAD_MS = 120_000;

/** Milliseconds since 1970; null for what is no id of a call. */
export function arrivalOf(id: string): number | null {
  return /^[0-9a-f]{32}$/.test(id) ? Number.parseInt(id.slice(0, TIME_DIGITS), 16) : null;
}

export function mayRun(id: string, nowMs: number): boolean {
  const arrivedMs = arrivalOf(id);
  return arrivedMs !== null && arrivedMs > nowMs - LONGEST_MS && arrivedMs < nowMs + AHEAD_MS;
}
