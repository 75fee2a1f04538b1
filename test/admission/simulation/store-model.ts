// A model of the store's script in TypeScript, for the simulation: the same message gives the same answer, which
// store-script.test.ts checks with random messages. It can be given four of the planted faults.
import {
  type AccountAnswer,
  type AccountLine,
  type Answer,
  CLOSED,
  DIRECT,
  DONE,
  JOIN_FIRST,
  LEASED,
  MIN_LEASED_CALLS,
  MIN_LEASED_WINDOW_MS,
  type MessageWithKeys,
  type Operation,
  type OperationAnswer,
  STALE,
} from "../../../src/admission/valkey/protocol.ts";
import { bucketAt, leavesAtMs, type WindowShape } from "../../../src/admission/valkey/windows.ts";
import { BUCKETS } from "../../../src/admission/windows.ts";

export type StoreFault =
  | "guessing for the dead"
  | "window by fixed bucket"
  | "refusal keeps the other account"
  | "old epoch trusted";

interface Hold {
  units: number;
  at: number;
  idle: number;
}

interface Count {
  buckets: Map<number, number>;
  holds: Map<string, Hold>;
  recalled: number;
  marks: Map<string, number>;
}

interface Group {
  sequences: Map<string, number>;
  joined: Map<string, string>;
  answers: Map<string, Answer>;
}

interface StoreData {
  epoch: { run: string; label: string; opens: number } | null;
  live: Map<string, number>;
  groups: Map<string, Group>;
  counts: Map<string, Count>;
  own: Map<string, Map<number, number>>;
}

export interface StoreModel {
  run(message: MessageWithKeys, nowMs: number): Answer;
  /** Another process answers from now on, with what `data` holds. */
  restart(data: StoreData): void;
  copy(): StoreData;
  empty(): StoreData;
  count(key: string): Count | undefined;
  own(key: string): ReadonlyMap<number, number>;
  /** The epoch in which each replica has stated what it charged. */
  joined(): ReadonlyMap<string, string>;
}

interface Working extends WindowShape {
  readonly key: string;
  readonly ownKey: string;
  readonly limit: number;
  readonly typical: number;
  readonly want: number;
  readonly count: Count;
  readonly now: number;
  used: number;
}

const emptyData = (): StoreData => ({
  epoch: null,
  live: new Map(),
  groups: new Map(),
  counts: new Map(),
  own: new Map(),
});

