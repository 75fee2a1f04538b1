// A circuit breaker as data: closed while the upstream works, open after too many of its faults, and half-open with
// exactly one probe at a time. Only the upstream's own faults count against it; a correct response to a client's
// mistake counts as a success.

// Decides (targets and attempts): When does a circuit breaker open and close? By: `leaveBreaker`, `probeAnswers`. Also:
// called by `health.ts`. Rule: Enough failures and a large enough share within the window open it; a successful probe
// closes it, a failed one doubles the time, to at most 60 s, or to `open_ms` where that is longer. The workers of one
// machine tell one another; other gateways learn nothing. A 429 with `retry-after` does not count. What an attempt that
// was given up means: `routing/plan/verdict.ts` (`outcomeAfter`), `routing/health/health.ts` (`patienceMs`).
import type { BreakerSettings } from "../../core/configured/route.ts";
import type { BreakerNews } from "./health-news.ts";
import { IDLE_MS } from "./keyed-state.ts";
import { addTo, clearCount, slidingCount, sumOf, type SlidingCount } from "./sliding-count.ts";

/** How an attempt ended, for the health of its target. `client_fault` means that the upstream worked as it should. */
export type Outcome = "success" | "upstream_fault" | "client_fault" | "cancelled";

/** `half_open`: the next attempt is the probe. `probing`: the probe is in flight. */
export type BreakerPhase = "closed" | "open" | "half_open" | "probing";

export interface Breaker {
  /** Only ever replaced by settings with the same values. */
  settings: BreakerSettings;
  readonly faults: SlidingCount;
  readonly all: SlidingCount;
  isTripped: boolean;
  openUntilMs: number;
  openForMs: number;
  /** The number of the probe in flight; 0 when no probe is in flight, and ELSEWHERE for a probe of another process. */
  probe: number;
  probeSinceMs: number;
  lastProbe: number;
  /** The latest probe that closed the breaker with its first content, and how long the breaker was open before it; `null` when there was none. */
  answered: { readonly probe: number; readonly openForMs: number } | null;
}

/** The open time grows up to this, unless its initial value is longer. */
const MAX_GROWN_OPEN_MS = 60_000;

const ELSEWHERE = -1;

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
    answered: null,
  };
}

export function phaseOf(breaker: Breaker, nowMs: number): BreakerPhase {
  if (!breaker.isTripped) return "closed";
  if (breaker.probe !== 0) return "probing";
  return nowMs < breaker.openUntilMs ? "open" : "half_open";
}

/**
 * Returns the earliest time at which an attempt may start. The duration of a probe in flight is unknown; it is assumed
 * to be the time that the breaker was open, and to end no earlier than the next millisecond.
 */
export function breakerFreeAtMs(breaker: Breaker, nowMs: number): number {
  const phase = phaseOf(breaker, nowMs);
  if (phase === "open") return breaker.openUntilMs;
  return phase === "probing" ? Math.max(nowMs + 1, breaker.probeSinceMs + breaker.openForMs) : nowMs;
}

/**
 * Whether it has waited for its probe so long that no route has its settings any more, or none that is called: its state
 * would never change again.
 */
export function isAbandoned({ isTripped, probe, openUntilMs }: Breaker, nowMs: number): boolean {
  return isTripped && probe === 0 && nowMs - openUntilMs >= IDLE_MS;
}

/** Returns the number of the probe that this attempt becomes, or 0 for an ordinary attempt. */
export function enterBreaker(breaker: Breaker, nowMs: number): number {
  if (phaseOf(breaker, nowMs) !== "half_open") return 0;
  breaker.lastProbe += 1;
  breaker.probe = breaker.lastProbe;
  breaker.probeSinceMs = nowMs;
  return breaker.probe;
}

/** `probe` is what `enterBreaker` returned. When it is undefined, any end counts as that of the probe in flight. */
export function leaveBreaker(breaker: Breaker, outcome: Outcome, nowMs: number, probe: number | undefined): void {
  if (!breaker.isTripped) {
    const { answered } = breaker;
    // An upstream that begins its answers and breaks them off does not work.
    if (outcome === "upstream_fault" && answered !== null && probe === answered.probe)
      reopen(breaker, answered.openForMs, nowMs);
    else count(breaker, outcome, nowMs);
    return;
  }
  // Attempts that began before the breaker opened, or although it was open, say nothing about the upstream's present
  // state.
  if (breaker.probe === 0 || (probe !== undefined && probe !== breaker.probe)) return;
  if (outcome === "success" || outcome === "client_fault") {
    closeBreaker(breaker);
    return;
  }
  breaker.probe = 0;
  if (outcome === "upstream_fault") reopen(breaker, breaker.openForMs, nowMs);
}

/** After a probe that failed: twice as long as before. */
function reopen(breaker: Breaker, openForMs: number, nowMs: number): void {
  breaker.isTripped = true;
  breaker.answered = null;
  breaker.openForMs = Math.min(openForMs * 2, Math.max(MAX_GROWN_OPEN_MS, breaker.settings.openMs));
  breaker.openUntilMs = nowMs + breaker.openForMs;
}

/** The probe has received its first content, so that the upstream works unless it breaks off the answer, however long that takes. */
export function probeAnswers(breaker: Breaker, probe: number): void {
  if (!breaker.isTripped || probe === 0 || breaker.probe !== probe) return;
  const { openForMs } = breaker;
  closeBreaker(breaker);
  breaker.answered = { probe, openForMs };
}

/** Counts attempts of another process, which together with those of this one may open the breaker. */
export function countElsewhere(
  breaker: Breaker,
  { calls, faults }: { readonly calls: number; readonly faults: number },
  nowMs: number,
): void {
  if (breaker.isTripped) return;
  addTo(breaker.all, nowMs, calls);
  if (faults === 0) return;
  addTo(breaker.faults, nowMs, faults);
  judge(breaker, nowMs);
}

/** Takes over what another process reports of its breaker. */
export function takeBreakerNews(breaker: Breaker, { state, leftMs, openForMs }: BreakerNews, nowMs: number): void {
  if (state === "closed") {
    if (breaker.isTripped) closeBreaker(breaker);
    return;
  }
  if (state === "open") {
    breaker.openForMs = openForMs;
    breaker.openUntilMs = nowMs + leftMs;
  } else if (!breaker.isTripped) breaker.openUntilMs = nowMs;
  breaker.isTripped = true;
  // A probe of this process continues, and its end counts.
  if (breaker.probe > 0) return;
  breaker.probe = state === "probing" ? ELSEWHERE : 0;
  breaker.probeSinceMs = nowMs;
}

/** Forgets everything: another upstream is called from now on. */
export function renewBreaker(breaker: Breaker): void {
  closeBreaker(breaker);
  breaker.answered = null;
}

function closeBreaker(breaker: Breaker): void {
  breaker.isTripped = false;
  breaker.probe = 0;
  breaker.openForMs = breaker.settings.openMs;
  clearCount(breaker.faults);
  clearCount(breaker.all);
}

/** What the breaker has counted within its window. */
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
  judge(breaker, nowMs);
}

/** Opens the breaker when there are too many faults. */
function judge(breaker: Breaker, nowMs: number): void {
  const faults = sumOf(breaker.faults, nowMs);
  if (faults < breaker.settings.failures || faults < breaker.settings.ratio * sumOf(breaker.all, nowMs)) return;
  breaker.isTripped = true;
  breaker.openForMs = breaker.settings.openMs;
  breaker.openUntilMs = nowMs + breaker.openForMs;
}
