// One replica's side of limits that several replicas share. A call is admitted locally while the leases have room;
// otherwise the store is asked, and while the store cannot be reached the `on_store_failure` of each rule decides. It
// has no socket and no timer: valkey.ts provides them, and test/admission/simulation replaces them.
import type { Account, AccountReading, Need, Reservation, Shortage } from "../limit-store.ts";
import type { BudgetWindow, LimitRule } from "../../core/configured/limit.ts";
import { slidingLengthMs } from "../windows.ts";
import {
  returnUnits,
  isLow,
  hasEnded,
  type Lease,
  leaseWithRoom,
  type Moment,
  noteUse,
  addOverrun,
  recordCall,
  type ReplicaAccount,
  spend,
  statusOf,
  wantedSlots,
} from "./replica-account.ts";
import { AccountsOfRules, type AccountsOptions } from "./accounts-of-rules.ts";
import { chargeOffline, shortageOffline, shortageOf } from "./offline.ts";
import { sendFailed, flush, receiveAnswer, renewSlots, sendAgain, tick } from "./channel.ts";
import type { Channel, ChannelOptions } from "./channel-state.ts";
import { MISSED_HEARTBEATS } from "./apply-answer.ts";
import { type Answer, DIRECT, LEASED, type MessageWithKeys, wholeUnits } from "./protocol.ts";
import { type Clocks, RunningTime } from "./running-time.ts";
import { ReplicaReservation, type ReservationOwner } from "./replica-reservation.ts";
import type { CountsBesideLedger, SettlementLedger, StatedIn } from "../../store/journal/ledger.ts";
import type { WindowShape } from "./windows.ts";

export interface ReplicaOptions extends AccountsOptions {
  readonly replica: string;
  now(): Clocks;
  send(tag: string, message: MessageWithKeys): void;
  /** The store has not answered for so long that it counts as unreachable. */
  onSilent?(tag: string): void;
  /** Called in addition to the callback of `whenLost`. */
  onLost?(reservation: Reservation): void;
  /** Without it, every settlement counts at once. */
  readonly ledger?: SettlementLedger | undefined;
}

type Result = Reservation | Shortage;

/** How long an answer of the store is fresh enough for a listing. */
const FRESH_MS = 1000;
const SWEEP_MS = 5000;
/**
 * The time to run that a process gets to receive the store's answers, before it ends calls whose slots it could not
 * renew.
 */
const RECEIVING_MS = 100;

/** Concurrency has no window. */
export function shapeOfRule(rule: LimitRule): WindowShape {
  const windowMs = slidingLengthMs(rule);
  if (windowMs > 0) return { kind: "slide", windowMs };
  return { kind: rule.window === null ? "slots" : (rule.window as BudgetWindow), windowMs };
}

