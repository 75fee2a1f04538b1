// What the responses of each upstream show about it: breaker, latency, attempts in flight, rate limits and retry
// budget. The state belongs to this process, which may exchange news with the other processes of the machine
// (health-news.ts); callers pass the time in.
import type { BreakerSettings } from "../../core/configured/route.ts";
import {
  breakerFreeAtMs,
  countedBy,
  countElsewhere,
  enterBreaker,
  isAbandoned,
  leaveBreaker,
  newBreaker,
  phaseOf,
  probeAnswers,
  renewBreaker,
  takeBreakerNews,
  type Breaker,
  type Outcome,
} from "./breaker.ts";
import type { BreakerNews, CollectedNews, CountNews, HealthNews, TargetNews } from "./health-news.ts";
import { openKeyedState, type Kept } from "./keyed-state.ts";
import { latencyAt, measure, newLatency, p95Of, type Latency } from "./latency.ts";
import { openRetryBudget } from "./retry-budget.ts";
import { isShownBreaker, tenantOfKey } from "./target-key.ts";

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
   * The attempt received its first content, which decides its latency. A probe thereby succeeds, however long the
   * answer takes. `firstByteMs` is the time to the head of the response, where it came earlier.
   */
  answering(
    key: string,
    breaker: BreakerSettings,
    nowMs: number,
    firstContentMs: number,
    probe: number,
    firstByteMs?: number,
  ): void;
  /**
   * The attempt ended. `retryAfterMs` says after a 429 for how long the target is not called; such an end does not count
   * toward the breaker. `probe` is what `begin` returned; without it, the end of any attempt counts as that of the probe.
   */
  end(
    key: string,
    breaker: BreakerSettings,
    outcome: Outcome,
    nowMs: number,
    observed: { readonly retryAfterMs?: number; readonly probe?: number },
  ): void;
  /** The number of attempts in flight. */
  inFlight(key: string): number;
  /** Peak EWMA of the time to the first content; `null` when it was never measured. */
  latencyMs(key: string, nowMs: number): number | null;
  /** The age of the last measurement; `null` when there is none. */
  latencyAgeMs(key: string, nowMs: number): number | null;
  /** The 95th percentile of the time to the first content; `null` with too few measurements. */
  p95Ms(key: string): number | null;
  /**
   * How long the target may be silent before that is unusual (promise 7.9): three times the 95th percentile of the time
   * to the first byte, and at least 1 s; 10 s where nothing is known.
   */
  patienceMs(key: string): number;
  /** A call goes to this upstream. The retry budget is a share of these calls. */
  called(upstream: string, nowMs: number): void;
  /**
   * Takes one retry from the budget and returns true while it has room: 10 % of the calls of the last ten seconds, and
   * at least 3 a second.
   */
  takeRetry(upstream: string, nowMs: number): boolean;
  /** Forgets what is known of the targets whose keys are renewed, because another upstream is called there from now on. */
  renew(isRenewed: (key: string) => boolean, nowMs: number): void;
  /** The health of all known targets, for metrics and listings. */
  snapshot(nowMs: number): readonly TargetHealth[];
}

export interface OpenHealth extends Health {
  /** Takes over what other processes have seen. */
  learn(news: HealthNews, nowMs: number): void;
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
  /** Of the time to the first byte. */
  firstBytes: Latency | null;
  /**
   * One breaker for each distinct set of settings, so that a route with strict settings does not keep the calls of other
   * routes away from the target. There is a bound for those of each tenant and of operators, and one for all of them.
   */
  readonly breakers: Breaker[];
}

const MAX_BREAKERS_OF_OWNER = 8;
const MAX_BREAKERS_PER_KEY = 64;
/** The longest time for which a target is not called, whatever the provider asked for. */
const MAX_LIMITED_MS = 24 * 60 * 60_000;
/** When the silence of a target is unusual. */
const UNUSUAL_TIMES = 3;
const MIN_PATIENCE_MS = 1_000;
const PATIENCE_UNKNOWN_MS = 10_000;

/**
 * `onChange` must not throw. `toTell` collects what other processes have to learn of this one; `null` when there are none.
 */
