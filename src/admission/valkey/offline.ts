// Decides about calls while the store cannot be reached, by the `on_store_failure` of each rule. What is admitted here
// is stated to the store when it is back.

// Decides (money and limits): What happens without the shared limit store? By: `shortageOffline`. Also: called by
// `replica.ts`. Rule: What `on_store_failure` of each limit says: `local_share` admits what fits into the share of the
// replica, `closed` refuses with 503, `open` admits all.
import type { Need, Shortage } from "../limit-store.ts";
import { type Moment, journalBucket, addTo, type ReplicaAccount, addUnrecorded, statusOf } from "./replica-account.ts";
import { type Channel, localMs, storeNowMs } from "./channel-state.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import { SLOTS_FREED_MS, type Timings } from "./protocol.ts";
import { bucketAt, leavesAtMs } from "./windows.ts";

/** Slots may be freed at any time, so asking again soon is worthwhile. */
const ASK_AGAIN_MS = 1000;

export function shortageOf(
  need: Need,
  account: ReplicaAccount,
  used: number,
  fitsAtMs: number | null,
  unavailable = false,
): Shortage {
  return {
    need,
    status: statusOf(account, used),
    fitsAtMs,
    exceedsLimit: !unavailable && need.units > account.limit,
    unavailable,
  };
}

/** `null` when all needs are admitted. */
export function shortageOffline(
  needs: readonly Need[],
  accounts: readonly ReplicaAccount[],
  channel: Channel,
  now: Moment,
  { leaseLifeMs }: Timings,
): Shortage | null {
  const storeMs = storeNowMs(channel, now);
  const needed = new Map<ReplicaAccount, number>();
  for (const [index, need] of needs.entries()) {
    const account = accounts[index]!;
    const { onStoreFailure } = need.account.rule;
    if (need.force || onStoreFailure === "open") continue;
    if (onStoreFailure === "closed") return shortageOf(need, account, account.used - account.idle, null, true);
    const before = needed.get(account) ?? 0;
    needed.set(account, before + need.units);
    if (before + need.units <= localRoom(account, channel, storeMs, leaseLifeMs)) continue;
    const isEver = need.units <= account.limit && account.kind !== "total";
    const fitsAtMs = isEver
      ? localMs(channel, leavesAtMs(account, bucketAt(account, storeMs), leaseLifeMs) ?? storeMs + ASK_AGAIN_MS)
      : null;
    return { ...shortageOf(need, account, account.limit, fitsAtMs), isOfShare: true };
  }
  return null;
}

/** Returns one entry for each need. */
export function chargeOffline(
  needs: readonly Need[],
  accounts: readonly ReplicaAccount[],
  channel: Channel,
  now: Moment,
  journal: LeaseJournal,
) {
  const storeMs = storeNowMs(channel, now);
  const buckets: number[] = [];
  const usedBefore: number[] = [];
  for (const [index, { units }] of needs.entries()) {
    const account = accounts[index]!;
    const bucket = bucketAt(account, storeMs);
    usedBefore.push(account.used - account.idle);
    buckets.push(bucket);
    account.used += units;
    channel.dirty.add(account);
    if (account.kind === "slots") {
      account.inUse += units;
      continue;
    }
    if (account.outage !== null) account.outage.spent += units;
    addTo(account.charged, bucket, units);
    addTo(account.unreported, bucket, units);
    addUnrecorded(account, bucket, units);
    journalBucket(account, bucket, journal);
  }
  return { buckets, usedBefore };
}

/**
 * How many units may still be admitted here while the store cannot be reached: this replica's share of what was left at
 * the last report, and later its share of the whole limit.
 */
function localRoom(
  account: ReplicaAccount,
  { replicas, rank }: { readonly replicas: number; readonly rank: number },
  storeMs: number,
  leaseLifeMs: number,
): number {
  const share = (units: number): number => Math.floor(units / replicas) + (rank < units % replicas ? 1 : 0);
  if (account.outage === null) {
    const leaves =
      account.kind === "slots"
        ? storeMs + SLOTS_FREED_MS
        : leavesAtMs(account, bucketAt(account, storeMs), leaseLifeMs);
    account.outage = {
      knownUsed: Math.max(0, account.used),
      knownInUse: account.inUse,
      knownUntilMs: leaves ?? Number.POSITIVE_INFINITY,
      spent: 0,
    };
  }
  const { knownUsed, knownInUse, knownUntilMs, spent } = account.outage;
  if (account.kind === "slots")
    return (
      (storeMs < knownUntilMs ? knownInUse + share(Math.max(0, account.limit - knownUsed)) : share(account.limit)) -
      account.inUse
    );
  if (storeMs < knownUntilMs) return share(Math.max(0, account.limit - knownUsed)) - spent;
  let own = account.overrun;
  for (const [bucket, units] of account.charged) {
    const leaves = leavesAtMs(account, bucket, leaseLifeMs);
    if (leaves === null || leaves > storeMs) own += units;
  }
  return share(account.limit) - own;
}
