// An observer that sees every admission at the clock reading that allowed it. It reports when more was admitted than a
// limit allows in any window, and when units are charged at the store that were not used.
import type { LimitRule } from "../../../src/core/configured/limit.ts";
import type { Reservation } from "../../../src/admission/limit-store.ts";
import { TIMINGS } from "../../../src/admission/valkey/protocol.ts";
import { BUCKETS } from "../../../src/admission/windows.ts";
import { leavesAtMs } from "../../../src/admission/valkey/windows.ts";
import type { StoreModel } from "./store-model.ts";

export interface SimulatedAccount {
  readonly rule: LimitRule;
  readonly kind: "slide" | "day" | "total" | "slots";
  readonly windowMs: number;
}

export interface Observed {
  readonly reservation: Reservation;
  readonly node: string;
  /** True time. */
  readonly at: number;
  /** What it counts in each account: reserved, and once it is settled at most that. */
  units: number[];
  readonly accounts: readonly string[];
  runs: boolean;
  /** The store lost it, and the replica that could have stated it was unreachable when the store opened again: outside of what is promised. */
  excused: boolean;
}

const DAY_MS = 86_400_000;

export function openObserver(accounts: readonly SimulatedAccount[]) {
  const calls: Observed[] = [];
  const byAccount = new Map<string, { at: number; units: () => number; call: Observed }[]>(
    accounts.map(({ rule }) => [rule.id, []]),
  );
  /** Units that were charged, of each replica and account, with overruns. */
  const charged = new Map<string, { at: number; units: () => number }[]>();
  let lostAt: number | null = null;
  let epoch = "";
  let opensAt = 0;
  const chargedOf = (node: string, account: string): { at: number; units: () => number }[] => {
    const key = `${node} ${account}`;
    let list = charged.get(key);
    if (list === undefined) charged.set(key, (list = []));
    return list;
  };

  const overIn = ({ rule, kind, windowMs }: SimulatedAccount, at: number): string | null => {
    const list = byAccount.get(rule.id)!.filter(({ call }) => !call.excused);
    const told = (sum: number, what: string): string => `${rule.id}: ${sum} of ${rule.limit} admitted ${what}`;
    if (kind !== "slide") {
      const sum = list
        .filter((each) => kind === "total" || Math.floor(each.at / DAY_MS) === Math.floor(at / DAY_MS))
        .reduce((all, each) => all + each.units(), 0);
      return sum > rule.limit ? told(sum, kind) : null;
    }
    const near = list.filter((each) => Math.abs(each.at - at) < windowMs).toSorted((a, b) => a.at - b.at);
    let sum = 0;
    let first = 0;
    for (const each of near) {
      sum += each.units();
      while (near[first]!.at <= each.at - windowMs) sum -= near[first++]!.units();
      if (sum > rule.limit) return told(sum, `within ${windowMs} ms, up to ${each.at}`);
    }
    return null;
  };

  return {
    admitted(call: Observed, now: number, paused: ReadonlySet<string>): string | null {
      calls.push(call);
      for (const [index, id] of call.accounts.entries()) {
        byAccount.get(id)!.push({ at: call.at, units: () => call.units[index]!, call });
        chargedOf(call.node, id).push({ at: call.at, units: () => call.units[index]! });
      }
      for (const account of accounts) {
        if (!call.accounts.includes(account.rule.id)) continue;
        if (account.kind !== "slots") {
          const over = overIn(account, call.at);
          if (over !== null) return over;
          continue;
        }
        const running = calls.filter(
          (each) => each.runs && !each.excused && !paused.has(each.node) && each.accounts.includes(account.rule.id),
        );
        if (running.length > account.rule.limit)
          return `${account.rule.id}: ${running.length} of ${account.rule.limit} at once at ${now}`;
      }
      return null;
    },
    settled(call: Observed, used: readonly number[]): void {
      const { node } = call;
      for (const [index, units] of used.entries()) {
        const over = units - call.units[index]!;
        if (over > 0) chargedOf(node, call.accounts[index]!).push({ at: Number.POSITIVE_INFINITY, units: () => over });
        call.units[index] = Math.min(call.units[index]!, units);
      }
    },
    died(node: string): void {
      for (const call of calls) if (call.node === node) call.runs = false;
    },
    lost(now: number): void {
      lostAt = now;
      epoch = "";
    },
    /** After a loss, nothing can be done for a replica that has not stated its admissions when the store opens. */
    opened(label: string, now: number, store: StoreModel): void {
      if (lostAt === null) return;
      if (epoch !== label) {
        epoch = label;
        opensAt = now + TIMINGS.joinMs;
      }
      if (now < opensAt) return;
      const joined = store.joined();
      for (const call of calls) if (call.at <= now && joined.get(call.node) !== label) call.excused = true;
      lostAt = null;
    },
    short({ rule, kind, windowMs }: SimulatedAccount, node: string, store: StoreModel, now: number): string | null {
      if (kind === "slots") {
        const held = store.count(rule.id)?.holds.get(node)?.units ?? 0;
        const running = calls.filter(
          (call) => call.node === node && call.runs && call.accounts.includes(rule.id),
        ).length;
        return held > running && (store.count(rule.id)?.holds.get(node)?.at ?? 0) + 3000 >= now
          ? `${rule.id}: ${node} holds ${held} slots and uses ${running}`
          : null;
      }
      const shape = { kind, windowMs };
      let units = 0;
      for (const [bucket, each] of store.own(`${rule.id}:${node}`)) {
        const leaves = leavesAtMs(shape, bucket, TIMINGS.leaseLifeMs);
        if (leaves === null || leaves > now) units += each;
      }
      const since =
        kind === "slide" ? now - windowMs - windowMs / BUCKETS - 2 * TIMINGS.leaseLifeMs : Number.NEGATIVE_INFINITY;
      let used = 0;
      for (const each of chargedOf(node, rule.id)) if (each.at > since) used += each.units();
      const isOff = kind === "total" ? units !== used : units > used;
      const held = store.count(rule.id)?.holds.get(node)?.units ?? 0;
      const reserved = calls.reduce(
        (sum, call) =>
          call.node === node && call.runs
            ? sum + call.accounts.reduce((own, id, index) => (id === rule.id ? own + call.units[index]! : own), 0)
            : sum,
        0,
      );
      if (!isOff && kind === "total" && held !== reserved)
        return `${rule.id}: ${held} are held for calls of ${node}, which has reserved ${reserved}`;
      return isOff ? `${rule.id}: ${units} are charged for ${node}, which used ${used}` : null;
    },
  };
}