export function openHealth(
  onChange: (change: BreakerChange) => void = () => {},
  toTell: CollectedNews | null = null,
): OpenHealth {
  return new KnownHealth(onChange, toTell);
}

class KnownHealth implements OpenHealth {
  readonly #onChange: (change: BreakerChange) => void;
  readonly #toTell: CollectedNews | null;
  readonly #budget = openRetryBudget();
  readonly #keys = openKeyedState<KeyHealth>({
    create: (nowMs) => ({
      usedMs: nowMs,
      lookedMs: nowMs,
      inFlight: 0,
      limitedUntilMs: Number.NEGATIVE_INFINITY,
      latency: null,
      firstBytes: null,
      breakers: [],
    }),
    isBusy: ({ inFlight, limitedUntilMs, breakers }, nowMs) =>
      inFlight > 0 || nowMs < limitedUntilMs || breakers.some((each) => each.isTripped && nowMs < each.openUntilMs),
    ownerOf: tenantOfKey,
  });

  constructor(onChange: (change: BreakerChange) => void, toTell: CollectedNews | null) {
    this.#onChange = onChange;
    this.#toTell = toTell;
  }

  blockedReason(key: string, settings: BreakerSettings, nowMs: number): BlockedReason | null {
    const kept = this.#keys.find(key);
    if (kept === undefined) return null;
    if (nowMs < kept.limitedUntilMs) return "rate_limited";
    const breaker = breakerOf(kept, settings);
    if (breaker?.isTripped !== true) return null;
    const phase = phaseOf(breaker, nowMs);
    return phase === "open" || phase === "probing" ? phase : null;
  }

  freeAtMs(key: string, settings: BreakerSettings, nowMs: number): number {
    const kept = this.#keys.find(key);
    if (kept === undefined) return nowMs;
    const breaker = breakerOf(kept, settings);
    return Math.max(nowMs, kept.limitedUntilMs, breaker === undefined ? nowMs : breakerFreeAtMs(breaker, nowMs));
  }

  begin(key: string, settings: BreakerSettings, nowMs: number): number {
    const kept = this.#keys.of(key, nowMs);
    kept.inFlight += 1;
    const breaker = breakerOf(kept, settings) ?? addBreaker(kept, settings);
    const probe = enterBreaker(breaker, nowMs);
    if (probe !== 0) this.#toTell?.target(breakerNews(key, breaker, nowMs));
    return probe;
  }

  answering(
    key: string,
    settings: BreakerSettings,
    nowMs: number,
    firstContentMs: number,
    probe: number,
    firstByteMs = firstContentMs,
  ): void {
    const kept = this.#keys.of(key, nowMs);
    kept.latency = measured(kept.latency, firstContentMs, nowMs);
    kept.firstBytes = measured(kept.firstBytes, firstByteMs, nowMs);
    const breaker = breakerOf(kept, settings);
    if (breaker === undefined) return;
    const was = breaker.isTripped;
    probeAnswers(breaker, probe);
    if (breaker.isTripped !== was) this.#changed(key, kept, breaker, nowMs);
  }

  end(
    key: string,
    settings: BreakerSettings,
    outcome: Outcome,
    nowMs: number,
    { retryAfterMs, probe }: Parameters<Health["end"]>[4],
  ): void {
    const kept = this.#keys.of(key, nowMs);
    kept.inFlight = Math.max(0, kept.inFlight - 1);
    if (retryAfterMs !== undefined) {
      const leftMs = Math.min(retryAfterMs, MAX_LIMITED_MS);
      rest(kept, leftMs, nowMs);
      this.#toTell?.target({ kind: "rest", key, leftMs });
    }
    const counted = retryAfterMs === undefined ? outcome : "cancelled";
    const isFault = counted === "upstream_fault";
    // Others count the attempt as this process does: not at a breaker that it closes, and not again at one that it opens.
    if (!isFault) this.#toTell?.target(countNews(key, settings, counted));
    const own = breakerOf(kept, settings) ?? addBreaker(kept, settings);
    // Another process changed the breaker between the probe and its end, so no other call may wait for this probe.
    if (probe !== undefined && probe !== 0 && own.probe !== probe)
      this.#toTell?.target({ ...breakerNews(key, own, nowMs), state: "unprobed" });
    const works = counted === "success" || counted === "client_fault";
    for (const breaker of kept.breakers) {
      const { isTripped: was, probe: wasProbe } = breaker;
      if (works && breaker !== own && isAbandoned(breaker, nowMs)) renewBreaker(breaker);
      else leaveBreaker(breaker, counted, nowMs, breaker === own ? probe : 0);
      if (breaker.isTripped !== was) this.#changed(key, kept, breaker, nowMs);
      else if (breaker.probe !== wasProbe) this.#toTell?.target(breakerNews(key, breaker, nowMs));
    }
    if (isFault) this.#toTell?.target(countNews(key, settings, counted));
  }

  inFlight(key: string): number {
    return this.#keys.find(key)?.inFlight ?? 0;
  }

  latencyMs(key: string, nowMs: number): number | null {
    const latency = this.#keys.find(key)?.latency ?? null;
    return latency === null ? null : latencyAt(latency, nowMs);
  }

  latencyAgeMs(key: string, nowMs: number): number | null {
    const latency = this.#keys.find(key)?.latency ?? null;
    return latency === null ? null : nowMs - latency.measuredAtMs;
  }

  p95Ms(key: string): number | null {
    const latency = this.#keys.find(key)?.latency ?? null;
    return latency === null ? null : p95Of(latency);
  }

  patienceMs(key: string): number {
    const firstBytes = this.#keys.find(key)?.firstBytes ?? null;
    const p95 = firstBytes === null ? null : p95Of(firstBytes, 1);
    return p95 === null ? PATIENCE_UNKNOWN_MS : Math.max(MIN_PATIENCE_MS, UNUSUAL_TIMES * p95);
  }

  called(upstream: string, nowMs: number): void {
    this.#budget.called(upstream, nowMs);
    this.#toTell?.spent({ upstream, calls: 1, retries: 0 });
  }

  takeRetry(upstream: string, nowMs: number): boolean {
    const isTaken = this.#budget.take(upstream, nowMs);
    if (isTaken) this.#toTell?.spent({ upstream, calls: 0, retries: 1 });
    return isTaken;
  }

  learn({ targets, spendings }: HealthNews, nowMs: number): void {
    for (const news of targets) this.#learnOf(this.#keys.of(news.key, nowMs), news, nowMs);
    for (const { upstream, ...spent } of spendings) this.#budget.spentElsewhere(upstream, spent, nowMs);
  }

  renew(isRenewed: (key: string) => boolean, nowMs: number): void {
    for (const [key, kept] of this.#keys.entries()) {
      if (!isRenewed(key)) continue;
      if (kept.limitedUntilMs > nowMs) this.#toTell?.target({ kind: "renewed", key });
      kept.limitedUntilMs = Number.NEGATIVE_INFINITY;
      kept.latency = kept.firstBytes = null;
      for (const breaker of kept.breakers) {
        const { isTripped: was } = breaker;
        renewBreaker(breaker);
        if (was) this.#changed(key, kept, breaker, nowMs);
      }
    }
  }

  snapshot(nowMs: number): readonly TargetHealth[] {
    return [...this.#keys.entries()].map(([key, kept]) => healthOf(key, kept, nowMs));
  }

  #learnOf(kept: KeyHealth, news: TargetNews, nowMs: number): void {
    if (news.kind === "rest") return rest(kept, news.leftMs, nowMs);
    if (news.kind === "renewed") return void (kept.limitedUntilMs = Number.NEGATIVE_INFINITY);
    const own = breakerOf(kept, news.breaker) ?? addBreaker(kept, news.breaker);
    if (news.kind === "breaker") return takeBreakerNews(own, news, nowMs);
    for (const breaker of kept.breakers) {
      const was = breaker.isTripped;
      countElsewhere(breaker, news, nowMs);
      if (breaker.isTripped !== was) this.#changed(news.key, kept, breaker, nowMs);
    }
  }

  /** Says that a breaker has opened or closed. */
  #changed(key: string, { breakers }: KeyHealth, breaker: Breaker, nowMs: number): void {
    this.#toTell?.target(breakerNews(key, breaker, nowMs));
    if (!isShownBreaker(key, breaker.settings)) return;
    if (breakers.some((other) => other !== breaker && other.isTripped && isShownBreaker(key, other.settings))) return;
    const {
      settings: { windowMs },
      openForMs,
    } = breaker;
    this.#onChange({
      key,
      state: breaker.isTripped ? "opened" : "closed",
      ...countedBy(breaker, nowMs),
      windowMs,
      openForMs,
    });
  }
}

