// What a replica knows of one account: the leases that it may spend, what it has charged by bucket, and what it has not
// reported to the store yet. Every change of `charged` that the store does not know of is in `unreported` too, so
// the store's figure plus `unreported` always equals `charged`.
import type { LimitRule } from "../../core/configured/limit.ts";
import type { AccountStatus } from "../limit-store.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import { leavesAtMs, type WindowShape } from "./windows.ts";

/** Three clocks, read at the same moment. */
export interface Moment {
  /** Never goes back. It may stand still while the machine sleeps. */
  readonly monoMs: number;
  /** May be set forward and back. */
  readonly wallMs: number;
  /**
   * The time in which this process really ran. A process without CPU cannot tell whether an answer is late. See
   * running-time.ts.
   */
  readonly ranMs: number;
}

export interface Lease {
  readonly bucket: number;
  left: number;
  readonly units: number;
  /**
   * The lease has ended when either clock has reached its end: giving up unspent units early costs no call anything.
   */
  endsMonoMs: number;
  endsWallMs: number;
  /** Its place in the journal; -1 when it has none. */
  readonly place: number;
}

/** The state of an account while the store cannot be reached. */
interface Outage {
  readonly knownUsed: number;
  /** For slots: how many were in use on this replica when the outage began. */
  readonly knownInUse: number;
  /** After this time nothing that was known at the beginning of the outage still counts. */
  readonly knownUntilMs: number;
  spent: number;
}

export type ReplicaAccount = ReturnType<typeof newAccount>;

export function newAccount(
  key: string,
  { kind, windowMs }: WindowShape,
  { unit, limit }: Pick<LimitRule, "unit" | "limit">,
  units: number,
  nowMs: number,
) {
  return {
    key,
    unit,
    kind,
    windowMs,
    limit,
    leases: [] as Lease[],
    /** Unspent units of all leases. For slots: held and not in use. */
    idle: 0,
    /**
     * For slots: how many are in use. For windows without end: what is reserved for calls in flight, which only their end
     * gives back. Otherwise 0.
     */
    inUse: 0,
    /**
     * For windows without end: what the store holds for this replica, as last reported by the store. Until it is 0, the
     * journal keeps a place, so that the units are given back if this replica dies.
     */
    heldAtStore: 0,
    /** DIRECT, LEASED or CLOSED; -1 until the store has answered. */
    mode: -1,
    wantsLease: false,
    /** Units of a typical call, as a running mean. */
    typical: Math.max(1, units),
    recentSinceMs: nowMs,
    recentUse: 0,
    previousUse: 0,
    /** As the store last reported it, plus what was done here since. Includes `idle`. */
    used: 0,
    resetsAtMs: null as number | null,
    answeredMs: Number.NEGATIVE_INFINITY,
    lastUsedMs: nowMs,
    /** What is charged for this replica, by bucket, including unspent leases. */
    charged: new Map<number, number>(),
    /** Not reported to the store yet. */
    unreported: new Map<number, number>(),
    /**
     * Reserved for calls that are not in the ledger yet, by bucket: if this process is killed now, these calls leave no
     * record.
     */
    unrecorded: new Map<number, number>(),
    /** Usage beyond reservations, to be charged to the bucket that is current when the store handles the next message. */
    overrun: 0,
    /** The overrun and what a message in flight reports of it, by the bucket of the reservation that was exceeded. */
    overrunByBucket: new Map<number, number>(),
    openNeeds: 0,
    outage: null as Outage | null,
    /** Places in the journal, by bucket. */
    places: new Map<number, number>(),
    /**
     * The place in the journal with the statement that nothing is charged in later buckets. It is needed while a message in
     * flight may charge something; otherwise the value is -1.
     */
    lastPlace: -1,
    /** The message in flight names this account. */
    isInFlight: false,
    /**
     * For slots: when the last answered message that named this account was sent, and when the store answered it, by the
     * store's clock; 0 before the first.
     */
    renewedMs: nowMs,
    renewedStoreMs: 0,
    /**
     * For slots: since when their renewal has been overdue, in time in which this process ran; `null` when it is not
     * overdue.
     */
    overdueSinceRanMs: null as number | null,
    /** The line of the account in the message that is being written, counted from 1; 0 when it has none. */
    line: 0,
  };
}

export function addTo(map: Map<number, number>, key: number, units: number): void {
  map.set(key, (map.get(key) ?? 0) + units);
}

