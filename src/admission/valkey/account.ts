// What a replica knows of one account: the leases that it may spend, what it has charged by bucket, and what it has yet to tell the store. Every change of
// `mine` that the store does not know of stands in `adds` too, so that the store's figure plus `adds` is always `mine`.
import type { LimitRule, LimitUnit } from "../../core/limit.ts";
import type { Standing } from "../limit-store.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import { type AccountKind, SLOTS_FREED_MS } from "./protocol.ts";
import { bucketAt, leavesAtMs, type WindowShape } from "./windows.ts";

/** Three clocks of one moment. */
export interface Moment {
  /** Never goes back. It may stand still while the machine sleeps. */
  readonly monoMs: number;
  /** May be set forward and back. */
  readonly wallMs: number;
  /** The time in which this process really ran: a process that has no CPU does not know whether others are late. See running-time.ts. */
  readonly ranMs: number;
}

export interface Lease {
  readonly bucket: number;
  left: number;
  readonly units: number;
  /** Over by either clock, whichever ran further: to let go of units that nobody has spent costs no call anything. */
  endsMonoMs: number;
  endsWallMs: number;
  /** Its place in the journal; -1: none. */
  readonly place: number;
}

/** While the store cannot be reached. */
interface Outage {
  readonly knownUsed: number;
  /** Of slots: in use here then. */
  readonly knownInUse: number;
  /** Beyond this nothing that was known then still counts. */
  readonly knownUntilMs: number;
  spent: number;
}

export interface ReplicaAccount extends WindowShape {
  readonly key: string;
  readonly unit: LimitUnit;
  readonly kind: AccountKind;
  limit: number;
  leases: Lease[];
  /** Unspent of all leases. Of slots: held and in no use. */
  idle: number;
  /** Of slots: in use. Of windows without end: reserved for calls that have not ended, which nothing but their end gives back. Else 0. */
  inUse: number;
  /** Of windows without end: what the store holds for this replica, as far as was heard. Until that is nothing the journal has a place, so that it is undone for the dead. */
  heldThere: number;
  /** DIRECT, LEASED, CLOSED; -1: not heard yet. */
  mode: number;
  wants: boolean;
  /** Units of a call, as a running mean. */
  typical: number;
  demandSinceMs: number;
  demand: number;
  demandBefore: number;
  /** As the store last said, and what was done here since. Holds `idle`. */
  used: number;
  resetsAtMs: number | null;
  heardMs: number;
  usedLastMs: number;
  /** What is charged for this replica, by bucket: unspent leases too. */
  readonly mine: Map<number, number>;
  /** Not told yet. */
  readonly adds: Map<number, number>;
  /** Reserved for calls that do not stand in the ledger yet, by bucket: should this process be killed now, these calls have never been. */
  readonly unrecorded: Map<number, number>;
  /** To be charged to the bucket of when the store hears of it. */
  owed: number;
  /** The same, and what the store has been told of it without an answer so far, by the bucket of the reservation that was exceeded. */
  readonly overruns: Map<number, number>;
  openNeeds: number;
  outage: Outage | null;
  /** Places in the journal by bucket. */
  readonly places: Map<number, number>;
  /** The place which says that nothing is charged in later buckets, while a message is under way that may charge something; -1: none. */
  lastPlace: number;
  /** The message that is under way names it. */
  isUnderWay: boolean;
  /** Of slots: when the last message that was answered and named this account had been sent, and when the store answered it, by the store's clock; 0: never. */
  renewedMs: number;
  renewedStoreMs: number;
  /** Of slots: since when they have gone without being renewed for too long, in time in which this process ran; null: they have not. */
  overdueSinceRanMs: number | null;
  /** Its line in the message that is being written, from 1; 0: none. */
  line: number;
}

export function newAccount(
  key: string,
  shape: WindowShape,
  { unit, limit }: Pick<LimitRule, "unit" | "limit">,
  units: number,
  nowMs: number,
): ReplicaAccount {
  return {
    key,
    unit,
    kind: shape.kind,
    windowMs: shape.windowMs,
    limit,
    leases: [],
    idle: 0,
    inUse: 0,
    heldThere: 0,
    mode: -1,
    wants: false,
    typical: Math.max(1, units),
    demandSinceMs: nowMs,
    demand: 0,
    demandBefore: 0,
    used: 0,
    resetsAtMs: null,
    heardMs: Number.NEGATIVE_INFINITY,
    usedLastMs: nowMs,
    mine: new Map(),
    adds: new Map(),
    unrecorded: new Map(),
    owed: 0,
    overruns: new Map(),
    openNeeds: 0,
    outage: null,
    places: new Map(),
    lastPlace: -1,
    isUnderWay: false,
    renewedMs: nowMs,
    renewedStoreMs: 0,
    overdueSinceRanMs: null,
    line: 0,
  };
}