export function openStoreModel(fault: StoreFault | null = null): StoreModel {
  let data = emptyData();
  let runs = 1;
  let nowMs = 0;
  let message!: MessageWithKeys;

  const leaves = (shape: WindowShape, bucket: number): number | null => {
    if (fault === "window by fixed bucket" && shape.kind === "slide")
      return (Math.floor((bucket * shape.windowMs) / BUCKETS / shape.windowMs) + 1) * shape.windowMs;
    return leavesAtMs(shape, bucket, message.leaseLifeMs);
  };

  const openAccount = (line: AccountLine, index: number): Working => {
    const [limit, kind, windowMs, typical, want, hold, idle] = line;
    const key = message.keys[3 + 2 * index]!;
    let count = data.counts.get(key);
    if (count === undefined)
      data.counts.set(key, (count = { buckets: new Map(), holds: new Map(), recalled: 0, marks: new Map() }));
    const account: Working = {
      key,
      ownKey: message.keys[4 + 2 * index]!,
      limit,
      kind,
      windowMs,
      typical: Math.max(typical, 1),
      want,
      count,
      now: bucketAt({ kind, windowMs }, nowMs),
      used: 0,
    };
    for (const [bucket, units] of count.buckets) {
      const at = leaves(account, bucket);
      if (at !== null && at <= nowMs) count.buckets.delete(bucket);
      else account.used += units;
    }
    for (const [id, held] of count.holds) {
      if (fault === "guessing for the dead" && kind !== "slots" && id !== message.replica && held.at + 2000 < nowMs)
        giveForTheDead(account, id, held);
      if (kind !== "slots" || id === message.replica) continue;
      if (held.at + 3000 < nowMs) count.holds.delete(id);
      else account.used += held.units;
    }
    const mine = count.holds.get(message.replica);
    if (hold > 0) {
      count.holds.set(message.replica, {
        units: hold,
        at: kind !== "slots" && mine !== undefined ? mine.at : nowMs,
        idle,
      });
      if (kind === "slots") account.used += hold;
    } else count.holds.delete(message.replica);
    return account;
  };

  /** The fault: what was held unspent at the last message counts as unspent for ever. */
  const giveForTheDead = (account: Working, id: string, held: Hold): void => {
    account.count.holds.delete(id);
    const bucket = Math.max(...account.count.buckets.keys());
    const units = Math.min(held.idle, account.count.buckets.get(bucket) ?? 0);
    account.count.buckets.set(bucket, (account.count.buckets.get(bucket) ?? 0) - units);
    account.used -= units;
  };

  const ownOf = (account: Working): Map<number, number> => {
    let own = data.own.get(account.ownKey);
    if (own === undefined) data.own.set(account.ownKey, (own = new Map()));
    return own;
  };

  const add = (account: Working, bucketTold: number, told: number): void => {
    if (account.kind === "slots") return;
    const bucket = Math.min(bucketTold, account.now);
    const at = leaves(account, bucket);
    if (at !== null && at <= nowMs) return;
    const own = ownOf(account);
    const units = Math.max(told, -(own.get(bucket) ?? 0));
    if (units === 0) return;
    own.set(bucket, (own.get(bucket) ?? 0) + units);
    account.count.buckets.set(bucket, Math.max(0, (account.count.buckets.get(bucket) ?? 0) + units));
    account.used += units;
    for (const [each, left] of own) {
      const gone = leaves(account, each);
      if (left === 0 || (gone !== null && gone <= nowMs)) own.delete(each);
    }
  };

  const take = (account: Working, units: number): void => {
    if (account.kind !== "slots") return add(account, account.now, units);
    const mine = account.count.holds.get(message.replica);
    account.count.holds.set(message.replica, { units: (mine?.units ?? 0) + units, at: nowMs, idle: mine?.idle ?? 0 });
    account.used += units;
  };

  const holdReserved = ({ kind, count }: Working, units: number): void => {
    if (kind !== "total" || units === 0) return;
    const mine = count.holds.get(message.replica);
    count.holds.set(message.replica, {
      units: (mine?.units ?? 0) + units,
      at: mine?.at ?? nowMs,
      idle: mine?.idle ?? 0,
    });
  };

  const fitsAt = (account: Working, units: number): number => {
    if (units > account.limit || account.kind === "total") return -1;
    if (account.kind === "slots") return nowMs;
    if (account.kind !== "slide") return leaves(account, account.now)!;
    let used = account.used;
    let at = nowMs;
    for (const bucket of [...account.count.buckets.keys()].toSorted((a, b) => a - b)) {
      if (used + units <= account.limit) break;
      used -= account.count.buckets.get(bucket)!;
      at = leaves(account, bucket)!;
    }
    return at;
  };

  const reserve = (accounts: readonly Working[], operation: readonly number[], isOpen: boolean): OperationAnswer => {
    if (!isOpen) return [2];
    let worst: { account: Working; at: number; need: number; order: number } | null = null;
    let worth = 1;
    const asked = new Map<Working, number>();
    for (let n = 0; n < operation.length; n += 3) {
      const account = accounts[operation[n]! - 1]!;
      const units = operation[n + 1]!;
      asked.set(account, (asked.get(account) ?? 0) + units);
      const missing = account.used + asked.get(account)! - account.limit;
      if (operation[n + 2] !== 0 || units === 0 || missing <= 0) continue;
      const at = fitsAt(account, units);
      let out = 0;
      for (const hold of account.count.holds.values())
        if (hold.at + message.leaseLifeMs + 150 >= nowMs) out += hold.idle;
      if (out > 0 && units <= account.limit) account.count.recalled = nowMs + 500;
      if (out < missing || units > account.limit) worth = 0;
      const order = at !== -1 ? at : units > account.limit ? 2 ** 52 : 2 ** 51;
      if (worst === null || order > worst.order) worst = { account, at, need: n / 3, order };
    }
    if (worst !== null) {
      if (fault === "refusal keeps the other account")
        for (let n = 0; n < worst.need * 3; n += 3) take(accounts[operation[n]! - 1]!, operation[n + 1]!);
      return [0, worst.need, worst.account.used, worst.at, worth];
    }
    const done = [1];
    for (let n = 0; n < operation.length; n += 3) {
      const account = accounts[operation[n]! - 1]!;
      done.push(account.used);
      take(account, operation[n + 1]!);
      holdReserved(account, operation[n + 1]!);
    }
    return done;
  };

  const isFirst = ({ count, kind, windowMs, now }: Working, mark: string): OperationAnswer => {
    const told = count.marks.get(mark);
    if (told !== undefined && (kind === "slide" ? nowMs - told < windowMs : told >= now)) return [0];
    count.marks.set(mark, kind === "slide" ? nowMs : now);
    return [1];
  };

  const state = (account: Working, whole: number, pairs: readonly number[]): void => {
    const stated = new Map<number, number>();
    for (let n = 0; n < pairs.length; n += 2) {
      const bucket = Math.min(pairs[n]!, account.now);
      stated.set(bucket, (stated.get(bucket) ?? 0) + pairs[n + 1]!);
    }
    const before = new Map(ownOf(account));
    const newest = Math.max(-1, ...stated.keys());
    if (whole > 0)
      for (const [bucket, units] of before)
        if (!stated.has(bucket) && (whole === 1 || bucket > newest)) add(account, bucket, -units);
    for (const [bucket, units] of stated) add(account, bucket, units - (before.get(bucket) ?? 0));
  };

  const lineOf = (account: Working, replicas: number, isOpen: boolean): AccountAnswer => {
    const { limit, kind, windowMs, typical, want, count, now } = account;
    const cap = Math.floor(Math.max(0, limit - account.used) / (2 * replicas));
    const leasable = limit >= MIN_LEASED_CALLS * typical && (kind !== "slide" || windowMs >= MIN_LEASED_WINDOW_MS);
    const mode = !isOpen
      ? CLOSED
      : leasable && count.recalled <= nowMs && cap >= typical && cap * 4 >= want
        ? LEASED
        : DIRECT;
    const isCalendar = kind === "day" || kind === "week" || kind === "month";
    const valid = isCalendar ? Math.min(message.leaseLifeMs, leaves(account, now)! - nowMs) : message.leaseLifeMs;
    let granted = 0;
    if (mode === LEASED && want > 0) {
      granted = Math.min(Math.max(want, typical), cap);
      const mine = { ...(count.holds.get(message.replica) ?? { units: 0, at: nowMs, idle: 0 }) };
      take(account, granted);
      if (kind !== "slots")
        count.holds.set(message.replica, { units: mine.units + granted, at: nowMs, idle: mine.idle + granted });
      else if (granted > 0) count.holds.get(message.replica)!.idle += granted;
    }
    let newest: number | null = null;
    for (const [bucket, units] of count.buckets) if (units > 0 && (newest === null || bucket > newest)) newest = bucket;
    return [account.used, mode, granted, now, valid, (newest === null ? null : leaves(account, newest)) ?? -1];
  };

  const perform = (accounts: readonly Working[], operation: Operation, isOpen: boolean): OperationAnswer => {
    if (operation[0] === "r") return reserve(accounts, operation.slice(1) as number[], isOpen);
    const account = accounts[operation[1] - 1]!;
    if (operation[0] === "f") return isFirst(account, operation[2]);
    if (operation[0] === "g") add(account, operation[2], operation[3]);
    else add(account, account.now, operation[2]);
    return [];
  };

  return {
    run(given, at) {
      message = given;
      nowMs = at;
      const run = `run${runs}`;
      if (data.epoch?.run !== run) data.epoch = { run, label: `${run}.${at}`, opens: at + message.joinMs };
      const { label, opens } = data.epoch;
      const isOpen = at >= opens;
      const [, , groupKey] = message.keys;
      let group = data.groups.get(groupKey!);
      if (group === undefined)
        data.groups.set(groupKey!, (group = { sequences: new Map(), joined: new Map(), answers: new Map() }));
      const { replica, sequence, join } = message;
      const short = (status: number): Answer => [status, label, at, 0, 0, [], []];
      const isNew = join === 2 && message.epoch === "";
      if (fault === "old epoch trusted") group.joined.set(replica, label);
      else if (join !== 3 && !isNew && (message.epoch !== label || (join === 0 && group.joined.get(replica) !== label)))
        return short(JOIN_FIRST);
      const last = group.sequences.get(replica) ?? 0;
      if (sequence < last) return short(STALE);
      if (sequence === last && group.answers.has(replica)) return group.answers.get(replica)!;
      if (join !== 3) data.live.set(replica, at);
      const live = [...data.live].filter(([, seen]) => seen >= at - 10_000).map(([id]) => id);
      const accounts = message.accounts.map(openAccount);
      for (const [index, whole, ...pairs] of message.statements) state(accounts[index - 1]!, whole, pairs);
      const operations = message.operations.map((operation) => perform(accounts, operation, isOpen));
      const replicas = Math.max(1, live.length);
      const answer: Answer = [
        DONE,
        label,
        at,
        replicas,
        live.filter((id) => id < replica).length,
        accounts.map((account) => lineOf(account, replicas, isOpen)),
        operations,
      ];
      if (join === 2) group.joined.set(replica, label);
      if (join === 3) group.joined.delete(replica);
      else {
        group.sequences.set(replica, sequence);
        group.answers.set(replica, answer);
      }
      return answer;
    },
    restart(kept) {
      runs += 1;
      data = kept;
    },
    copy: () => structuredClone(data),
    empty: emptyData,
    count: (key) => data.counts.get(key),
    own: (key) => data.own.get(key) ?? new Map(),
    joined: () => data.groups.values().next().value?.joined ?? new Map(),
  };
}
