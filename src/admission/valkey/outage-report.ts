// Tracks whether the limit store can be reached, and decides when a change is reported. An outage for one tenant is
// reported even if others still reach their node, and a store that keeps failing and recovering does not fill the log.

export interface OutageReportOptions {
  readonly now: () => number;
  readonly onState: (state: "away" | "back", error: unknown) => void;
}

/** The least time between two reports of an outage, and the interval of reminders while it lasts. */
const QUIET_MS = 5000;
const REMIND_MS = 60_000;

export function openOutageReport({ now, onState }: OutageReportOptions) {
  const lostTags = new Set<string>();
  let away: { readonly sinceMs: number; readonly error: unknown } | null = null;
  let isReported = false;
  let reportedMs = Number.NEGATIVE_INFINITY;
  return {
    answered(tag: string): void {
      if (away === null || !lostTags.delete(tag) || lostTags.size > 0) return;
      away = null;
      if (isReported) onState("back", null);
      isReported = false;
    },
    failed(tag: string, error: unknown): void {
      const nowMs = now();
      lostTags.add(tag);
      away = { sinceMs: away?.sinceMs ?? nowMs, error };
      if (nowMs - reportedMs < (isReported ? REMIND_MS : QUIET_MS)) return;
      isReported = true;
      reportedMs = nowMs;
      onState("away", error);
    },
    /** `null` while every message is answered. */
    outage: () => away,
  };
}
