// A circuit breaker as data: closed while the upstream works, open after too many of its faults, half-open with exactly one probe at a time.
// Only the upstream's own faults count against it; an answer to a client's mistake is as good as any other.
import type { BreakerSettings } from "../core/route.ts";
import { addTo, clearCount, slidingCount, sumOf, type SlidingCount } from "./sliding-count.ts";

/** How an attempt ended, for the health of its target. `client_fault`: the upstream did its work. */
export type Outcome = "success" | "upstream_fault" | "client_fault" | "cancelled";

/** `half_open`: the next call is the probe. `probing`: it is under way. */
export type BreakerPhase = "closed" | "open" | "half_open" | "probing";

export interface Breaker {
  /** Set anew only to what says the same. */
  settings: BreakerSettings;
  readonly faults: SlidingCount;
  readonly all: SlidingCount;
  isTripped: boolean;
  openUntilMs: number;
  openForMs: number;
  /** 0: none is under way. */
  probe: number;
  probeSinceMs: number;
  lastProbe: number;
}

/** An open time grows up to so many times the first. */
const MAX_OPEN_TIMES = 10;

export function newBreaker(settings: BreakerSettings): Breaker {
  return {
    settings,
    faults: slidingCount(settings.windowMs),
    all: slidingCount(settings.windowMs),
    isTripped: false,
    openUntilMs: 0,
    openForMs: settings.openMs,
    probe: 0,
    probeSinceMs: 0,
    lastProbe: 0,
  };
}

export function phaseOf(breaker: Breaker, nowMs: number): BreakerPhase {
  if (!breaker.isTripped) return "closed";
  if (breaker.probe !== 0) return "probing";
  return nowMs < breaker.openUntilMs ? "open" : "half_open";
}

/** When a call may go out at the earliest. Of a probe under way nobody knows; it is taken to last as long as the breaker was open, and is never over now. */
export function breakerFreeAtMs(breaker: Breaker, nowMs: number): number {
  const phase = phaseOf(breaker, nowMs);
  if (phase === "open") return breaker.openUntilMs;
  return phase === "probing" ? Math.max(nowMs + 1, breaker.probeSinceMs + breaker.openForMs) : nowMs;
}

/** The number of the probe that this call is; 0: an ordinary call. */
export function enterBreaker(breaker: Breaker, nowMs: number): number {
  if (phaseOf(breaker, nowMs) !== "half_open") return 0;
  breaker.lastProbe += 1;
  breaker.probe = breaker.lastProbe;
  breaker.probeSinceMs = nowMs;
  return breaker.probe;
}

/** `probe`: what `enterBreaker` gave; undefined: not known, then any end is taken for that of the probe under way. */
export function leaveBreaker(breaker: Breaker, outcome: Outcome, nowMs: number, probe: number | undefined): void {
  if (!breaker.isTripped) {
    count(breaker, outcome, nowMs);
    return;
  }
  // Calls from before it opened, and calls that went out although it was open, say nothing of how the upstream does now.
  if (breaker.probe === 0 || (probe !== undefined && probe !== breaker.probe)) return;
  if (outcome === "success" || outcome === "client_fault") {
    closeBreaker(breaker);
    return;
  }
  breaker.probe = 0;
  if (outcome === "upstream_fault") {
    breaker.openForMs = Math.min(breaker.openForMs * 2, breaker.settings.openMs * MAX_OPEN_TIMES);
    breaker.openUntilMs = nowMs + breaker.openForMs;
  }
}

/** The probe has its first content: the upstream works, however long the answer goes on. */
export function probeAnswers(breaker: Breaker, probe: number): void {
  if (breaker.isTripped && probe !== 0 && breaker.probe === probe) closeBreaker(breaker);
}

function closeBreaker(breaker: Breaker): void {
  breaker.isTripped = false;
  breaker.probe = 0;
  breaker.openForMs = breaker.settings.openMs;
  clearCount(breaker.faults);
  clearCount(breaker.all);
}

/** What it has counted within its window. */
export function countedBy(
  { faults, all }: Breaker,
  nowMs: number,
): { readonly faults: number; readonly calls: number } {
  return { faults: sumOf(faults, nowMs), calls: sumOf(all, nowMs) };
}

function count(breaker: Breaker, outcome: Outcome, nowMs: number): void {
  if (outcome === "cancelled") return;
  addTo(breaker.all, nowMs);
  if (outcome !== "upstream_fault") return;
  addTo(breaker.faults, nowMs);
  const faults = sumOf(breaker.faults, nowMs);
  if (faults < breaker.settings.failures || faults < breaker.settings.ratio * sumOf(breaker.all, nowMs)) return;
  breaker.isTripped = true;
  breaker.openForMs = breaker.settings.openMs;
  breaker.openUntilMs = nowMs + breaker.openForMs;
}
