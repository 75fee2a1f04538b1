// What the responses of each upstream show about it: breaker, latency, attempts in flight, rate limits and retry
// budget. The state belongs to this process, and callers pass the time in.
import type { BreakerSettings } from "../core/route.ts";
import {
  breakerFreeAtMs,
  countedBy,
  enterBreaker,
  leaveBreaker,
  newBreaker,
  phaseOf,
  probeAnswers,
  type Breaker,
  type Outcome,
} from "./breaker.ts";
import { openKeyedState, type Kept } from "./keyed-state.ts";
import { latencyAt, measure, newLatency, p95Of, type Latency } from "./latency.ts";
import { openRetryBudget } from "./retry-budget.ts";

export type { Outcome } from "./breaker.ts";
export type BlockedReason = "open" | "probing" | "rate_limited";

export interface Health {
  /**
   * Returns `null` when the target may be called. Otherwise the breaker is open, its probe is in flight, or the
   * provider asked to wait.
   */
  blockedReason(key: string, breaker: BreakerSettings, nowMs: number): BlockedReason | null;
  /** Returns the earliest time at which the target may be called again, or `nowMs` when it may be called now. */
  freeAtMs(key: string, breaker: BreakerSettings, nowMs: number): number;
  /**
   * An attempt begins: it counts as in flight, and becomes the probe of a half-open breaker. Returns the number of that
   * probe, which has to be passed to `end`, or 0 when it is no probe.
   */
  begin(key: string, breaker: BreakerSettings, nowMs: number): number;
  /**
   * The attempt received its first content, which settles its latency. A probe thereby succeeds, however long the
   * answer takes. `end` must then not receive `firstContentMs` again.
   */
  answering(key: string, breaker: BreakerSettings, nowMs: number, firstContentMs: number, probe: number): void;
  /**
   * The attempt ended. `firstContentMs` is the time from its beginning to its first content, on success. `retryAfterMs`
   * says after a 429 for how long the target is not called; such an end does not count toward the breaker. `probe` is
   * what `begin` returned; without it, the end of any attempt counts as that of the probe.
   */
  end(
    key: string,
    breaker: BreakerSettings,
    outcome: Outcome,
    nowMs: number,
    observed: { readonly firstContentMs?: number; readonly retryAfterMs?: number; readonly probe?: number },
  ): void;
  /** The number of attempts in flight. */
  inFlight(key: string): number;
  /** Peak EWMA of the time to the first content; `null` when it was never measured. */
  latencyMs(key: string, nowMs: number): number | null;
  /** The age of the last measurement; `null` when there is none. */
  latencyAgeMs(key: string, nowMs: number): number | null;
  /** The 95th percentile of the time to the first content; `null` with too few measurements. */
  p95Ms(key: string): number | null;
  /** A call goes to this upstream. The retry budget is a share of these calls. */
  called(upstream: string, nowMs: number): void;
  /**
   * Takes one retry from the budget and returns true while it has room: 10 % of the calls of the last ten seconds, and
   * at least 3 a second.
   */
  takeRetry(upstream: string, nowMs: number): boolean;
  /** The health of all known targets, for metrics and listings. */
  snapshot(nowMs: number): readonly TargetHealth[];
}

export interface TargetHealth {
  readonly key: string;
  /** The worst state of several breakers. `half_open`: the probe is due or in flight. */
  readonly state: "closed" | "open" | "half_open" | "rate_limited";
  readonly inFlight: number;
  readonly latencyMs: number | null;
  /** Until when the target is not called because of its breaker or a rate limit; `null` when neither applies. */
  readonly openUntilMs: number | null;
}

/**
 * A target stops being called, or is called again. Of several breakers, the first that opens and the last that closes
 * are reported.
 */
export interface BreakerChange {
  readonly key: string;
  readonly state: "opened" | "closed";
  /** The faults and calls of the breaker within its window, and its initial open time. */
  readonly faults: number;
  readonly calls: number;
  readonly windowMs: number;
  readonly openForMs: number;
}

interface KeyHealth extends Kept {
  inFlight: number;
  limitedUntilMs: number;
  latency: Latency | null;
  /**
   * One breaker for each distinct set of settings, so that a route with strict settings does not close the target for
   * other routes. The oldest is removed when there are too many.
   */
  readonly breakers: Breaker[];
}

const MAX_BREAKERS_PER_KEY = 8;
/** The longest time for which a target is not called, whatever the provider asked for. */
const MAX_LIMITED_MS = 24 * 60 * 60_000;

