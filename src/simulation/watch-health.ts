// Records what happens to the health of targets during a simulation: when a breaker opens, is probed and closes, and
// which targets are avoided because of a rate limit.
import type { Health } from "../routing/health/health.ts";

export interface HealthEvent {
  readonly atMs: number;
  readonly target: string;
  readonly what: "opened" | "probed" | "closed" | "rate_limited";
  /** For `opened` and `rate_limited`: the time until which the target is avoided. */
  readonly untilMs: number | null;
}

export type HealthWatch = ReturnType<typeof watchHealth>;

interface Standing {
  isTripped: boolean;
  untilMs: number;
}

export function watchHealth(health: Health) {
  const events: HealthEvent[] = [];
  const standings = new Map<string, Standing>();
  return {
    events,
    /** Called after every change. `probe` is the value that `begin` returned. */
    check(key: string, nowMs: number, probe = 0): void {
      const now = health.snapshot(nowMs).find((each) => each.key === key);
      if (now === undefined) return;
      const before = standings.get(key) ?? { isTripped: false, untilMs: Number.NEGATIVE_INFINITY };
      standings.set(key, before);
      const tell = (what: HealthEvent["what"], untilMs: number | null = null): void =>
        void events.push({ atMs: nowMs, target: key, what, untilMs });
      if (probe !== 0) tell("probed");
      if (
        (now.state === "open" || now.state === "rate_limited") &&
        now.openUntilMs !== null &&
        now.openUntilMs > before.untilMs
      ) {
        tell(now.state === "open" ? "opened" : "rate_limited", now.openUntilMs);
        before.untilMs = now.openUntilMs;
        before.isTripped ||= now.state === "open";
      }
      if (before.isTripped && now.state === "closed") {
        tell("closed");
        before.isTripped = false;
      }
    },
  };
}
