// Settles what a call holds, at the end of an attempt or of the call, and learns from it how the accounts stand.
import { countsAttempts } from "../core/configured/limit.ts";
import type { HeldAccount, HeldReservation } from "./held-account.ts";
import type { AccountStatus, Reservation, Settled } from "./limit-store.ts";
import type { AccountStatuses } from "./rate-headers.ts";

/**
 * Settles the open accounts of a reservation; at the end of an attempt, only those of rules that count attempts. Returns
 * the accounts that were settled.
 */
export function settleHeld(
  held: HeldReservation,
  endOf: "attempt" | "call",
  statuses: AccountStatuses,
): readonly HeldAccount[] {
  const { reservation, accounts } = held;
  const settled: HeldAccount[] = [];
  const used: (number | null)[] = [];
  for (let index = 0; index < accounts.length; index++) {
    const each = accounts[index]!;
    if (each === null || (endOf === "attempt" && !countsAttempts(each.account.rule))) {
      used.push(null);
      continue;
    }
    const reserved = reservation.needs[index]!.units;
    const units = endOf === "attempt" ? each.used : each.share(reserved, held);
    accounts[index] = null;
    settled.push(each);
    used.push(units);
    each.settle(units, reserved);
  }
  if (settled.length > 0) noteStatuses(statuses, settled, reservation, used, reservation.settle(used));
  return settled;
}

/** Updates the known statuses: from what the limit store returned, else from what this call gave back. */
function noteStatuses(
  statuses: AccountStatuses,
  accounts: readonly HeldAccount[],
  { needs }: Reservation,
  used: readonly (number | null)[],
  settled: Settled | null,
): void {
  let next = 0;
  for (let index = 0; index < used.length; index++) {
    const units = used[index]!;
    if (units === null) continue;
    const held = accounts[next++]!;
    const known = settled?.after[index] ?? null;
    const status = known ?? changedBy(statuses.get(held.account), units - needs[index]!.units);
    if (status !== null) statuses.set(held.account, status);
    if (settled !== null) held.settledTo(known, settled);
  }
}

function changedBy(status: AccountStatus | undefined, units: number): AccountStatus | null {
  if (status === undefined) return null;
  const used = Math.max(0, status.used + units);
  return { ...status, used, remaining: Math.max(0, status.limit - used) };
}