export function plus(map: Map<number, number>, key: number, units: number): void {
  map.set(key, (map.get(key) ?? 0) + units);
}

function minus(map: Map<number, number>, key: number, units: number): void {
  const left = (map.get(key) ?? 0) - units;
  if (left === 0) map.delete(key);
  else map.set(key, left);
}

export function leaseWithRoom(account: ReplicaAccount, units: number, { monoMs, wallMs }: Moment): Lease | null {
  for (const lease of account.leases)
    if (lease.left >= units && monoMs < lease.endsMonoMs && wallMs < lease.endsWallMs) return lease;
  return null;
}

export function noteDemand(account: ReplicaAccount, units: number, nowMs: number, demandMs: number): void {
  account.typical += (units - account.typical) / 8;
  if (nowMs - account.demandSinceMs >= demandMs) {
    account.demandBefore = nowMs - account.demandSinceMs >= 2 * demandMs ? 0 : account.demand;
    account.demand = 0;
    account.demandSinceMs = nowMs;
  }
  // places are used again and again: what counts is how many at once
  account.demand = account.kind === "slots" ? Math.max(account.demand, account.inUse + units) : account.demand + units;
  account.usedLastMs = nowMs;
}

/** What the replica borrows: what it used lately, and one call at least. */
export function wantedUnits(account: ReplicaAccount): number {
  const lately = Math.max(account.demand, account.demandBefore, account.typical);
  return account.kind === "slots" ? Math.max(1, lately - account.inUse - account.idle) : Math.ceil(lately);
}

/** Less than half of the last lease is left. */
export function isLow({ leases, idle }: ReplicaAccount): boolean {
  const last = leases.at(-1);
  return last === undefined || idle * 2 < last.units;
}

/** The journal need not change: the units go from a lease to a call that is not recorded. */
export function spend(account: ReplicaAccount, lease: Lease, units: number): void {
  lease.left -= units;
  account.idle -= units;
  if (account.kind === "slots") account.inUse += units;
  else setAside(account, lease.bucket, units);
}

/** The units, which are part of `mine`, belong to a call that is not recorded. */
export function setAside(account: ReplicaAccount, bucket: number, units: number): void {
  if (units > 0) plus(account.unrecorded, bucket, units);
}

/** The call stands in the ledger, which charges its reservation if this process is killed: the journal says the same from here on. */
export function recordCall(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  if (units === 0 || account.kind === "slots") return;
  minus(account.unrecorded, bucket, units);
  const place = account.places.get(bucket);
  if (place === undefined) return;
  journal.change(place, units);
  if (isTold(account, bucket)) closePlace(account, bucket, place, journal);
}

/** What was not used goes back to its bucket at the store. */
export function giveBack(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  plus(account.mine, bucket, -units);
  plus(account.adds, bucket, -units);
  account.used -= units;
  if (account.outage !== null) account.outage.spent = Math.max(0, account.outage.spent - units);
  noteTruth(account, bucket, journal);
}

/** More was used than was reserved in the bucket. */
export function owe(account: ReplicaAccount, bucket: number, units: number, journal: LeaseJournal): void {
  account.owed += units;
  account.used += units;
  plus(account.overruns, bucket, units);
  if (account.outage !== null) account.outage.spent += units;
  noteTruth(account, bucket, journal);
}

/** The store has charged what was owed, to its bucket of now. */
export function hearPaid(
  account: ReplicaAccount,
  bucketNow: number,
  units: number,
  overruns: ReadonlyMap<number, number>,
  journal: LeaseJournal,
): void {
  plus(account.mine, bucketNow, units);
  for (const [bucket, part] of overruns) {
    minus(account.overruns, bucket, part);
    if (account.places.has(bucket)) noteTruth(account, bucket, journal);
  }
  if (account.places.has(bucketNow)) noteTruth(account, bucketNow, journal);
}

/** Unspent units go back; what is left of the leases is spent. */
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
    plus(account.mine, lease.bucket, -lease.left);
    plus(account.adds, lease.bucket, -lease.left);
  }
  account.leases = kept;
}

export function isOver(lease: Lease, { monoMs, wallMs }: Moment): boolean {
  return monoMs >= lease.endsMonoMs || wallMs >= lease.endsWallMs;
}

