// One replica's side of limits that many share. While its leases have room a call is admitted here and now; else the store is asked, and while the store is
// away each rule's `on_store_failure` decides. It has no socket and no timer: see valkey.ts, and test/admission/simulation, which plays it with faults.
import type { Account, Need, Reservation, Shortage, Standing } from "../limit-store.ts";
import type { LimitRule } from "../../core/limit.ts";
import { giveBack, isLow, type Lease, leaseWithRoom, localRoom, type Moment, newAccount, noteDemand, noteTruth, owe, plus, type ReplicaAccount, type ReplicaFault, spend, standingOf } from "./account.ts";
import { type Channel, type ChannelOptions, fail, flush, hear, MISSED_HEARTBEATS, newChannel, storeNowMs, tick, type Waiting } from "./channel.ts";
import type { LeaseJournal } from "./lease-journal.ts";
import { type Answer, DIRECT, LEASED, type MessageWithKeys, type Timings } from "./protocol.ts";
import { bucketAt, leavesAtMs, type WindowShape } from "./windows.ts";

export interface ReplicaOptions {
  readonly replica: string;
  readonly timings: Timings;
  readonly journal: LeaseJournal;
  now(): Moment;
  /** Keys of a tenant's epoch, replicas and channels, of an account, and of a replica's part of an account. */
  readonly keys: { group(tag: string): readonly string[]; account(rule: LimitRule, value: string): string; own(accountKey: string, replica: string): string };
  send(tag: string, message: MessageWithKeys): void;
  /** Beside what `whenLost` was handed. */
  onLost?(reservation: Reservation): void;
  readonly shapeOf: (rule: LimitRule) => WindowShape;
  readonly fault?: ReplicaFault;
}

type Result = Reservation | Shortage;

export interface Replica {
  /** Null: `done` is called later. */
  reserve(needs: readonly Need[], done: (result: Result) => void): Result | null;
  standing(account: Account, done: (standing: Standing) => void): Standing | null;
  first(account: Account, mark: string, done: (isFirst: boolean) => void): boolean | null;
  hear(tag: string, sequence: number, answer: Answer): void;
  fail(tag: string, sequence: number): void;
  tick(): void;
  /** Says that it is there, and hears whether the store is. */
  greet(tag: string): void;
  /** Says what is left to say; what leases hold goes back. True when nothing is under way or unsaid. */
  drain(): boolean;
  open(): number;
}

interface Found {
  readonly channel: Channel;
  readonly values: Map<string, ReplicaAccount>;
}

/** An answer of the store is good for a listing for so long. */
const FRESH_MS = 1000;
/** Accounts that nobody used for so long, and that hold nothing, are forgotten. */
const IDLE_MS = 60_000;
/** Of one rule. */
const MAX_VALUES = 50_000;
const SWEEP_MS = 5000;

