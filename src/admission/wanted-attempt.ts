// What an attempt may use of each account, and what has to be reserved for it in addition to what the call holds.
import { type Account, countsAttempts, type LimitRule } from "../core/configured/limit.ts";
import { HeldAccount } from "./held-account.ts";
import type { Need } from "./limit-store.ts";
import type { ReservationEstimate } from "./reservation-estimate.ts";

export interface WantedAttempt {
  readonly accounts: readonly HeldAccount[];
  /** The most that the attempt may use of each account. */
  readonly bounds: readonly number[];
  /** Empty when the call holds enough already. */
  readonly needs: readonly Need[];
  /** The account of each need. */
  readonly needed: HeldAccount[];
}

/**
 * `heldOfCall` returns what the call holds already of an account whose rule counts the call as a whole. Returns the
 * account of a budget that counts money, where the price of the attempt is not known.
 */
export function wantedAttempt(
  accounts: readonly Account[],
  estimate: ReservationEstimate,
  heldOfCall: (account: Account) => HeldAccount | undefined,
): WantedAttempt | { readonly unpriced: Account } {
  const held: HeldAccount[] = [];
  const bounds: number[] = [];
  const needs: Need[] = [];
  const needed: HeldAccount[] = [];
  for (const account of accounts) {
    const { rule } = account;
    const each = (countsAttempts(rule) ? undefined : heldOfCall(account)) ?? new HeldAccount(account);
    const known = each.bound(estimate);
    each.isUnpriced = known === null;
    if (known === null && rule.mode === "enforce") return { unpriced: account };
    const bound = boundedFor(rule, known ?? 0);
    held.push(each);
    bounds.push(bound);
    const units = each.missing(bound);
    if (units === 0 && each.latest !== null) continue;
    needed.push(each);
    needs.push({ account, units, force: rule.mode === "audit" });
  }
  return { accounts: held, bounds, needs, needed };
}

/**
 * In audit mode a bound above the whole limit counts as the limit plus one, so that sums stay exact whatever a client
 * asks for.
 */
function boundedFor({ mode, limit }: LimitRule, bound: number): number {
  return mode === "audit" ? Math.min(bound, limit + 1) : bound;
}