/** What the store should have written for this replica and bucket, were it to die now. */
export function truthOf(account: ReplicaAccount, bucket: number): number {
  let units =
    (account.mine.get(bucket) ?? 0) - (account.unrecorded.get(bucket) ?? 0) + (account.overruns.get(bucket) ?? 0);
  for (const lease of account.leases) if (lease.bucket === bucket) units -= lease.left;
  return units;
}

/** Gives the place of the bucket in the journal. */
export function noteTruth(account: ReplicaAccount, bucket: number, journal: LeaseJournal): number {
  if (account.kind === "slots") return -1;
  const place = account.places.get(bucket);
  const truth = truthOf(account, bucket);
  if (place !== undefined) {
    journal.write(place, truth);
    return place;
  }
  const opened = journal.open(account, bucket, truth);
  if (opened >= 0) account.places.set(bucket, opened);
  return opened;
}

/**
 * A message that names the account is about to be sent. Where it may charge something and its answer is not heard, because this process is killed, nothing of that
 * was used: the journal says what is charged in the newest bucket that is known here, and that nothing is charged in later ones.
 */
export function noteAsked(account: ReplicaAccount, mayCharge: boolean, journal: LeaseJournal): void {
  account.isUnderWay = true;
  if (account.kind === "slots" || !mayCharge) return;
  let newest = 0;
  for (const of of [account.mine, account.places]) for (const bucket of of.keys()) if (bucket > newest) newest = bucket;
  account.lastPlace = noteTruth(account, newest, journal);
  if (account.lastPlace >= 0) journal.endsWith(account.lastPlace, true);
}

/** The answer has been heard: what it brought is in the journal by itself. */
export function noteAnswered(account: ReplicaAccount, journal: LeaseJournal): void {
  if (account.lastPlace >= 0) journal.endsWith(account.lastPlace, false);
  account.lastPlace = -1;
  account.isUnderWay = false;
}

/** The store has written of the bucket what is true. */
function isTold(
  { isUnderWay, heldThere, adds, unrecorded, overruns, leases }: ReplicaAccount,
  bucket: number,
): boolean {
  return (
    !isUnderWay &&
    heldThere === 0 &&
    !adds.has(bucket) &&
    !unrecorded.has(bucket) &&
    !overruns.has(bucket) &&
    !leases.some((lease) => lease.bucket === bucket)
  );
}

function closePlace(account: ReplicaAccount, bucket: number, place: number, journal: LeaseJournal): void {
  journal.close(place);
  account.places.delete(bucket);
}

/** Places are free again where the store knows the truth, and buckets are forgotten that have left the window. */
export function forgetTold(
  account: ReplicaAccount,
  storeNowMs: number,
  leaseLifeMs: number,
  journal: LeaseJournal,
): void {
  for (const [bucket, place] of account.places)
    if (isTold(account, bucket)) closePlace(account, bucket, place, journal);
  for (const [bucket, units] of account.mine) {
    const leaves = leavesAtMs(account, bucket, leaseLifeMs);
    if (units === 0 || (leaves !== null && leaves <= storeNowMs && !account.adds.has(bucket)))
      account.mine.delete(bucket);
  }
}

export function standingOf(account: ReplicaAccount, used = account.used - account.idle): Standing {
  return {
    limit: account.limit,
    used: Math.max(0, used),
    remaining: Math.max(0, account.limit - Math.max(0, used)),
    resetsAtMs: account.resetsAtMs,
  };
}

/** How much may still be admitted here while the store is away: this replica's part of what was left when it was last heard, and later of the whole limit. */
export function localRoom(
  account: ReplicaAccount,
  { replicas, rank }: { readonly replicas: number; readonly rank: number },
  storeNowMs: number,
  leaseLifeMs: number,
): number {
  const share = (units: number): number => Math.floor(units / replicas) + (rank < units % replicas ? 1 : 0);
  if (account.outage === null) {
    const leaves =
      account.kind === "slots"
        ? storeNowMs + SLOTS_FREED_MS
        : leavesAtMs(account, bucketAt(account, storeNowMs), leaseLifeMs);
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
      (storeNowMs < knownUntilMs ? knownInUse + share(Math.max(0, account.limit - knownUsed)) : share(account.limit)) -
      account.inUse
    );
  if (storeNowMs < knownUntilMs) return share(Math.max(0, account.limit - knownUsed)) - spent;
  let mine = account.owed;
  for (const [bucket, units] of account.mine) {
    const leaves = leavesAtMs(account, bucket, leaseLifeMs);
    if (leaves === null || leaves > storeNowMs) mine += units;
  }
  return share(account.limit) - mine;
}
