// What a replica knows of its talk with the store about one tenant: what waits for the next message, what is under way, and what was heard last.
import type { Need } from "../limit-store.ts";
import type { Moment, ReplicaAccount } from "./account.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import type { MessageWithKeys, Timings } from "./protocol.ts";

/** A call that waits for the store. */
export interface Waiting {
  readonly needs: readonly Need[];
  readonly accounts: readonly ReplicaAccount[];
  /** Charged: the bucket of each account, and what was used of it before. */
  readonly onReserved: (buckets: readonly number[], usedBefore: readonly number[]) => void;
  readonly onShort: (need: number, used: number, fitsAtMs: number | null) => void;
  /** The store is away, or its epoch stays closed for too long. */
  readonly onAway: () => void;
  /** Not tried before. */
  dueMs: number;
  /** Of the first refusal while leases were out, or of the first try in a closed epoch. */
  waitsUntilMs: number | null;
  isOver: boolean;
}

export interface Question {
  readonly account: ReplicaAccount;
  /** Null: only how it stands. */
  readonly mark: string | null;
  readonly onAnswer: (isFirst: boolean) => void;
  isOver: boolean;
}

/** What was used beyond reservations, as a message tells it: `overruns` has it by the bucket of the reservation. */
export interface Owed {
  readonly account: ReplicaAccount;
  readonly units: number;
  readonly overruns: ReadonlyMap<number, number>;
}

export interface UnderWay {
  readonly message: MessageWithKeys;
  readonly accounts: readonly ReplicaAccount[];
  readonly waiting: readonly Waiting[];
  readonly questions: readonly Question[];
  readonly owed: readonly Owed[];
  /** Before it was sent for the first time: the life of what it brings begins here. */
  readonly sentMs: number;
  readonly sentWallMs: number;
  /** In time in which this process ran: unanswered until then, the store is away. */
  failsRanMs: number;
  /** Null: it is on its way. */
  sendAgainMs: number | null;
}

export interface Channel {
  readonly tag: string;
  readonly keys: readonly string[];
  epoch: string;
  joined: boolean;
  everOpen: boolean;
  sequence: number;
  underWay: UnderWay | null;
  /** An answer is being taken in: what would be said now would be said of half of it. */
  isHearing: boolean;
  readonly accounts: Set<ReplicaAccount>;
  readonly leased: Set<ReplicaAccount>;
  readonly dirty: Set<ReplicaAccount>;
  /** Slots of them are in use, or were a moment ago. */
  readonly slots: Set<ReplicaAccount>;
  readonly waiting: Waiting[];
  readonly questions: Question[];
  toState: ReplicaAccount[];
  lastSentMs: number;
  /** A message could not be sent or went unanswered for too long, and none was answered since. */
  isAway: boolean;
  replicas: number;
  rank: number;
  storeNowMs: number;
  heardMs: number;
  /** How far the wall clock here is ahead of the store's. A second or less is what a network makes of it, and is none. */
  aheadMs: number;
}

export interface ChannelOptions {
  readonly replica: string;
  readonly timings: Timings;
  readonly journal: LeaseJournal;
  ownKey(accountKey: string): string;
  /** Answers come by `hear`, and a message that cannot be sent by `fail`. */
  send(channel: Channel, message: MessageWithKeys): void;
  /** A message has gone unanswered for so long that the store is taken for away. */
  silent(channel: Channel): void;
  /** By the store's clock it had not heard of these slots for so long that it has given them to others in between. */
  slotsFreed(account: ReplicaAccount): void;
}

export function newChannel(tag: string, keys: readonly string[], sequence: number): Channel {
  return {
    tag,
    keys,
    epoch: "",
    joined: false,
    everOpen: false,
    sequence,
    underWay: null,
    isHearing: false,
    accounts: new Set(),
    leased: new Set(),
    dirty: new Set(),
    slots: new Set(),
    waiting: [],
    questions: [],
    toState: [],
    lastSentMs: Number.NEGATIVE_INFINITY,
    isAway: false,
    replicas: 1,
    rank: 0,
    storeNowMs: 0,
    heardMs: 0,
    aheadMs: 0,
  };
}

/** The store's clock, as far as it is known: what has passed since it was heard is told by the clock that cannot be set. */
export function storeNowMs(channel: Channel, { monoMs, wallMs }: Moment): number {
  return channel.storeNowMs === 0 ? wallMs : channel.storeNowMs + Math.max(0, monoMs - channel.heardMs);
}

const MIN_SKEW_MS = 1000;

export function hearClock(channel: Channel, storeMs: number, { monoMs, wallMs }: Moment): void {
  channel.storeNowMs = storeMs;
  channel.heardMs = monoMs;
  const aheadMs = wallMs - storeMs;
  if (Math.abs(aheadMs - channel.aheadMs) > MIN_SKEW_MS)
    channel.aheadMs = Math.abs(aheadMs) > MIN_SKEW_MS ? aheadMs : 0;
}

/** A moment that the store told, by the wall clock here: that is the one by which clients are told how long to wait. */
export function localMs({ aheadMs }: Channel, storeMs: number): number {
  return storeMs + aheadMs;
}
