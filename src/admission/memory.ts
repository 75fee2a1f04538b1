// The limits of one process, in its memory: every operation is one synchronous block, which nothing interrupts, so that all accounts of a call are reserved or
// none. What has to survive a restart is handed to a keeper from time to time, and taken from it at the start.
import type { Clock } from "../core/clock.ts";
import type { LimitRule } from "../core/limit.ts";
import type { CountKeeper, KeptCount } from "../store/limit-counts.ts";
import type { Account, LimitStore, Need, Reservation, Shortage, Standing } from "./limit-store.ts";
import { advance, charge, type Count, emptyAtMs, fitsAtMs, giveBack, keptWindow, type KeptWindow, newCount, restore, type Times } from "./windows.ts";

export interface MemoryLimitsOptions {
  readonly clock: Clock;
  /** Null: nothing survives the process. */
  readonly keeper?: CountKeeper | null;
  /** Values of one rule that have a count of their own; whoever comes beyond them shares one, until one of them is idle. */
  readonly maxValues?: number;
  /** What the keeper failed with; counting goes on. */
  readonly onFault?: (fault: unknown) => void;
}

const MAX_VALUES = 50_000;
/** Values that are looked at for one that is idle. */
const LOOKED_AT = 8;
const KEEP_EVERY_MS = 1_000;
/** Counts that are kept at once: the one thread waits while they are written. */
const KEPT_AT_ONCE = 2_000;
/** What leaves its window so soon is not worth keeping. */
const MIN_KEPT_MS = 60_000;

/** One count with its name. */
interface Entry {
  readonly rule: string;
  readonly value: string;
  readonly count: Count;
  /** Events of this period that were told. */
  marks: Set<string> | null;
  isKept: boolean;
}

/** What a rule has counted so far. */
interface RuleEntries {
  readonly key: string;
  /** Of a rule whose scope gives no values, and of the values that are too many. */
  only: Entry | null;
  /** The least recently used first, once they are many. */
  readonly byValue: Map<string, Entry>;
}

export function openMemoryLimits({ clock, keeper = null, maxValues = MAX_VALUES, onFault = () => {} }: MemoryLimitsOptions): LimitStore {
  const rules = new Map<string, RuleEntries>();
  const known = new WeakMap<LimitRule, RuleEntries>();
  const unkept: Entry[] = [];
  // milliseconds since 1970 by a clock that never goes back: what slides is not moved when somebody sets the time
  const offsetMs = clock.now() - clock.monotonic();
  const timesNow = (): Times => ({ slidingMs: clock.monotonic() + offsetMs, wallMs: clock.now() });
  let open = 0;

  const entriesOf = (rule: LimitRule): RuleEntries => {
    const there = known.get(rule);
    if (there !== undefined) return there;
    const key = keyOf(rule);
    let entries = rules.get(key);
    if (entries === undefined) rules.set(key, (entries = { key, only: null, byValue: new Map() }));
    known.set(rule, entries);
    return entries;
  };

  const entryOf = ({ rule, value }: Account, times: Times): Entry => {
    const entries = entriesOf(rule);
    const entry = value === "" ? (entries.only ??= newEntry(entries, rule, "")) : valued(entries, rule, value, times);
    if (advance(entry.count, times)) entry.marks = null;
    return entry;
  };

  const valued = (entries: RuleEntries, rule: LimitRule, value: string, times: Times): Entry => {
    const { byValue } = entries;
    const there = byValue.get(value);
    if (there !== undefined) {
      if (byValue.size > maxValues / 2) touch(byValue, value, there);
      return there;
    }
    if (byValue.size >= maxValues && !dropIdle(byValue, times)) return (entries.only ??= newEntry(entries, rule, ""));
    const fresh = newEntry(entries, rule, value);
    byValue.set(value, fresh);
    return fresh;
  };

  const keepLater = (entry: Entry): void => {
    if (keeper === null || entry.isKept || (entry.count.slidesMs === 0 ? entry.count.window === null : entry.count.slidesMs < MIN_KEPT_MS)) return;
    entry.isKept = true;
    unkept.push(entry);
  };

  const keep = (most: number): void => {
    if (keeper === null || unkept.length === 0) return;
    const times = timesNow();
    const rows = unkept.splice(0, most).map((entry) => {
      entry.isKept = false;
      advance(entry.count, times);
      return keptRow(entry, times);
    });
    try {
      keeper.write(rows);
    } catch (fault) {
      onFault(fault);
    }
  };

  if (keeper !== null) keeper.write(restoreAll(keeper.read(), rules, timesNow()));
  const timer = keeper === null ? null : setInterval(() => keep(KEPT_AT_ONCE), KEEP_EVERY_MS);
  timer?.unref();

  const reserve = (needs: readonly Need[]): Reservation | Shortage => {
    const times = timesNow();
    const entries = needs.map(({ account }) => entryOf(account, times));
    const short = shortest(needs, entries, times);
    if (short !== null) return short;
    const overdrawn: number[] = [];
    const before: Standing[] = [];
    const after: Standing[] = [];
    const buckets: number[] = [];
    for (let index = 0; index < needs.length; index++) {
      const { account: { rule }, units, force } = needs[index]!;
      const { count } = entries[index]!;
      if (force && isShort(count, units, rule.limit)) overdrawn.push(index);
      before.push(standingOf(count, rule.limit, times));
      buckets.push(charge(count, units));
      count.open += 1;
      after.push(standingOf(count, rule.limit, times));
      keepLater(entries[index]!);
    }
    open += 1;
    return reservation({ needs, before, after, overdrawn }, (index, used) => {
      const entry = entries[index]!;
      endNeed(entry.count, needs[index]!, buckets[index]!, used, timesNow());
      keepLater(entry);
    }, () => void (open -= 1));
  };

  return {
    reserve,
    standing(account) {
      const times = timesNow();
      return standingOf(entryOf(account, times).count, account.rule.limit, times);
    },
    first(account, mark) {
      const entry = entryOf(account, timesNow());
      if (entry.marks?.has(mark) === true) return false;
      (entry.marks ??= new Set()).add(mark);
      keepLater(entry);
      return true;
    },
    open: () => open,
    close() {
      if (timer !== null) clearInterval(timer);
      keep(unkept.length);
      keeper?.close();
      return Promise.resolve();
    },
  };
}

