// One account as a call holds it: for the whole call, or for one attempt where the rule counts attempts. It knows what
// the call has reserved and used of the account, and keeps the outcome of the limit in the record up to date.

// Decides (money and limits): What if more was used than reserved? By: `HeldAccount`. Rule: All of it is charged; the
// account may exceed its limit, and the next reservation is refused.
import { type Account, countsAttempts, type LimitRule } from "../core/configured/limit.ts";
import type { CountedHere, LimitOutcome } from "../core/record/record.ts";
import type { AccountStatus, Reservation, Settled } from "./limit-store.ts";
import {
  type CountedUsage,
  countsOneByOne,
  countsUsage,
  firstReservation,
  type ReservationEstimate,
} from "./reservation-estimate.ts";

/** A reservation with the accounts for which it was made, in the order of its needs. */
export interface HeldReservation {
  readonly reservation: Reservation;
  /** An account becomes `null` once its need has ended. */
  readonly accounts: (HeldAccount | null)[];
}

type Order = Pick<Reservation, "stamp" | "run" | "holder">;

export class HeldAccount {
  readonly account: Account;
  reserved = 0;
  /** Units used by attempts that have ended. */
  used = 0;
  /** The most that the attempts in flight may use. */
  inFlight = 0;
  /** The latest reservation on this account. Usage beyond all reservations is charged to it. */
  latest: HeldReservation | null = null;
  /** The budget is in audit mode and would have refused the attempt because it has no price. */
  isUnpriced = false;
  outcome: LimitOutcome | null = null;

  constructor(account: Account) {
    this.account = account;
  }

  /** Returns the most that the next attempt may use; `null` when its price is not known and the budget denies that. */
  bound(estimate: ReservationEstimate): number | null {
    const { rule } = this.account;
    // The call is one request and takes one slot, however many attempts it makes.
    return countsOneByOne(rule) && !countsAttempts(rule) && this.latest !== null ? 0 : firstReservation(rule, estimate);
  }

  /** Returns the units that an attempt has to reserve in addition to what the call holds. */
  missing(bound: number): number {
    return countsOneByOne(this.account.rule) ? bound : Math.max(0, this.used + this.inFlight + bound - this.reserved);
  }

  /** Adds what an attempt has used. `requests` is the number of upstream requests that it has sent. */
  add(used: CountedUsage, requests: number): void {
    const { rule } = this.account;
    if (rule.unit === "tokens" || rule.unit === "nano_usd") {
      if (countsUsage(rule, used)) this.used += rule.unit === "tokens" ? used.tokens : used.nanoUsd;
    } else if (rule.unit === "requests" && countsAttempts(rule)) this.used += requests;
  }

  /** Sets what the whole call has used when it ends. `isSent` says whether anything was sent to a provider. */
  endCall(isSent: boolean): void {
    const { unit } = this.account.rule;
    if (unit === "requests") this.used = isSent ? 1 : 0;
    else if (unit === "concurrency") this.used = 0;
  }

  /** Returns the part of the usage that this reservation covers; all that remains, if it is the latest. */
  share(units: number, held: HeldReservation): number {
    const share = this.latest === held ? this.used : Math.min(units, this.used);
    this.used -= share;
    return share;
  }

  /** Records the need of the reservation at `index` in `outcomes`, the list in the record of the call. */
  reserve(held: HeldReservation, index: number, outcomes: LimitOutcome[]): void {
    const { rule, value } = this.account;
    const { reservation } = held;
    const [before, after] = [reservation.before[index]!, reservation.after[index]!];
    const wouldRefuse = this.isUnpriced || reservation.overdrawn.includes(index);
    this.reserved += reservation.needs[index]!.units;
    this.latest = held;
    if (this.outcome !== null && this.outcome.wouldRefuse === wouldRefuse) {
      this.outcome.reserved = this.reserved;
      this.outcome.after = after.used;
      updateCounted(this.outcome, rule, reservation);
      return;
    }
    const outcome: LimitOutcome = {
      id: rule.id,
      value,
      unit: rule.unit,
      limit: rule.limit,
      before: this.outcome?.before ?? before.used,
      reserved: this.reserved,
      settled: null,
      after: after.used,
      wouldRefuse,
      ...(reservation.id !== undefined && { reservation: reservation.id }),
    };
    outcome.counted = countedAt(rule, reservation);
    if (this.outcome === null) outcomes.push(outcome);
    else outcomes[outcomes.indexOf(this.outcome)] = outcome;
    this.outcome = outcome;
  }

  /** Records that `used` of `reserved` units were used. */
  settle(used: number, reserved: number): void {
    const { outcome } = this;
    if (outcome === null) return;
    outcome.settled = (outcome.settled ?? 0) + used;
    outcome.after += (outcome.unit === "concurrency" ? 0 : used) - reserved;
  }

  /** Records the status of the account after the settlement, as the limit store returned it; `null` if it did not. */
  settledTo(status: AccountStatus | null, settled: Settled): void {
    if (this.outcome === null) return;
    const { counted } = this.outcome;
    if (counted?.holder !== undefined) counted.settlement = settled.settlement;
    if (status === null) return;
    this.outcome.after = status.used;
    updateCounted(this.outcome, this.account.rule, settled);
  }
}

/** Windows of one second and concurrency are not kept over a restart. */
function countedAt({ kind, window }: LimitRule, { stamp, run, holder }: Order): CountedHere | undefined {
  if (stamp === undefined || window === null || window === "second") return undefined;
  const counted = run === undefined ? { kind, window, stamp } : { kind, window, stamp, run };
  return holder === undefined ? counted : { ...counted, holder };
}

/** When the call began, another process may still have kept the counts that this process has taken over since. */
function updateCounted(outcome: LimitOutcome, rule: LimitRule, order: Order): void {
  const { counted } = outcome;
  if (counted !== undefined && order.stamp !== undefined && order.run === counted.run) counted.stamp = order.stamp;
  else outcome.counted = countedAt(rule, order);
}