function subtractFrom(map: Map<number, number>, key: number, units: number): void {
  const left = (map.get(key) ?? 0) - units;
  if (left === 0) map.delete(key);
  else map.set(key, left);
}

export function leaseWithRoom(account: ReplicaAccount, units: number, { monoMs, wallMs }: Moment): Lease | null {
  for (const lease of account.leases)
    if (lease.left >= units && monoMs < lease.endsMonoMs && wallMs < lease.endsWallMs) return lease;
  return null;
}

export function noteUse(account: ReplicaAccount, units: number, nowMs: number, spanMs: number): void {
  account.typical += (units - account.typical) / 8;
  if (nowMs - account.recentSinceMs >= spanMs) {
    account.previousUse = nowMs - account.recentSinceMs >= 2 * spanMs ? 0 : account.recentUse;
    account.recentUse = 0;
    account.recentSinceMs = nowMs;
  }
  // Slots are used again and again, so the demand is how many are in use at once.
  account.recentUse =
    account.kind === "slots" ? Math.max(account.recentUse, account.inUse + units) : account.recentUse + units;
  account.lastUsedMs = nowMs;
}

function usedLately({ recentUse, previousUse, typical }: ReplicaAccount): number {
  return Math.max(recentUse, previousUse, typical);
}

/**
 * The slots that the replica wants to hold, in use and idle: the most that were in use at once lately, and some more.
 * Without the latter, each call that raises the number in use would ask the store.
 */
export function wantedSlots(account: ReplicaAccount): number {
  return Math.ceil(usedLately(account) * 1.25);
}

/** The units that the replica asks to lease: what it used lately, and at least one call. */
export function wantedUnits(account: ReplicaAccount): number {
  return account.kind === "slots"
    ? Math.max(1, wantedSlots(account) - account.inUse - account.idle)
    : Math.ceil(usedLately(account));
}

/** Less than half of the last lease is left; of slots, none is left when as many are in use as were lately. */
export function isLow(account: ReplicaAccount): boolean {
  const { kind, leases, idle, inUse } = account;
  const last = leases.at(-1);
  if (last === undefined) return true;
  return kind === "slots" ? inUse + idle <= usedLately(account) : idle * 2 < last.units;
}

/** Moves units from a lease to a call that is not recorded yet. The journal does not change. */
export function spend(account: ReplicaAccount, lease: Lease, units: number): void {
  lease.left -= units;
  account.idle -= units;
  if (account.kind === "slots") account.inUse += units;
  else addUnrecorded(account, lease.bucket, units);
}

/** Notes that these units, which are part of `charged`, belong to a call that is not recorded yet. */
export function addUnrecorded(account: ReplicaAccount, bucket: number, units: number): void {
  if (units > 0) addTo(account.unrecorded, bucket, units);
}

/**
 * The call is in the ledger, which charges its reservation if this process is killed. From now on the journal counts it
 * too.
 */
export function recordCall(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  if (units === 0 || account.kind === "slots") return;
  subtractFrom(account.unrecorded, bucket, units);
  const place = account.places.get(bucket);
  if (place === undefined) return;
  journal.change(place, units);
  if (isReported(account, bucket)) closePlace(account, bucket, place, journal);
}

/** Returns unused units to their bucket at the store. */
export function returnUnits(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  addTo(account.charged, bucket, -units);
  addTo(account.unreported, bucket, -units);
  account.used -= units;
  if (account.outage !== null) account.outage.spent = Math.max(0, account.outage.spent - units);
  journalBucket(account, bucket, journal);
}

/** Notes usage beyond what was reserved in the bucket. */
export function addOverrun(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  account.overrun += units;
  account.used += units;
  addTo(account.overrunByBucket, bucket, units);
  if (account.outage !== null) account.outage.spent += units;
  journalBucket(account, bucket, journal);
}

/** The store has charged an overrun to its current bucket. */
export function overrunCharged(
  account: ReplicaAccount,
  bucketNow: number,
  units: number,
  overruns: ReadonlyMap<number, number>,
  journal: LeaseJournal,
): void {
  addTo(account.charged, bucketNow, units);
  for (const [bucket, part] of overruns) {
    subtractFrom(account.overrunByBucket, bucket, part);
    if (account.places.has(bucket)) journalBucket(account, bucket, journal);
  }
  if (account.places.has(bucketNow)) journalBucket(account, bucketNow, journal);
}