function newEntry({ key }: RuleEntries, rule: Pick<LimitRule, "kind" | "window">, value: string): Entry {
  return { rule: key, value, count: newCount(rule), marks: null, isKept: false };
}

function touch(byValue: Map<string, Entry>, value: string, entry: Entry): void {
  byValue.delete(value);
  byValue.set(value, entry);
}

/** Makes room for one more value by letting go of one that counts nothing. */
function dropIdle(byValue: Map<string, Entry>, times: Times): boolean {
  let looked = 0;
  for (const [value, entry] of byValue) {
    if (++looked > LOOKED_AT) return false;
    advance(entry.count, times);
    if (entry.count.total === 0 && entry.count.open === 0) return byValue.delete(value);
    touch(byValue, value, entry);
  }
  return false;
}

/** What needs nothing is never short. */
function isShort({ total }: Count, units: number, limit: number): boolean {
  return units > 0 && total + units > limit;
}

function standingOf(count: Count, limit: number, times: Times): Standing {
  const { total } = count;
  return { limit, used: total, remaining: total < limit ? limit - total : 0, resetsAtMs: emptyAtMs(count, times) };
}

/** Of the needs that do not fit the one that fits last. */
function shortest(needs: readonly Need[], entries: readonly Entry[], times: Times): Shortage | null {
  let found: Shortage | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < needs.length; index++) {
    const need = needs[index]!;
    const { units, force, account: { rule } } = need;
    const { count } = entries[index]!;
    if (force || !isShort(count, units, rule.limit)) continue;
    const exceedsLimit = units > rule.limit;
    const at = exceedsLimit ? null : fitsAtMs(count, units, rule.limit, times);
    const order = at ?? (exceedsLimit ? Number.POSITIVE_INFINITY : Number.MAX_VALUE);
    if (found !== null && order <= lastMs) continue;
    lastMs = order;
    found = { need, standing: standingOf(count, rule.limit, times), fitsAtMs: at, exceedsLimit, unavailable: false };
  }
  return found;
}

function reservation(told: Pick<Reservation, "needs" | "before" | "after" | "overdrawn">, end: (index: number, used: number) => void, allEnded: () => void): Reservation {
  const { needs } = told;
  const ended = needs.map(() => false);
  let left = needs.length;
  const settle = (used: readonly (number | null)[]): void => {
    if (left === 0) return;
    for (let index = 0; index < needs.length; index++) {
      const units = used[index] ?? null;
      if (units === null || ended[index]!) continue;
      ended[index] = true;
      left -= 1;
      end(index, Math.max(0, units));
    }
    if (left === 0) allEnded();
  };
  if (left === 0) allEnded();
  return { ...told, settle, release: () => settle(needs.map(() => 0)) };
}

/** A surplus goes back to where it was taken from; what was used beyond is charged now. A slot is given back in any case. */
function endNeed(count: Count, { account: { rule }, units }: Need, bucket: number, used: number, times: Times): void {
  advance(count, times);
  count.open -= 1;
  const kept = rule.unit === "concurrency" ? 0 : used;
  if (kept < units) giveBack(count, bucket, units - kept);
  else if (kept > units) charge(count, kept - units);
}

interface KeptState extends KeptWindow {
  readonly marks?: readonly string[];
}

function keptRow({ rule, value, count, marks }: Entry, times: Times): KeptCount {
  const window = keptWindow(count, times);
  if (window === null && marks === null) return { rule, value, state: null };
  const state: KeptState = { parts: window?.parts ?? [[count.head, 0]], ...(marks !== null && { marks: [...marks] }) };
  return { rule, value, state: JSON.stringify(state) };
}

/** A rule whose limit is changed goes on with its count; one whose unit or window is changed begins a new one. */
function keyOf({ tenantId, id, kind, unit, window }: LimitRule): string {
  return [tenantId, id, kind, unit, window].join("\n");
}

/** What it counted is there before the rule is asked for. Gives the rows of which nothing counts any more. */
function restoreAll(rows: readonly KeptCount[], rules: Map<string, RuleEntries>, times: Times): readonly KeptCount[] {
  const empty: KeptCount[] = [];
  for (const { rule: key, value, state } of rows) {
    const [, , kind, , window] = key.split("\n") as [string, string, LimitRule["kind"], string, LimitRule["window"]];
    let entries = rules.get(key);
    if (entries === undefined) rules.set(key, (entries = { key, only: null, byValue: new Map() }));
    const entry = newEntry(entries, { kind, window }, value);
    const kept = JSON.parse(state ?? '{"parts":[]}') as KeptState;
    restore(entry.count, kept, times);
    if (kept.marks !== undefined && kept.parts[0]?.[0] === entry.count.head) entry.marks = new Set(kept.marks);
    if (entry.count.total === 0 && entry.marks === null) empty.push({ rule: key, value, state: null });
    else if (value === "") entries.only = entry;
    else entries.byValue.set(value, entry);
  }
  return empty;
}