const WINDOWS_MS = { second: 1000, minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

export function shapeOfRule({ kind, unit, window }: LimitRule): WindowShape {
  if (unit === "concurrency" || window === null) return { kind: "slots", windowMs: 0 };
  if (kind === "budget") return { kind: window === "day" || window === "week" || window === "month" ? window : "total", windowMs: 0 };
  return { kind: "slide", windowMs: WINDOWS_MS[window as keyof typeof WINDOWS_MS] };
}

export function openReplica(options: ReplicaOptions): Replica {
  const { timings, journal, fault = null, replica, shapeOf } = options;
  const rules = new WeakMap<LimitRule, Found>();
  const rulesByKey = new Map<string, Found>();
  const channels = new Map<string, Channel>();
  const held = new Set<Taken>();
  let openReservations = 0;
  let sweptMs = 0;

  const channelOptions: ChannelOptions = {
    replica,
    timings,
    journal,
    fault,
    ownKey: (key) => options.keys.own(key, replica),
    send: (channel, message) => options.send(channel.tag, message),
  };

  const channelOf = (tag: string): Channel => {
    let channel = channels.get(tag);
    if (channel === undefined) channels.set(tag, (channel = newChannel(tag, options.keys.group(tag), 0)));
    return channel;
  };

  const foundOf = (rule: LimitRule): Found => {
    let found = rules.get(rule);
    if (found !== undefined) return found;
    // a rule whose limit is changed goes on with its count; one whose unit or window is changed begins a new one
    const key = [rule.tenantId, rule.id, rule.kind, rule.unit, rule.window].join("\n");
    found = rulesByKey.get(key);
    if (found === undefined) rulesByKey.set(key, (found = { channel: channelOf(rule.tenantId), values: new Map() }));
    for (const account of found.values.values()) account.limit = rule.limit;
    rules.set(rule, found);
    return found;
  };

  const accountOf = ({ rule, value: asked }: Account, units: number, now: Moment): ReplicaAccount => {
    const { values, channel } = foundOf(rule);
    let account = values.get(asked);
    if (account !== undefined) return account;
    // clients make values up: whoever comes beyond so many shares one account
    const value = values.size < MAX_VALUES ? asked : "";
    account = values.get(value);
    if (account === undefined) {
      account = newAccount(options.keys.account(rule, value), shapeOf(rule), rule.limit, units, now.monoMs);
      values.set(value, account);
      channel.accounts.add(account);
    }
    return account;
  };

  /** Ended need by need, each once. */
  class Taken implements Reservation {
    readonly needs: readonly Need[];
    readonly before: readonly Standing[];
    readonly after: readonly Standing[];
    readonly overdrawn: readonly number[];
    readonly accounts: readonly ReplicaAccount[];
    readonly #buckets: readonly number[];
    readonly #channel: Channel;
    readonly #ended: boolean[];
    #left: number;
    end: () => void = () => {};

    constructor(needs: readonly Need[], accounts: readonly ReplicaAccount[], buckets: readonly number[], usedBefore: readonly number[], channel: Channel) {
      this.needs = needs;
      this.accounts = accounts;
      this.#buckets = buckets;
      this.#channel = channel;
      this.#left = needs.length;
      this.#ended = needs.map(() => false);
      const before: Standing[] = [];
      const after: Standing[] = [];
      const overdrawn: number[] = [];
      for (let index = 0; index < needs.length; index++) {
        const account = accounts[index]!;
        const { units, force } = needs[index]!;
        const used = usedBefore[index]!;
        before.push(standingOf(account, used));
        after.push(standingOf(account, used + units));
        if (force && used + units > account.limit) overdrawn.push(index);
        account.openNeeds += 1;
        if (account.kind === "slots") held.add(this);
      }
      this.before = before;
      this.after = after;
      this.overdrawn = overdrawn;
      if (this.#left > 0) openReservations += 1;
    }

    settle(used: readonly (number | null)[]): null {
      for (let index = 0; index < this.needs.length; index++) {
        const units = used[index];
        if (units !== null && units !== undefined) this.#end(index, Math.max(0, units));
      }
      return null;
    }

    release(): void {
      for (let index = 0; index < this.needs.length; index++) this.#end(index, 0);
    }

    whenLost(end: () => void): void {
      this.end = end;
    }

    #end(index: number, used: number): void {
      if (this.#ended[index] === true) return;
      this.#ended[index] = true;
      const account = this.accounts[index]!;
      account.openNeeds -= 1;
      end(this.#channel, account, this.#buckets[index]!, this.needs[index]!.units, used);
      this.#left -= 1;
      if (this.#left > 0) return;
      openReservations -= 1;
      held.delete(this);
    }
  }

  const end = (channel: Channel, account: ReplicaAccount, bucket: number, units: number, used: number): void => {
    if (account.kind === "slots") {
      endSlot(channel, account, units);
      return;
    }
    if (used === units) return;
    if (used > units) owe(account, used - units);
    else if (fault === "surplus into the pocket" && account.leases.length > 0) {
      const lease = account.leases.at(-1)!;
      account.leases.push({ ...lease, place: -1, bucket, left: units - used, endsMonoMs: options.now().monoMs + timings.leaseLifeMs, endsWallMs: options.now().wallMs + timings.leaseLifeMs });
      account.idle += units - used;
    } else giveBack(account, bucket, units - used, journal);
    say(channel, account);
  };

  /** A slot has no date: while slots are lent in advance it may serve the next call. */
  const endSlot = (channel: Channel, account: ReplicaAccount, units: number): void => {
    account.inUse -= units;
    const lease = account.leases[0];
    if (account.mode === LEASED && lease !== undefined && account.idle < lease.units) {
      lease.left += units;
      account.idle += units;
      return;
    }
    account.used -= units;
    say(channel, account);
  };

  /** Where calls wait for each unit the store hears at once, else with the next report. */
  const say = (channel: Channel, account: ReplicaAccount): void => {
    channel.dirty.add(account);
    if (account.mode !== LEASED && !channel.isAway) flush(channel, options.now(), channelOptions);
  };

  const reserveHere = (needs: readonly Need[], now: Moment): Reservation | null => {
    const { length } = needs;
    const accounts: ReplicaAccount[] = [];
    const leases: Lease[] = [];
    for (let index = 0; index < length; index++) {
      const { account: asked, units } = needs[index]!;
      const account = accountOf(asked, units, now);
      const lease = leaseWithRoom(account, units, now, fault);
      if (lease === null || leases.includes(lease)) return null;
      accounts.push(account);
      leases.push(lease);
    }
    if (length === 0) return null;
    const { channel } = foundOf(needs[0]!.account.rule);
    const buckets: number[] = [];
    const usedBefore: number[] = [];
    let isShort = false;
    for (let index = 0; index < length; index++) {
      const account = accounts[index]!;
      const lease = leases[index]!;
      const { units } = needs[index]!;
      usedBefore.push(Math.max(0, account.used - account.idle));
      buckets.push(lease.bucket);
      noteDemand(account, units, now.monoMs, timings.demandMs);
      spend(account, lease, units, journal);
      if (!account.wants && account.mode === LEASED && isLow(account)) {
        account.wants = true;
        channel.dirty.add(account);
        isShort = true;
      }
    }
    if (isShort) flush(channel, now, channelOptions);
    return new Taken(needs, accounts, buckets, usedBefore, channel);
  };

  const shortage = (need: Need, account: ReplicaAccount, used: number, fitsAtMs: number | null, unavailable = false): Shortage => ({
    need,
    standing: standingOf(account, used),
    fitsAtMs,
    exceedsLimit: !unavailable && need.units > account.limit,
    unavailable,
  });

  /** The store is away: each rule says what happens. */
  const reserveAlone = (needs: readonly Need[], accounts: readonly ReplicaAccount[], channel: Channel, now: Moment): Result => {
    const storeMs = storeNowMs(channel, now);
    const wanted = new Map<ReplicaAccount, number>();
    for (const [index, need] of needs.entries()) {
      const account = accounts[index]!;
      const { onStoreFailure } = need.account.rule;
      if (need.force || onStoreFailure === "open") continue;
      if (onStoreFailure === "closed") return shortage(need, account, account.used - account.idle, null, true);
      const before = wanted.get(account) ?? 0;
      wanted.set(account, before + need.units);
      if (before + need.units <= localRoom(account, channel, storeMs, timings.leaseLifeMs)) continue;
      const isEver = need.units <= account.limit && account.kind !== "total";
      return shortage(need, account, account.limit, isEver ? (leavesAtMs(account, bucketAt(account, storeMs), timings.leaseLifeMs) ?? storeMs + FRESH_MS) : null);
    }
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
      plus(account.mine, bucket, units);
      plus(account.adds, bucket, units);
      noteTruth(account, bucket, journal);
    }
    return new Taken(needs, accounts, buckets, usedBefore, channel);
  };

  const ask = (needs: readonly Need[], now: Moment, done: (result: Result) => void): Result | null => {
    const { channel } = foundOf(needs[0]!.account.rule);
    const accounts = needs.map(({ account, units }) => accountOf(account, units, now));
    for (const [index, account] of accounts.entries()) noteDemand(account, needs[index]!.units, now.monoMs, timings.demandMs);
    if (channel.isAway) return reserveAlone(needs, accounts, channel, now);
    for (const account of accounts) if (account.mode !== DIRECT) account.wants = true;
    const waiting: Waiting = {
      needs,
      accounts,
      onReserved: (buckets, usedBefore) => done(new Taken(needs, accounts, buckets, usedBefore, channel)),
      onShort: (index, used, fitsAtMs) => done(shortage(needs[index]!, accounts[index]!, used, fitsAtMs < 0 ? null : fitsAtMs)),
      onAway: () => done(reserveAlone(needs, accounts, channel, options.now())),
      dueMs: now.monoMs,
      giveUpMs: now.monoMs + timings.answerMs,
      waitsUntilMs: null,
      isOver: false,
    };
    channel.waiting.push(waiting);
    flush(channel, now, channelOptions);
    return null;
  };

  const inquire = (asked: Account, mark: string | null, done: (isFirst: boolean, account: ReplicaAccount) => void): ReplicaAccount | null => {
    const now = options.now();
    const { channel } = foundOf(asked.rule);
    const account = accountOf(asked, 0, now);
    if (channel.isAway || (mark === null && now.monoMs - account.heardMs < FRESH_MS)) return account;
    channel.questions.push({ account, mark, onAnswer: (isFirst) => done(isFirst, account), giveUpMs: now.monoMs + timings.answerMs, isOver: false });
    flush(channel, now, channelOptions);
    return null;
  };

  /** A slot under a rule that is closed without the store, of which the store has not heard for two heartbeats, is not this replica's any more. */
  const loseSlots = (now: Moment): void => {
    const mostMs = MISSED_HEARTBEATS * timings.heartbeatMs;
    for (const taken of held)
      for (const [index, account] of taken.accounts.entries()) {
        if (account.kind !== "slots" || taken.needs[index]!.account.rule.onStoreFailure !== "closed") continue;
        if (now.monoMs - account.renewedMs <= mostMs && now.wallMs - account.renewedWallMs <= mostMs) continue;
        held.delete(taken);
        taken.end();
        options.onLost?.(taken);
        break;
      }
  };

  const sweep = (now: Moment): void => {
    sweptMs = now.monoMs;
    for (const { channel, values } of rulesByKey.values())
      for (const [value, account] of values) {
        if (now.monoMs - account.usedLastMs < IDLE_MS || account.openNeeds > 0 || account.mine.size > 0 || account.leases.length > 0 || account.owed > 0 || channel.dirty.has(account)) continue;
        if (channel.underWay?.accounts.includes(account) === true) continue;
        values.delete(value);
        channel.accounts.delete(account);
      }
  };

  return {
    reserve(needs, done) {
      const now = options.now();
      return reserveHere(needs, now) ?? (needs.length === 0 ? new Taken([], [], [], [], channelOf("")) : ask(needs, now, done));
    },
    standing(account, done) {
      const known = inquire(account, null, (_, found) => done(standingOf(found)));
      return known === null ? null : standingOf(known);
    },
    first: (account, mark, done) => (inquire(account, mark, done) === null ? null : true),
    hear(tag, sequence, answer) {
      hear(channelOf(tag), sequence, answer, options.now(), channelOptions);
    },
    fail(tag, sequence) {
      fail(channelOf(tag), sequence, options.now(), channelOptions);
    },
    tick() {
      const now = options.now();
      for (const channel of channels.values()) tick(channel, now, channelOptions);
      if (held.size > 0) loseSlots(now);
      if (now.monoMs - sweptMs >= SWEEP_MS) sweep(now);
    },
    greet(tag) {
      flush(channelOf(tag), options.now(), channelOptions, true);
    },
    drain() {
      const now = options.now();
      let isQuiet = true;
      for (const channel of channels.values()) {
        for (const account of channel.leased) for (const lease of account.leases) lease.endsMonoMs = now.monoMs;
        flush(channel, now, channelOptions);
        if (channel.underWay !== null && !channel.isAway) isQuiet = false;
      }
      return isQuiet;
    },
    open: () => openReservations,
  };
}
