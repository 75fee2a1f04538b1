// One replica's side of limits that many share. While its leases have room a call is admitted here and now; else the store is asked, and while the store is
// away each rule's `on_store_failure` decides. It has no socket and no timer: see valkey.ts, and test/admission/simulation, which plays it.
import type { Account, Need, Reservation, Shortage, Standing } from "../limit-store.ts";
import type { LimitRule } from "../../core/limit.ts";
import {
  giveBack,
  isLow,
  isOver,
  type Lease,
  leaseWithRoom,
  type Moment,
  noteDemand,
  owe,
  recordCall,
  type ReplicaAccount,
  spend,
  standingOf,
} from "./account.ts";
import { AccountsOfRules, type AccountsOptions } from "./accounts-of-rules.ts";
import { chargeAlone, refusalAlone, shortageOf } from "./alone.ts";
import { fail, flush, hear, renewSlots, repeat, tick } from "./channel.ts";
import type { Channel, ChannelOptions } from "./channel-state.ts";
import { MISSED_HEARTBEATS } from "./heard-answer.ts";
import { type Answer, DIRECT, LEASED, type MessageWithKeys, wholeUnits } from "./protocol.ts";
import { type Clocks, RunningTime } from "./running-time.ts";
import { Taken, type TakenFrom } from "./taken.ts";
import type { WindowShape } from "./windows.ts";

export interface ReplicaOptions extends AccountsOptions {
  readonly replica: string;
  now(): Clocks;
  send(tag: string, message: MessageWithKeys): void;
  /** The store has not answered for so long that it is taken for away. */
  onSilent?(tag: string): void;
  /** Beside what `whenLost` was handed. */
  onLost?(reservation: Reservation): void;
}

type Result = Reservation | Shortage;

/** As the metrics tell it. */
export interface ReplicaCounts {
  /** Reservations that leases answered, that asked the store, and that `on_store_failure` decided, some of them after they had asked. */
  readonly leased: number;
  readonly asked: number;
  readonly alone: number;
  /** Borrowed now and not spent, by unit. */
  readonly leasedUnits: Readonly<Record<string, number>>;
  /** That are kept in memory. */
  readonly accounts: number;
}

/** An answer of the store is good for a listing for so long. */
const FRESH_MS = 1000;
const SWEEP_MS = 5000;
/** Time to run that a process has for hearing the store, before it ends calls whose slots it could not renew. */
const HEARING_MS = 100;

const WINDOWS_MS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

export function shapeOfRule({ kind, unit, window }: LimitRule): WindowShape {
  if (unit === "concurrency" || window === null) return { kind: "slots", windowMs: 0 };
  if (kind === "budget")
    return { kind: window === "day" || window === "week" || window === "month" ? window : "total", windowMs: 0 };
  return { kind: "slide", windowMs: WINDOWS_MS[window as keyof typeof WINDOWS_MS] };
}

export class Replica implements TakenFrom {
  readonly #options: ReplicaOptions;
  readonly #accounts: AccountsOfRules;
  readonly #channelOptions: ChannelOptions;
  /** With slots. */
  readonly #held = new Set<Taken>();
  /** Whose slots were given to others, as the answer says that is being heard. */
  readonly #freed: Taken[] = [];
  readonly #running = new RunningTime();
  #openReservations = 0;
  #sweptMs = 0;
  #leased = 0;
  #asked = 0;
  #alone = 0;

