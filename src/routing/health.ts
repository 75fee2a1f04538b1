// What is known of each upstream from its answers: breaker, latency, calls under way, rate limits, retry budget. State of this process, with the time handed in.
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
export type ClosedReason = "open" | "probing" | "rate_limited";

export interface Health {
  /** Null: it may be called. Else why not: the breaker is open, its probe is under way, or it said when to come back. */
  closedReason(key: string, breaker: BreakerSettings, nowMs: number): ClosedReason | null;
  /** When it may be called again at the earliest; `nowMs` when it may now. */
  freeAtMs(key: string, breaker: BreakerSettings, nowMs: number): number;
  /** An attempt begins: counts among those under way, and takes the probe of a half-open breaker. Gives the number of that probe, which `end` wants to know; 0: it is none. */
  begin(key: string, breaker: BreakerSettings, nowMs: number): number;
  /** Its first content came: the latency is known now, and a probe has done its work, however long the answer goes on. `end` is then told no `firstContentMs` again. */
  answering(key: string, breaker: BreakerSettings, nowMs: number, firstContentMs: number, probe: number): void;
  /**
   * It ended. `firstContentMs`: from its beginning to its first content, on success. `retryAfterMs`: of a 429, until when it is left alone; such an end does not
   * count toward the breaker. `probe`: what `begin` gave; without it the end of any attempt is taken for that of the probe.
   */
  end(
    key: string,
    breaker: BreakerSettings,
    outcome: Outcome,
    nowMs: number,
    told: { readonly firstContentMs?: number; readonly retryAfterMs?: number; readonly probe?: number },
  ): void;
  /** Calls under way. */
  inFlight(key: string): number;
  /** Peak EWMA of the time to the first content; null: never measured. */
  latencyMs(key: string, nowMs: number): number | null;
  /** How long ago that was last measured; null: never. */
  latencyAgeMs(key: string, nowMs: number): number | null;
  /** 95th percentile of the time to the first content; null: too few measured. */
  p95Ms(key: string): number | null;
  /** A call goes out to this upstream: what the retry budget is a share of. */
  called(upstream: string, nowMs: number): void;
  /** True, and takes one, while the budget of repeats has room: 10 % of calls over the last ten seconds, at least 3 a second. */
  takeRetry(upstream: string, nowMs: number): boolean;
  /** Everything that is kept, for metrics and listings. */
  snapshot(nowMs: number): readonly TargetHealth[];
}

export interface TargetHealth {
  readonly key: string;
  /** Of several breakers the worst. `half_open`: the probe is due or under way. */
  readonly state: "closed" | "open" | "half_open" | "rate_limited";
  readonly inFlight: number;
  readonly latencyMs: number | null;
  /** Until when it is open or left alone; null: it is neither. */
  readonly openUntilMs: number | null;
}

/** A target that was called is left alone from now on, or called again: of several breakers the first that opens, and the last that closes. */
export interface BreakerChange {
  readonly key: string;
  readonly state: "opened" | "closed";
  /** Of the breaker that opened: its faults and calls within its window, and for how long it is open at first. */
  readonly faults: number;
  readonly calls: number;
  readonly windowMs: number;
  readonly openForMs: number;
}

interface KeyHealth extends Kept {
  inFlight: number;
  limitedUntilMs: number;
  latency: Latency | null;
  /** One for each route's settings, so that a strict route closes nobody else's way; the first ones make room when there are too many. */
  readonly breakers: Breaker[];
}

const MAX_BREAKERS_PER_KEY = 8;
/** After so long it is asked again, whatever it said. */
const MAX_LIMITED_MS = 24 * 60 * 60_000;

/** `onChange` never throws. */
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
    closedReason(key, settings, nowMs) {
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
    snapshot: (nowMs) => [...keys.entries()].map(([key, kept]) => standing(key, kept, nowMs)),
  };
}

function breakerOf({ breakers }: KeyHealth, settings: BreakerSettings): Breaker | undefined {
  for (const breaker of breakers) if (breaker.settings === settings) return breaker;
  // Each snapshot of the configuration has objects of its own for the same words.
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

function standing(key: string, kept: KeyHealth, nowMs: number): TargetHealth {
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
