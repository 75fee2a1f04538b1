// The messages between a replica and the store. There is one message at a time for each tenant. Messages are numbered,
// so that a lost one is sent again and one that arrives twice is handled once. The store's side is store-script.ts, the
// replica's is channel.ts; docs/design/shared-limits.md proves the bound.

export const TIMINGS = {
  /** How long a lease may be spent, counted from the moment before its request was sent. */
  leaseLifeMs: 250,
  /** A replica that holds leases sends a message at least this often, and learns of recalls from the answers. */
  reportMs: 100,
  /** A replica leases as much as it used in this time. */
  useSpanMs: 200,
  /** A replica that has anything charged in a window sends a message at least this often. */
  heartbeatMs: 1000,
  /**
   * How long nothing is leased or reserved in a new epoch: by then every replica that lives has stated what it
   * admitted.
   */
  joinMs: 2500,
  /** How long a call that would be refused waits for recalled leases. */
  recallWaitMs: 150,
  /**
   * The store counts as unreachable when a message has gone unanswered for this long, in time in which this process
   * really ran.
   */
  silentMs: 2000,
  /** The pause before a message that was not answered is sent again. */
  retryMs: 100,
} as const;
export type Timings = { readonly [Name in keyof typeof TIMINGS]: number };

/** The store frees the slots of a replica after this time without a message from it. */
export const SLOTS_FREED_MS = 3000;
/** Accounts with shorter windows are always reserved at the store, and need no allowance for the life of a lease. */
export const MIN_LEASED_WINDOW_MS = 5000;
/** A limit smaller than this many typical calls is always reserved at the store. */
export const MIN_LEASED_CALLS = 50;

/**
 * How units are dated: sliding windows, calendar periods in UTC, windows without end, and slots, which are not dated.
 */
export type AccountKind = "slide" | "day" | "week" | "month" | "total" | "slots";

/**
 * Limit, kind, window in ms (0 unless it slides), units of a typical call, units wanted as a lease, units held unspent
 * (for slots: all held), and those of them that are not in use.
 */
export type AccountLine = readonly [
  limit: number,
  kind: AccountKind,
  windowMs: number,
  typical: number,
  want: number,
  hold: number,
  idle: number,
];

/**
 * `g` adds units to a bucket, or gives them back when below 0; `c` charges the current bucket; `r` reserves all needs
 * or none, each with account, units and force; `f` asks whether the mark is the first in its window.
 */
export type Operation =
  | readonly ["g", account: number, bucket: number, units: number]
  | readonly ["c", account: number, units: number]
  | readonly ["r", ...number[]]
  | readonly ["f", account: number, mark: string];

/**
 * What the replica has charged: the account; 1 when buckets that are not named hold nothing, or 2 when those later than
 * the last named one hold nothing; then buckets and units in turn.
 */
export type Statement = readonly [account: number, whole: 0 | 1 | 2, ...number[]];

/** Accounts are counted from 1, as Lua does. */
export interface StoreMessage {
  readonly replica: string;
  readonly sequence: number;
  /** As last reported by the store; empty before the first answer. */
  readonly epoch: string;
  /**
   * 0 for no statement; 1 for a part of the statement; 2 for its last part, after which the replica has joined; 3 on
   * behalf of a dead replica.
   */
  readonly join: 0 | 1 | 2 | 3;
  readonly leaseLifeMs: number;
  readonly joinMs: number;
  readonly accounts: readonly AccountLine[];
  readonly statements: readonly Statement[];
  readonly operations: readonly Operation[];
}

export interface MessageWithKeys extends StoreMessage {
  readonly keys: readonly string[];
}

export const DONE = 0;
/** Nothing was done: the epoch has changed, or the replica has to state first what it has charged. */
export const JOIN_FIRST = 1;
/** Nothing was done: a later message has been answered already. */
export const STALE = 2;

export const DIRECT = 0;
export const LEASED = 1;
/** The epoch is new, and the account is not open yet. */
export const CLOSED = 2;

/**
 * Used, mode, granted, current bucket, life of the grant, and the time when everything has left the window (-1 when
 * that never happens or nothing is charged).
 */
export type AccountAnswer = readonly [
  used: number,
  mode: number,
  granted: number,
  bucket: number,
  validMs: number,
  resetsAtMs: number,
];

/**
 * `r` when done: 1 and what was used of each account before. `r` when short: 0, which need (from 0), what is used of
 * it, when it fits (-1 for never), and 1 when units of outstanding leases would suffice. `r` when closed: 2. `f`: 1 or
 * 0.
 */
export type OperationAnswer = readonly number[];

/**
 * Status, epoch, the store's time, replicas seen lately, how many of them precede this one, and the answers in the
 * order of the message.
 */
export type Answer = readonly [
  status: number,
  epoch: string,
  nowMs: number,
  replicas: number,
  rank: number,
  accounts: readonly AccountAnswer[],
  operations: readonly OperationAnswer[],
];

/**
 * Counts are whole and exact. A value that is not a number would make the message invalid, and with it every later one.
 */
export function wholeUnits(units: number): number {
  return units > 0 ? Math.min(Math.ceil(units), Number.MAX_SAFE_INTEGER) : 0;
}

/** The form that the script reads. */
export function encodeMessage(message: StoreMessage): string {
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