/** Gives back the unspent units of the selected leases. Units already spent stay charged. */
export function dropLeases(account: ReplicaAccount, which: (lease: Lease) => boolean): void {
  if (account.leases.length === 0) return;
  const kept: Lease[] = [];
  for (const lease of account.leases) {
    if (!which(lease)) {
      kept.push(lease);
      continue;
    }
    account.idle -= lease.left;
    account.used -= lease.left;
    if (account.kind === "slots" || lease.left === 0) continue;
    addTo(account.charged, lease.bucket, -lease.left);
    addTo(account.unreported, lease.bucket, -lease.left);
  }
  account.leases = kept;
}

export function hasEnded(lease: Lease, { monoMs, wallMs }: Moment): boolean {
  return monoMs >= lease.endsMonoMs || wallMs >= lease.endsWallMs;
}

/** What the store should have charged for this replica and bucket if the process died now. */
function chargedIfKilled(account: ReplicaAccount, bucket: number): number {
  let units =
    (account.charged.get(bucket) ?? 0) -
    (account.unrecorded.get(bucket) ?? 0) +
    (account.overrunByBucket.get(bucket) ?? 0);
  for (const lease of account.leases) if (lease.bucket === bucket) units -= lease.left;
  return units;
}

/** Writes what is true of a bucket to the journal and returns its place there. */
export function journalBucket(account: ReplicaAccount, bucket: number, journal: LeaseJournal): number {
  if (account.kind === "slots") return -1;
  const place = account.places.get(bucket);
  const truth = chargedIfKilled(account, bucket);
  if (place !== undefined) {
    journal.write(place, truth);
    return place;
  }
  const opened = journal.open(account, bucket, truth);
  if (opened >= 0) account.places.set(bucket, opened);
  return opened;
}

/**
 * Called before a message that names the account is sent. If the message may charge something and the process is killed
 * before the answer arrives, nothing of that was used. The journal therefore says what is charged in the newest bucket
 * known here, and that nothing is charged in later ones.
 */
export function noteSent(account: ReplicaAccount, mayCharge: boolean, journal: LeaseJournal): void {
  account.isInFlight = true;
  if (account.kind === "slots" || !mayCharge) return;
  let newest = 0;
  for (const of of [account.charged, account.places])
    for (const bucket of of.keys()) if (bucket > newest) newest = bucket;
  account.lastPlace = journalBucket(account, newest, journal);
  if (account.lastPlace >= 0) journal.endsWith(account.lastPlace, true);
}

/** Called when the answer has been handled: the journal already holds what it granted. */
export function noteAnswered(account: ReplicaAccount, journal: LeaseJournal): void {
  if (account.lastPlace >= 0) journal.endsWith(account.lastPlace, false);
  account.lastPlace = -1;
  account.isInFlight = false;
}

/** Whether the store's figure for the bucket is correct. */
function isReported(
  { isInFlight, heldAtStore, unreported, unrecorded, overrunByBucket, leases }: ReplicaAccount,
  bucket: number,
): boolean {
  return (
    !isInFlight &&
    heldAtStore === 0 &&
    !unreported.has(bucket) &&
    !unrecorded.has(bucket) &&
    !overrunByBucket.has(bucket) &&
    !leases.some((lease) => lease.bucket === bucket)
  );
}

function closePlace(account: ReplicaAccount, bucket: number, place: number, journal: LeaseJournal): void {
  journal.close(place);
  account.places.delete(bucket);
}

/** Frees the places of buckets whose figure at the store is correct, and forgets buckets that have left the window. */
export function forgetReported(
  account: ReplicaAccount,
  storeNowMs: number,
  leaseLifeMs: number,
  journal: LeaseJournal,
): void {
  for (const [bucket, place] of account.places)
    if (isReported(account, bucket)) closePlace(account, bucket, place, journal);
  for (const [bucket, units] of account.charged) {
    const leaves = leavesAtMs(account, bucket, leaseLifeMs);
    if (units === 0 || (leaves !== null && leaves <= storeNowMs && !account.unreported.has(bucket)))
      account.charged.delete(bucket);
  }
}

export function statusOf(account: ReplicaAccount, used = account.used - account.idle): AccountStatus {
  return {
    limit: account.limit,
    used: Math.max(0, used),
    remaining: Math.max(0, account.limit - Math.max(0, used)),
    resetsAtMs: account.resetsAtMs,
  };
}
