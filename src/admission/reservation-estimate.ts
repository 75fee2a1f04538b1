// What an attempt may use at most, which is what it reserves under each limit, and what it has used.

// Decides (the response cache): What does a hit count in a budget? By: `countsUsage`. Rule: Nothing, or with
// `cache_hits: full` as much as a call of the provider; limits count it always.
import { countsAttempts, type LimitRule } from "../core/configured/limit.ts";

/** The most that one attempt may use. */
export interface ReservationEstimate {
  /** Upstream requests that the attempt sends. */
  readonly requests: number;
  /** In tokens or nano-dollars, by the unit of the rule. `null` when the price is not known. */
  bound(rule: LimitRule): number | null;
}

/** What limits and budgets count of an attempt. */
export interface CountedUsage {
  readonly tokens: number;
  readonly nanoUsd: number;
  /** Whether the answer came from the response cache, so that nothing was paid for it. */
  readonly isCacheHit?: true;
}

/** Limits count every answer; a budget counts those from the response cache only if it says so (promise 13.5). */
export function countsUsage({ kind, countsCacheHits }: LimitRule, { isCacheHit }: CountedUsage): boolean {
  return isCacheHit !== true || kind === "limit" || countsCacheHits === true;
}

export const NO_USAGE: CountedUsage = { tokens: 0, nanoUsd: 0 };

/** Whether the rule counts requests or calls one by one, whatever usage an answer reports. */
export function countsOneByOne({ unit }: LimitRule): boolean {
  return unit === "requests" || unit === "concurrency";
}

/**
 * Returns what the first attempt of a call may use, in the unit of the rule. `null` when the price is not known and the
 * budget denies unpriced calls.
 */
export function firstReservation(rule: LimitRule, estimate: ReservationEstimate): number | null {
  if (!countsOneByOne(rule)) return estimate.bound(rule) ?? (rule.unpriced === "allow" ? 0 : null);
  return rule.unit === "requests" && countsAttempts(rule) ? estimate.requests : 1;
}