function breakerOf({ breakers }: KeyHealth, settings: BreakerSettings): Breaker | undefined {
  for (const breaker of breakers) if (breaker.settings === settings) return breaker;
  // Each snapshot of the configuration has its own objects for equal settings.
  const same = breakers.find(
    ({ settings: { failures, ratio, windowMs, openMs, ofTenant } }) =>
      ofTenant === settings.ofTenant &&
      failures === settings.failures &&
      ratio === settings.ratio &&
      windowMs === settings.windowMs &&
      openMs === settings.openMs,
  );
  if (same !== undefined) same.settings = settings;
  return same;
}

/**
 * At the bound of an owner, its oldest breaker is removed. At the bound of the target, the tenant with the most breakers
 * loses its oldest one; of several such tenants, one for which that is closed.
 */
function addBreaker({ breakers }: KeyHealth, settings: BreakerSettings): Breaker {
  const own = breakers.filter((one) => one.settings.ofTenant === settings.ofTenant);
  if (own.length >= MAX_BREAKERS_OF_OWNER) breakers.splice(breakers.indexOf(own[0]!), 1);
  else if (breakers.length >= MAX_BREAKERS_PER_KEY) breakers.splice(breakers.indexOf(leastNeeded(breakers)), 1);
  const breaker = newBreaker(settings);
  breakers.push(breaker);
  return breaker;
}

