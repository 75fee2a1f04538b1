// The state of a replica's exchange with the store about one tenant: what waits for the next message, which message is
// in flight, and what the store last reported.
import type { Need } from "../limit-store.ts";
import type { Moment, ReplicaAccount } from "./replica-account.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import type { MessageWithKeys, Timings } from "./protocol.ts";

/** A call that waits for the store. */
export interface WaitingCall {
  readonly needs: readonly Need[];
  readonly accounts: readonly ReplicaAccount[];
  /** The needs were charged: `buckets` are those of the accounts, and `usedBefore` is what was used of each before. */
  readonly onReserved: (buckets: readonly number[], usedBefore: readonly number[]) => void;
  readonly onShort: (need: number, used: number, fitsAtMs: number | null) => void;
  /** The store cannot be reached, or its epoch stays closed for too long. */
  readonly onUnreachable: () => void;
  /** The call is not tried again before this time. */
  dueMs: number;
  /**
   * How long the call may wait, set at the first refusal while leases are out or at the first try in a closed epoch.
   */
  waitsUntilMs: number | null;
  isDecided: boolean;
}

export interface Question {
  readonly account: ReplicaAccount;
  /** `null` asks only for the status. */
  readonly mark: string | null;
  readonly onAnswer: (isFirst: boolean) => void;
  isAnswered: boolean;
}

/** Usage beyond reservations, as a message reports it; `overruns` holds it by the bucket of the reservation. */
export interface Overrun {
  readonly account: ReplicaAccount;
  readonly units: number;
  readonly byBucket: ReadonlyMap<number, number>;
}

export interface InFlightMessage {
  readonly message: MessageWithKeys;
  readonly accounts: readonly ReplicaAccount[];
  readonly waiting: readonly WaitingCall[];
  readonly questions: readonly Question[];
  readonly overruns: readonly Overrun[];
  /** Before the message was sent for the first time: leases that it brings live from here on. */
  readonly sentMs: number;
  readonly sentWallMs: number;
  /** In time in which this process ran. If the message is unanswered then, the store counts as unreachable. */
  failsRanMs: number;
  /** `null` while the message is on its way. */
  sendAgainMs: number | null;
}

export type Channel = ReturnType<typeof newChannel>;

export interface ChannelOptions {
  readonly replica: string;
  readonly timings: Timings;
  readonly journal: LeaseJournal;
  ownKey(accountKey: string): string;
  /** Sends a message. The answer arrives through `receiveAnswer`; `sendFailed` reports that the message could not be sent. */
  send(channel: Channel, message: MessageWithKeys): void;
  /** A message has gone unanswered for so long that the store counts as unreachable. */
  onSilent(channel: Channel): void;
  /**
   * By its own clock the store had no contact with this replica for so long that it has freed these slots in between.
   */
  onSlotsFreed(account: ReplicaAccount): void;
}

export function newChannel(tag: string, keys: readonly string[], sequence: number) {
  return {
    tag,
    keys,
    epoch: "",
    joined: false,
    wasOpen: false,
    sequence,
    inFlight: null as InFlightMessage | null,
    /** An answer is being applied. A message written now would describe a half-applied state. */
    isApplying: false,
    accounts: new Set<ReplicaAccount>(),
    leased: new Set<ReplicaAccount>(),
    dirty: new Set<ReplicaAccount>(),
    /** Accounts whose slots are in use, or were a moment ago. */
    slots: new Set<ReplicaAccount>(),
    waiting: [] as WaitingCall[],
    questions: [] as Question[],
    toRestate: [] as ReplicaAccount[],
    lastSentMs: Number.NEGATIVE_INFINITY,
    /** A message could not be sent or went unanswered for too long, and none has been answered since. */
    isUnreachable: false,
    replicas: 1,
    rank: 0,
    storeNowMs: 0,
    answeredMs: 0,
    /**
     * How far the wall clock of this process is ahead of the store's. A difference of a second or less may come from the
     * network and counts as 0.
     */
    aheadMs: 0,
  };
}

/**
 * The store's clock, as far as is known: its last reported time plus the time passed since, by the clock that cannot be
 * set.
 */
export function storeNowMs(channel: Channel, { monoMs, wallMs }: Moment): number {
  return channel.storeNowMs === 0 ? wallMs : channel.storeNowMs + Math.max(0, monoMs - channel.answeredMs);
}

const MIN_SKEW_MS = 1000;

export function applyClock(channel: Channel, storeMs: number, { monoMs, wallMs }: Moment): void {
  channel.storeNowMs = storeMs;
  channel.answeredMs = monoMs;
  const aheadMs = wallMs - storeMs;
  if (Math.abs(aheadMs - channel.aheadMs) > MIN_SKEW_MS)
    channel.aheadMs = Math.abs(aheadMs) > MIN_SKEW_MS ? aheadMs : 0;
}

/**
 * Converts a time of the store's clock to the wall clock of this process, from which clients compute how long to wait.
 */
export function localMs({ aheadMs }: Channel, storeMs: number): number {
  return storeMs + aheadMs;
}