/** `onChange` must not throw. */
export function openHealth(onChange: (change: BreakerChange) => void = () => {}): Health {
  const budget = openRetryBudget();
  const keys = openKeyedState<KeyHealth>({
    create: (nowMs) => ({
      usedMs: nowMs,
      lookedMs: nowMs,
      inFlight: 0,
      limitedUntilMs: Number.NEGATIVE_INFINITY,
      latency: null,
      breakers: [],
    }),
    isBusy: ({ inFlight }) => inFlight > 0,
  });
  const changed = (key: string, { breakers }: KeyHealth, breaker: Breaker, nowMs: number): void => {
    if (breakers.some((other) => other !== breaker && other.isTripped)) return;
    const {
      settings: { windowMs },
      openForMs,
    } = breaker;
    onChange({
      key,
      state: breaker.isTripped ? "opened" : "closed",
      ...countedBy(breaker, nowMs),
      windowMs,
      openForMs,
    });
  };
  return {
    blockedReason(key, settings, nowMs) {
      const kept = keys.find(key);
      if (kept === undefined) return null;
      if (nowMs < kept.limitedUntilMs) return "rate_limited";
      const breaker = breakerOf(kept, settings);
      if (breaker?.isTripped !== true) return null;
      const phase = phaseOf(breaker, nowMs);
      return phase === "open" || phase === "probing" ? phase : null;
    },
    freeAtMs(key, settings, nowMs) {
      const kept = keys.find(key);
      if (kept === undefined) return nowMs;
      const breaker = breakerOf(kept, settings);
      return Math.max(nowMs, kept.limitedUntilMs, breaker === undefined ? nowMs : breakerFreeAtMs(breaker, nowMs));
    },
    begin(key, settings, nowMs) {
      const kept = keys.of(key, nowMs);
      kept.inFlight += 1;
      return enterBreaker(breakerOf(kept, settings) ?? addBreaker(kept, settings), nowMs);
    },
    answering(key, settings, nowMs, firstContentMs, probe) {
      const kept = keys.of(key, nowMs);
      record(kept, firstContentMs, nowMs);
      const breaker = breakerOf(kept, settings);
      if (breaker === undefined) return;
      const was = breaker.isTripped;
      probeAnswers(breaker, probe);
      if (breaker.isTripped !== was) changed(key, kept, breaker, nowMs);
    },
    end(key, settings, outcome, nowMs, { firstContentMs, retryAfterMs, probe }) {
      const kept = keys.of(key, nowMs);
      kept.inFlight = Math.max(0, kept.inFlight - 1);
      if (firstContentMs !== undefined) record(kept, firstContentMs, nowMs);
      if (retryAfterMs !== undefined)
        kept.limitedUntilMs = Math.max(kept.limitedUntilMs, nowMs + Math.min(retryAfterMs, MAX_LIMITED_MS));
      const own = breakerOf(kept, settings) ?? addBreaker(kept, settings);
      for (const breaker of kept.breakers) {
        const was = breaker.isTripped;
        leaveBreaker(breaker, retryAfterMs === undefined ? outcome : "cancelled", nowMs, breaker === own ? probe : 0);
        if (breaker.isTripped !== was) changed(key, kept, breaker, nowMs);
      }
    },
    inFlight: (key) => keys.find(key)?.inFlight ?? 0,
    latencyMs(key, nowMs) {
      const latency = keys.find(key)?.latency ?? null;
      return latency === null ? null : latencyAt(latency, nowMs);
    },
    latencyAgeMs(key, nowMs) {
      const latency = keys.find(key)?.latency ?? null;
      return latency === null ? null : nowMs - latency.measuredAtMs;
    },
    p95Ms(key) {
      const latency = keys.find(key)?.latency ?? null;
      return latency === null ? null : p95Of(latency);
    },
    called: (upstream, nowMs) => budget.called(upstream, nowMs),
    takeRetry: (upstream, nowMs) => budget.take(upstream, nowMs),
    snapshot: (nowMs) => [...keys.entries()].map(([key, kept]) => healthOf(key, kept, nowMs)),
  };
}

function breakerOf({ breakers }: KeyHealth, settings: BreakerSettings): Breaker | undefined {
  for (const breaker of breakers) if (breaker.settings === settings) return breaker;
  // Each snapshot of the configuration has its own objects for equal settings.
  const same = breakers.find(
    ({ settings: { failures, ratio, windowMs, openMs } }) =>
      failures === settings.failures &&
      ratio === settings.ratio &&
      windowMs === settings.windowMs &&
      openMs === settings.openMs,
  );
  if (same !== undefined) same.settings = settings;
  return same;
}

function addBreaker({ breakers }: KeyHealth, settings: BreakerSettings): Breaker {
  if (breakers.length >= MAX_BREAKERS_PER_KEY) breakers.shift();
  const breaker = newBreaker(settings);
  breakers.push(breaker);
  return breaker;
}

function record(kept: KeyHealth, firstContentMs: number, nowMs: number): void {
  if (kept.latency === null) kept.latency = newLatency(firstContentMs, nowMs);
  else measure(kept.latency, firstContentMs, nowMs);
}

function healthOf(key: string, kept: KeyHealth, nowMs: number): TargetHealth {
  const tripped = kept.breakers.filter(({ isTripped }) => isTripped);
  const openUntilMs = Math.max(
    Number.NEGATIVE_INFINITY,
    ...tripped.filter((each) => phaseOf(each, nowMs) === "open").map((each) => each.openUntilMs),
  );
  const isLimited = nowMs < kept.limitedUntilMs;
  const isOpen = openUntilMs > nowMs;
  const closedState = tripped.length > 0 ? "half_open" : "closed";
  const notOpenState = isLimited ? "rate_limited" : closedState;
  return {
    key,
    state: isOpen ? "open" : notOpenState,
    inFlight: kept.inFlight,
    latencyMs: kept.latency === null ? null : latencyAt(kept.latency, nowMs),
    openUntilMs: isOpen || isLimited ? Math.max(openUntilMs, kept.limitedUntilMs) : null,
  };
}