export class Replica implements ReservationOwner, CountsBesideLedger {
  readonly #options: ReplicaOptions;
  readonly #accounts: AccountsOfRules;
  readonly #channelOptions: ChannelOptions;
  /** Reservations that hold slots. */
  readonly #held = new Set<ReplicaReservation>();
  /** Reservations whose slots were given to others, according to the answer that is being handled. */
  readonly #slotsFreed: ReplicaReservation[] = [];
  readonly #running = new RunningTime();
  /** What is counted now is stated by entries that the ledger does not have yet: its messages wait. */
  #isAhead = false;
  readonly #toFlush = new Set<Channel>();
  #openReservations = 0;
  #sweptMs = 0;
  #leased = 0;
  #asked = 0;
  #offline = 0;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#accounts = new AccountsOfRules(options);
    this.#channelOptions = {
      replica: options.replica,
      timings: options.timings,
      journal: options.journal,
      ownKey: (key) => options.keys.own(key, options.replica),
      send: (channel, message) => options.send(channel.tag, message),
      onSilent: (channel) => options.onSilent?.(channel.tag),
      onSlotsFreed: (account) => this.#slotsFreed.push(...this.#closedAt(account)),
    };
  }

  /** Returns `null` when `done` will be called later. `call` is empty where the ledger of this process has no entry of it. */
  reserve(asked: readonly Need[], done: (result: Result) => void, call = ""): Result | null {
    const now = this.#now();
    if (asked.length === 0) return new ReplicaReservation(this, this.#accounts.channelOf(""), [], [], [], [], call);
    const needs = asked.every(({ units }) => wholeUnits(units) === units)
      ? asked
      : asked.map((need) => ({ ...need, units: wholeUnits(need.units) }));
    const reservation = this.#reserveFromLeases(needs, now, call);
    if (reservation !== null) return reservation;
    // what other calls have given back in this turn may be enough
    const again = this.#countSettled() ? this.#reserveFromLeases(needs, now, call) : null;
    return again ?? this.#reserveAtStore(needs, now, done, call);
  }

  /** Returns `null` when `done` will be called later, as does `first`. */
  status(account: Account, done: (reading: AccountReading) => void): AccountReading | null {
    // What other replicas have reserved is not told apart from what they have used.
    const reading = (of: ReplicaAccount): AccountReading => ({ ...statusOf(of), reserved: null });
    const known = this.#askStore(account, null, (_, found) => done(reading(found)));
    return known === null ? null : reading(known);
  }

  first(account: Account, mark: string, done: (isFirst: boolean) => void): boolean | null {
    return this.#askStore(account, mark, done) === null ? null : true;
  }

  receiveAnswer(tag: string, sequence: number, answer: Answer): void {
    receiveAnswer(this.#accounts.channelOf(tag), sequence, answer, this.#now(), this.#channelOptions);
    for (const reservation of this.#slotsFreed.splice(0)) this.#endLost(reservation);
  }

  /** The message did not reach the store, as far as is known. */
  sendFailed(tag: string, sequence: number): void {
    sendFailed(this.#accounts.channelOf(tag), sequence, this.#now(), this.#channelOptions);
  }

  /** The fate of the message is unknown, and its answer can no longer arrive. */
  sendAgain(tag: string, sequence: number): void {
    sendAgain(this.#accounts.channelOf(tag), sequence, this.#channelOptions);
  }

  /** To be called every few milliseconds. */
  tick(): void {
    const stoodStill = this.#running.tick(this.#options.now());
    const now = this.#now();
    for (const channel of this.#accounts.channels()) {
      // If the store has given slots to others meanwhile, its answer says so.
      if (stoodStill) renewSlots(channel, now, 0, this.#channelOptions);
      tick(channel, now, this.#channelOptions);
    }
    if (this.#held.size > 0) this.#endLostCalls(now);
    if (now.monoMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = now.monoMs;
    this.#accounts.sweep(now);
  }

  /** Announces this replica to the store, and learns whether the store can be reached. */
  announce(tag: string): void {
    flush(this.#accounts.channelOf(tag), this.#now(), this.#channelOptions, true);
  }

  /**
   * Sends what is left to report, and gives back the units of leases. Returns true when no message is in flight and
   * nothing is left.
   */
  drain(): boolean {
    this.#countSettled();
    const now = this.#now();
    let isQuiet = true;
    for (const channel of this.#accounts.channels()) {
      for (const account of channel.leased) for (const lease of account.leases) lease.endsMonoMs = now.monoMs;
      flush(channel, now, this.#channelOptions);
      if (channel.inFlight !== null && !channel.isUnreachable) isQuiet = false;
    }
    return isQuiet;
  }

  /** Reservations that have an open need. */
  open(): number {
    this.#countSettled();
    return this.#openReservations;
  }

  /** Counts for the metrics. */
  counts() {
    const now = this.#now();
    const leasedUnits: Record<string, number> = {};
    let accounts = 0;
    for (const channel of this.#accounts.channels()) {
      accounts += channel.accounts.size;
      for (const { unit, leases } of channel.leased)
        for (const lease of leases)
          if (lease.left > 0 && !hasEnded(lease, now)) leasedUnits[unit] = (leasedUnits[unit] ?? 0) + lease.left;
    }
    return {
      /**
       * Reservations that were answered from leases, that asked the store, and that `on_store_failure` decided. Some of
       * the last had asked the store before.
       */
      leased: this.#leased,
      asked: this.#asked,
      alone: this.#offline,
      /** Units that are leased now and not spent, by unit. */
      leasedUnits,
      /** Accounts kept in memory. */
      accounts,
    };
  }

  reserved(reservation: ReplicaReservation): void {
    if (reservation.needs.length > 0) this.#openReservations += 1;
    for (const [index, account] of reservation.accounts.entries()) {
      if (account.kind === "total") account.inUse += reservation.needs[index]!.units;
      if (account.kind !== "slots") continue;
      this.#held.add(reservation);
      reservation.channel.slots.add(account);
    }
  }

  settled(channel: Channel, account: ReplicaAccount, bucket: number, units: number, used: number): void {
    if (account.kind === "slots") {
      this.#settleSlot(channel, account, units);
      return;
    }
    if (account.kind === "total") {
      account.inUse -= units;
      // The next message reports that nothing is held any more.
      channel.dirty.add(account);
    }
    if (used === units) return;
    if (used > units) addOverrun(account, bucket, used - units, this.#options.journal);
    else returnUnits(account, bucket, units - used, this.#options.journal);
    this.#report(channel, account);
  }

  recorded(account: ReplicaAccount, bucket: number, units: number): void {
    recordCall(account, bucket, units, this.#options.journal);
  }

  whenStated(call: string, count: () => void): void {
    const { ledger } = this.#options;
    if (ledger === undefined || call === "") count();
    else ledger.countWhenStated(call, count);
  }

  expect(stated: StatedIn): void {
    this.#isAhead = true;
    this.#options.journal.expect(stated);
  }

  arrived(): void {
    this.#isAhead = false;
    this.#options.journal.arrived();
    for (const channel of this.#toFlush) flush(channel, this.#now(), this.#channelOptions);
    this.#toFlush.clear();
  }

  closed(reservation: ReplicaReservation): void {
    this.#openReservations -= 1;
    this.#held.delete(reservation);
  }

  #countSettled(): boolean {
    return this.#options.ledger?.countSettled() === true;
  }

  /** A slot is not dated: while slots are leased in advance it may serve the next call. */
  #settleSlot(channel: Channel, account: ReplicaAccount, units: number): void {
    account.inUse -= units;
    const lease = account.leases[0];
    if (account.mode === LEASED && lease !== undefined && account.inUse + account.idle < wantedSlots(account)) {
      lease.left += units;
      account.idle += units;
      return;
    }
    account.used -= units;
    this.#report(channel, account);
  }

  /** Reports at once where calls wait for each unit, otherwise with the next report. */
  #report(channel: Channel, account: ReplicaAccount): void {
    channel.dirty.add(account);
    if (account.mode === LEASED || channel.isUnreachable) return;
    if (this.#isAhead) this.#toFlush.add(channel);
    else flush(channel, this.#now(), this.#channelOptions);
  }

  #reserveFromLeases(needs: readonly Need[], now: Moment, call: string): Reservation | null {
    const { timings } = this.#options;
    const accounts: ReplicaAccount[] = [];
    const leases: Lease[] = [];
    for (const { account: asked, units } of needs) {
      const account = this.#accounts.accountOf(asked, units, now);
      const lease = leaseWithRoom(account, units, now);
      if (lease === null || leases.includes(lease)) return null;
      accounts.push(account);
      leases.push(lease);
    }
    const channel = this.#accounts.channelOfRule(needs[0]!.account.rule);
    const buckets: number[] = [];
    const usedBefore: number[] = [];
    let isShort = false;
    for (let index = 0; index < needs.length; index++) {
      const account = accounts[index]!;
      const lease = leases[index]!;
      const { units } = needs[index]!;
      usedBefore.push(Math.max(0, account.used - account.idle));
      buckets.push(lease.bucket);
      noteUse(account, units, now.monoMs, timings.useSpanMs);
      spend(account, lease, units);
      if (!account.wantsLease && account.mode === LEASED && isLow(account)) {
        account.wantsLease = true;
        channel.dirty.add(account);
        isShort = true;
      }
    }
    if (isShort) flush(channel, now, this.#channelOptions);
    this.#leased += 1;
    return new ReplicaReservation(this, channel, needs, accounts, buckets, usedBefore, call);
  }

  #reserveAtStore(needs: readonly Need[], now: Moment, done: (result: Result) => void, call: string): Result | null {
    const { timings } = this.#options;
    const channel = this.#accounts.channelOfRule(needs[0]!.account.rule);
    const accounts = needs.map(({ account, units }) => this.#accounts.accountOf(account, units, now));
    for (const [index, account] of accounts.entries())
      noteUse(account, needs[index]!.units, now.monoMs, timings.useSpanMs);
    if (channel.isUnreachable) return this.#reserveOffline(needs, accounts, channel, now, call);
    this.#asked += 1;
    for (const account of accounts) if (account.mode !== DIRECT) account.wantsLease = true;
    channel.waiting.push({
      needs,
      accounts,
      onReserved: (buckets, usedBefore) =>
        done(new ReplicaReservation(this, channel, needs, accounts, buckets, usedBefore, call)),
      onShort: (index, used, fitsAtMs) => done(shortageOf(needs[index]!, accounts[index]!, used, fitsAtMs)),
      onUnreachable: () => done(this.#reserveOffline(needs, accounts, channel, this.#now(), call)),
      dueMs: now.monoMs,
      waitsUntilMs: null,
      isDecided: false,
    });
    flush(channel, now, this.#channelOptions);
    return null;
  }

  #reserveOffline(
    needs: readonly Need[],
    accounts: readonly ReplicaAccount[],
    channel: Channel,
    now: Moment,
    call: string,
  ): Result {
    const { timings, journal } = this.#options;
    this.#offline += 1;
    const refusal = shortageOffline(needs, accounts, channel, now, timings);
    if (refusal !== null) return refusal;
    const { buckets, usedBefore } = chargeOffline(needs, accounts, channel, now, journal);
    return new ReplicaReservation(this, channel, needs, accounts, buckets, usedBefore, call);
  }

  #askStore(
    asked: Account,
    mark: string | null,
    done: (isFirst: boolean, account: ReplicaAccount) => void,
  ): ReplicaAccount | null {
    this.#countSettled();
    const now = this.#now();
    const channel = this.#accounts.channelOfRule(asked.rule);
    const account = this.#accounts.accountOf(asked, 0, now);
    if (channel.isUnreachable || (mark === null && now.monoMs - account.answeredMs < FRESH_MS)) return account;
    channel.questions.push({ account, mark, onAnswer: (isFirst) => done(isFirst, account), isAnswered: false });
    flush(channel, now, this.#channelOptions);
    return null;
  }

  /**
   * Ends calls whose slots are no longer this replica's: the rule is closed without the store, and the store has had no
   * message about the slot for two heartbeats. A process that had no CPU in that time first gets some to receive the
   * store's answers.
   */
  #endLostCalls(now: Moment): void {
    const mostMs = MISSED_HEARTBEATS * this.#options.timings.heartbeatMs;
    for (const reservation of this.#held) {
      const isLost = reservation.accounts.some((account, index) => {
        if (!isClosedSlot(reservation, account, index) || now.monoMs - account.renewedMs <= mostMs) return false;
        account.overdueSinceRanMs ??= now.ranMs;
        return now.ranMs - account.overdueSinceRanMs >= RECEIVING_MS;
      });
      if (isLost) this.#endLost(reservation);
    }
  }

  #closedAt(account: ReplicaAccount): readonly ReplicaReservation[] {
    return [...this.#held].filter((reservation) =>
      reservation.accounts.some((each, index) => each === account && isClosedSlot(reservation, each, index)),
    );
  }

  #endLost(reservation: ReplicaReservation): void {
    if (!this.#held.delete(reservation)) return;
    reservation.endCall();
    this.#options.onLost?.(reservation);
  }

  #now(): Moment {
    const { monoMs, wallMs } = this.#options.now();
    return { monoMs, wallMs, ranMs: this.#running.ms };
  }
}

function isClosedSlot({ needs }: ReplicaReservation, { kind }: ReplicaAccount, index: number): boolean {
  return kind === "slots" && needs[index]!.account.rule.onStoreFailure === "closed";
}