  constructor(options: ReplicaOptions) {
    this.#options = options;
    this.#accounts = new AccountsOfRules(options);
    this.#channelOptions = {
      replica: options.replica,
      timings: options.timings,
      journal: options.journal,
      ownKey: (key) => options.keys.own(key, options.replica),
      send: (channel, message) => options.send(channel.tag, message),
      silent: (channel) => options.onSilent?.(channel.tag),
      slotsFreed: (account) => this.#freed.push(...this.#closedAt(account)),
    };
  }

  /** Null: `done` is called later. */
  reserve(asked: readonly Need[], done: (result: Result) => void): Result | null {
    const now = this.#now();
    if (asked.length === 0) return new Taken(this, this.#accounts.channelOf(""), [], [], [], []);
    const needs = asked.every(({ units }) => wholeUnits(units) === units)
      ? asked
      : asked.map((need) => ({ ...need, units: wholeUnits(need.units) }));
    return this.#reserveHere(needs, now) ?? this.#ask(needs, now, done);
  }

  /** Null: `done` is called later; so it is of `first`. */
  standing(account: Account, done: (standing: Standing) => void): Standing | null {
    const known = this.#inquire(account, null, (_, found) => done(standingOf(found)));
    return known === null ? null : standingOf(known);
  }

  first(account: Account, mark: string, done: (isFirst: boolean) => void): boolean | null {
    return this.#inquire(account, mark, done) === null ? null : true;
  }

  hear(tag: string, sequence: number, answer: Answer): void {
    hear(this.#accounts.channelOf(tag), sequence, answer, this.#now(), this.#channelOptions);
    for (const taken of this.#freed.splice(0)) this.#lose(taken);
  }

  /** The message did not reach the store, as far as is known. */
  fail(tag: string, sequence: number): void {
    fail(this.#accounts.channelOf(tag), sequence, this.#now(), this.#channelOptions);
  }

  /** What became of the message is not known, and cannot be heard any more. */
  repeat(tag: string, sequence: number): void {
    repeat(this.#accounts.channelOf(tag), sequence, this.#channelOptions);
  }

  /** To be called every few milliseconds. */
  tick(): void {
    const stoodStill = this.#running.tick(this.#options.now());
    const now = this.#now();
    for (const channel of this.#accounts.channels()) {
      // what the store has given to others meanwhile, it says itself
      if (stoodStill) renewSlots(channel, now, 0, this.#channelOptions);
      tick(channel, now, this.#channelOptions);
    }
    if (this.#held.size > 0) this.#loseSlots(now);
    if (now.monoMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = now.monoMs;
    this.#accounts.sweep(now);
  }

  /** Says that it is there, and hears whether the store is. */
  greet(tag: string): void {
    flush(this.#accounts.channelOf(tag), this.#now(), this.#channelOptions, true);
  }

  /** Says what is left to say; what leases hold goes back. True when nothing is under way or unsaid. */
  drain(): boolean {
    const now = this.#now();
    let isQuiet = true;
    for (const channel of this.#accounts.channels()) {
      for (const account of channel.leased) for (const lease of account.leases) lease.endsMonoMs = now.monoMs;
      flush(channel, now, this.#channelOptions);
      if (channel.underWay !== null && !channel.isAway) isQuiet = false;
    }
    return isQuiet;
  }

  /** Reservations of which a need has not ended. */
  open(): number {
    return this.#openReservations;
  }

  counts(): ReplicaCounts {
    const now = this.#now();
    const leasedUnits: Record<string, number> = {};
    let accounts = 0;
    for (const channel of this.#accounts.channels()) {
      accounts += channel.accounts.size;
      for (const { unit, leases } of channel.leased)
        for (const lease of leases)
          if (lease.left > 0 && !isOver(lease, now)) leasedUnits[unit] = (leasedUnits[unit] ?? 0) + lease.left;
    }
    return { leased: this.#leased, asked: this.#asked, alone: this.#alone, leasedUnits, accounts };
  }

  taken(taken: Taken): void {
    if (taken.needs.length > 0) this.#openReservations += 1;
    for (const [index, account] of taken.accounts.entries()) {
      if (account.kind === "total") account.inUse += taken.needs[index]!.units;
      if (account.kind !== "slots") continue;
      this.#held.add(taken);
      taken.channel.slots.add(account);
    }
  }

  ended(channel: Channel, account: ReplicaAccount, bucket: number, units: number, used: number): void {
    if (account.kind === "slots") {
      this.#endSlot(channel, account, units);
      return;
    }
    if (account.kind === "total") {
      account.inUse -= units;
      // that nothing is held any more is told with the next message
      channel.dirty.add(account);
    }
    if (used === units) return;
    if (used > units) owe(account, bucket, used - units, this.#options.journal);
    else giveBack(account, bucket, units - used, this.#options.journal);
    this.#say(channel, account);
  }

  recorded(account: ReplicaAccount, bucket: number, units: number): void {
    recordCall(account, bucket, units, this.#options.journal);
  }

  endedAll(taken: Taken): void {
    this.#openReservations -= 1;
    this.#held.delete(taken);
  }

  /** A slot has no date: while slots are lent in advance it may serve the next call. */
  #endSlot(channel: Channel, account: ReplicaAccount, units: number): void {
    account.inUse -= units;
    const lease = account.leases[0];
    if (account.mode === LEASED && lease !== undefined && account.idle < lease.units) {
      lease.left += units;
      account.idle += units;
      return;
    }
    account.used -= units;
    this.#say(channel, account);
  }

  /** Where calls wait for each unit the store hears at once, else with the next report. */
  #say(channel: Channel, account: ReplicaAccount): void {
    channel.dirty.add(account);
    if (account.mode !== LEASED && !channel.isAway) flush(channel, this.#now(), this.#channelOptions);
  }

  #reserveHere(needs: readonly Need[], now: Moment): Reservation | null {
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
      noteDemand(account, units, now.monoMs, timings.demandMs);
      spend(account, lease, units);
      if (!account.wants && account.mode === LEASED && isLow(account)) {
        account.wants = true;
        channel.dirty.add(account);
        isShort = true;
      }
    }
    if (isShort) flush(channel, now, this.#channelOptions);
    this.#leased += 1;
    return new Taken(this, channel, needs, accounts, buckets, usedBefore);
  }

  #ask(needs: readonly Need[], now: Moment, done: (result: Result) => void): Result | null {
    const { timings } = this.#options;
    const channel = this.#accounts.channelOfRule(needs[0]!.account.rule);
    const accounts = needs.map(({ account, units }) => this.#accounts.accountOf(account, units, now));
    for (const [index, account] of accounts.entries())
      noteDemand(account, needs[index]!.units, now.monoMs, timings.demandMs);
    if (channel.isAway) return this.#reserveAlone(needs, accounts, channel, now);
    this.#asked += 1;
    for (const account of accounts) if (account.mode !== DIRECT) account.wants = true;
    channel.waiting.push({
      needs,
      accounts,
      onReserved: (buckets, usedBefore) => done(new Taken(this, channel, needs, accounts, buckets, usedBefore)),
      onShort: (index, used, fitsAtMs) => done(shortageOf(needs[index]!, accounts[index]!, used, fitsAtMs)),
      onAway: () => done(this.#reserveAlone(needs, accounts, channel, this.#now())),
      dueMs: now.monoMs,
      waitsUntilMs: null,
      isOver: false,
    });
    flush(channel, now, this.#channelOptions);
    return null;
  }

  #reserveAlone(needs: readonly Need[], accounts: readonly ReplicaAccount[], channel: Channel, now: Moment): Result {
    const { timings, journal } = this.#options;
    this.#alone += 1;
    const refusal = refusalAlone(needs, accounts, channel, now, timings);
    if (refusal !== null) return refusal;
    const { buckets, usedBefore } = chargeAlone(needs, accounts, channel, now, journal);
    return new Taken(this, channel, needs, accounts, buckets, usedBefore);
  }

  #inquire(
    asked: Account,
    mark: string | null,
    done: (isFirst: boolean, account: ReplicaAccount) => void,
  ): ReplicaAccount | null {
    const now = this.#now();
    const channel = this.#accounts.channelOfRule(asked.rule);
    const account = this.#accounts.accountOf(asked, 0, now);
    if (channel.isAway || (mark === null && now.monoMs - account.heardMs < FRESH_MS)) return account;
    channel.questions.push({ account, mark, onAnswer: (isFirst) => done(isFirst, account), isOver: false });
    flush(channel, now, this.#channelOptions);
    return null;
  }

  /**
   * A slot under a rule that is closed without the store, of which the store has not heard for two heartbeats, is not this replica's any more. A process that had no CPU
   * in that time first gets some to hear what the store says.
   */
  #loseSlots(now: Moment): void {
    const mostMs = MISSED_HEARTBEATS * this.#options.timings.heartbeatMs;
    for (const taken of this.#held) {
      const isLost = taken.accounts.some((account, index) => {
        if (!isClosedSlot(taken, account, index) || now.monoMs - account.renewedMs <= mostMs) return false;
        account.overdueSinceRanMs ??= now.ranMs;
        return now.ranMs - account.overdueSinceRanMs >= HEARING_MS;
      });
      if (isLost) this.#lose(taken);
    }
  }

  #closedAt(account: ReplicaAccount): readonly Taken[] {
    return [...this.#held].filter((taken) =>
      taken.accounts.some((each, index) => each === account && isClosedSlot(taken, each, index)),
    );
  }

  #lose(taken: Taken): void {
    if (!this.#held.delete(taken)) return;
    taken.end();
    this.#options.onLost?.(taken);
  }

  #now(): Moment {
    const { monoMs, wallMs } = this.#options.now();
    return { monoMs, wallMs, ranMs: this.#running.ms };
  }
}

function isClosedSlot({ needs }: Taken, { kind }: ReplicaAccount, index: number): boolean {
  return kind === "slots" && needs[index]!.account.rule.onStoreFailure === "closed";
}
