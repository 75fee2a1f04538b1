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
  /** The store did not answer in time, or is closed for too long. */
  readonly onAway: () => void;
  /** Not tried before. */
  dueMs: number;
  giveUpMs: number;
  /** Of the first refusal while leases were out, or of the first try in a closed epoch. */
  waitsUntilMs: number | null;
  isOver: boolean;
}

export interface Question {
  readonly account: ReplicaAccount;
  /** Null: only how it stands. */
  readonly mark: string | null;
  readonly onAnswer: (isFirst: boolean) => void;
  readonly giveUpMs: number;
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
  failsMs: number;
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
  readonly accounts: Set<ReplicaAccount>;
  readonly leased: Set<ReplicaAccount>;
  readonly dirty: Set<ReplicaAccount>;
  readonly waiting: Waiting[];
  readonly questions: Question[];
  toState: ReplicaAccount[];
  lastSentMs: number;
  /** A message went unanswered, and none was answered since. */
  isAway: boolean;
  replicas: number;
  rank: number;
  storeNowMs: number;
  heardMs: number;
  heardWallMs: number;
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
    accounts: new Set(),
    leased: new Set(),
    dirty: new Set(),
    waiting: [],
    questions: [],
    toState: [],
    lastSentMs: Number.NEGATIVE_INFINITY,
    isAway: false,
    replicas: 1,
    rank: 0,
    storeNowMs: 0,
    heardMs: 0,
    heardWallMs: 0,
    aheadMs: 0,
  };
}

/** The store's clock, as far as it is known. */
export function storeNowMs(channel: Channel, { monoMs, wallMs }: Moment): number {
  if (channel.storeNowMs === 0) return wallMs;
  return channel.storeNowMs + Math.max(0, monoMs - channel.heardMs, wallMs - channel.heardWallMs);
}

const MIN_SKEW_MS = 1000;

export function hearClock(channel: Channel, storeMs: number, { monoMs, wallMs }: Moment): void {
  channel.storeNowMs = storeMs;
  channel.heardMs = monoMs;
  channel.heardWallMs = wallMs;
  const aheadMs = wallMs - storeMs;
  if (Math.abs(aheadMs - channel.aheadMs) > MIN_SKEW_MS) channel.aheadMs = Math.abs(aheadMs) > MIN_SKEW_MS ? aheadMs : 0;
}

/** A moment that the store told, by the wall clock here: that is the one by which clients are told how long to wait. */
export function localMs({ aheadMs }: Channel, storeMs: number): number {
  return storeMs + aheadMs;
}
