// What a replica and the store say to each other: one message at a time for each tenant, numbered, so that what is lost is sent again and what comes twice
// is done once. The store's side is store-script.ts, the replica's channel.ts; docs/decisions/0017 proves the bound.

export const TIMINGS = {
  /** A lease is spent at most so long after the moment before its request was sent. */
  leaseLifeMs: 250,
  /** A replica that holds leases speaks at least this often, and hears of recalls. */
  reportMs: 100,
  /** What a replica used in so long is what it borrows. */
  demandMs: 200,
  /** A replica that has anything charged in a window speaks at least this often. */
  heartbeatMs: 1000,
  /** In a new epoch nothing is lent or reserved for so long: every replica that lives has stated by then what it admitted. */
  joinMs: 2500,
  /** A call that would be refused waits so long for leases that were recalled. */
  recallWaitMs: 150,
  /** The store is away when a message has gone unanswered for so long of the time in which this process really ran. */
  silentMs: 2000,
  /** The next try after a message that was not answered. */
  retryMs: 100,
} as const;
export type Timings = { readonly [Name in keyof typeof TIMINGS]: number };

/** The store frees the slots of a replica that it has not heard for so long. */
export const SLOTS_FREED_MS = 3000;
/** Sub-buckets of a window that slides. */
export const BUCKETS = 60;
/** Shorter windows are always reserved at the store, and need no allowance for the life of a lease. */
export const MIN_LEASED_WINDOW_MS = 5000;
/** A limit below so many typical calls is always reserved at the store. */
export const MIN_LEASED_CALLS = 50;

/** How units are dated: windows that slide, calendars in UTC, no end, or slots that have no date. */
export type AccountKind = "slide" | "day" | "week" | "month" | "total" | "slots";

/** limit, kind, window in ms (0 unless it slides), units of a typical call, units wanted as a lease, units held unspent (slots: held in all), and of these in no use. */
export type AccountLine = readonly [
  limit: number,
  kind: AccountKind,
  windowMs: number,
  typical: number,
  want: number,
  hold: number,
  idle: number,
];

/** `g` adds units (below 0: gives back) to a bucket; `c` charges the bucket of now; `r` reserves all or none: account, units, force, ...; `f`: is this the first in its window? */
export type Operation =
  | readonly ["g", account: number, bucket: number, units: number]
  | readonly ["c", account: number, units: number]
  | readonly ["r", ...number[]]
  | readonly ["f", account: number, mark: string];

/** What the replica has charged: account, 1 when buckets that are not named hold nothing, or 2 when those later than the last named one hold nothing, then bucket and units in turn. */
export type Statement = readonly [account: number, whole: 0 | 1 | 2, ...number[]];

/** Accounts are counted from 1, as Lua counts. */
export interface Message {
  readonly replica: string;
  readonly sequence: number;
  /** As last heard; empty: none yet. */
  readonly epoch: string;
  /** 0: not now; 1: a part of the statement; 2: its last part, and the replica has joined; 3: for a replica that is dead. */
  readonly join: 0 | 1 | 2 | 3;
  readonly leaseLifeMs: number;
  readonly joinMs: number;
  readonly accounts: readonly AccountLine[];
  readonly statements: readonly Statement[];
  readonly operations: readonly Operation[];
}

export interface MessageWithKeys extends Message {
  readonly keys: readonly string[];
}

export const DONE = 0;
/** Nothing was done: the epoch is another, or the replica has to state first what it has charged. */
export const JOIN_FIRST = 1;
/** Nothing was done: a later message has been answered already. */
export const STALE = 2;

export const DIRECT = 0;
export const LEASED = 1;
/** The epoch is new, and the account not open yet. */
export const CLOSED = 2;

/** Used, mode, granted, bucket of now, life of the grant, time when all has left (-1: never, or nothing is there). */
export type AccountAnswer = readonly [
  used: number,
  mode: number,
  granted: number,
  bucket: number,
  validMs: number,
  resetsAtMs: number,
];

/** `r` done: 1 and what was used of each before; short: 0, which need (from 0), what is used of it, when it fits (-1: never), 1 when leases that are out would do; closed: 2. `f`: 1 or 0. */
export type OperationAnswer = readonly number[];

/** Status, epoch, the store's time, replicas seen lately, how many of them come before this one, and the answers in the order of the message. */
export type Answer = readonly [
  status: number,
  epoch: string,
  nowMs: number,
  replicas: number,
  rank: number,
  accounts: readonly AccountAnswer[],
  operations: readonly OperationAnswer[],
];

/** Counts are whole and exact: a figure that is none would spoil the message, and with it every one after it. */
export function wholeUnits(units: number): number {
  return units > 0 ? Math.min(Math.ceil(units), Number.MAX_SAFE_INTEGER) : 0;
}

/** As the script reads it. */
export function encodeMessage(message: Message): string {
  const {
    replica: r,
    sequence: q,
    epoch: e,
    join: j,
    leaseLifeMs: l,
    joinMs: w,
    accounts: a,
    statements: s,
    operations: o,
  } = message;
  return JSON.stringify({ r, q, e, j, l, w, a, s, o });
}