/** Of those of tenants. */
function leastNeeded(breakers: readonly Breaker[]): Breaker {
  const ofTenants = breakers.filter(({ settings: { ofTenant } }) => ofTenant !== undefined);
  const owned = [...Map.groupBy(ofTenants, ({ settings: { ofTenant } }) => ofTenant).values()];
  const most = Math.max(...owned.map(({ length }) => length));
  const oldest = owned.filter(({ length }) => length === most).map(([first]) => first!);
  return oldest.find(({ isTripped }) => !isTripped) ?? oldest[0]!;
}

function rest(kept: KeyHealth, forMs: number, nowMs: number): void {
  kept.limitedUntilMs = Math.max(kept.limitedUntilMs, nowMs + forMs);
}

/** An attempt that was cancelled makes the breaker known to others, as it does here. */
function countNews(key: string, breaker: BreakerSettings, outcome: Outcome): CountNews {
  const calls = outcome === "cancelled" ? 0 : 1;
  return { kind: "count", key, breaker, calls, faults: outcome === "upstream_fault" ? 1 : 0 };
}

/** How the breaker stands after it has changed. */
function breakerNews(key: string, breaker: Breaker, nowMs: number): BreakerNews {
  const { settings, openUntilMs, openForMs } = breaker;
  const phase = phaseOf(breaker, nowMs);
  const state = phase === "half_open" ? "unprobed" : phase;
  const nothing = { leftMs: 0, openForMs: 0, faults: 0, calls: 0 };
  return {
    kind: "breaker",
    key,
    breaker: settings,
    state,
    ...(state === "open" ? { leftMs: openUntilMs - nowMs, openForMs, ...countedBy(breaker, nowMs) } : nothing),
  };
}

function measured(latency: Latency | null, sampleMs: number, nowMs: number): Latency {
  if (latency === null) return newLatency(sampleMs, nowMs);
  measure(latency, sampleMs, nowMs);
  return latency;
}

function healthOf(key: string, kept: KeyHealth, nowMs: number): TargetHealth {
  const tripped = kept.breakers.filter(({ isTripped, settings }) => isTripped && isShownBreaker(key, settings));
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
