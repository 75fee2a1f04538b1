// The limits of one process, in its memory. Every operation is one synchronous block, so all accounts of a call are
// reserved or none of them is. What has to survive a restart is written to a keeper at intervals, and read from it at
// start-up.
import type { Clock } from "../core/clock.ts";
import type { LimitRule } from "../core/limit.ts";
import type { CountKeeper, JournalledCount, KeptCount } from "../store/limit-counts.ts";
import { keyOf, type KeptState, NOTHING_KEPT, ruleOfKey, stateOf, unitsOf } from "./kept-state.ts";
import type { Account, LimitStore, Need, Reservation, Settled, Shortage, Standing } from "./limit-store.ts";
import {
  advance,
  charge,
  corrected,
  type Count,
  emptyAtMs,
  fitsAtMs,
  giveBack,
  keptWindow,
  lower,
  newCount,
  restore,
  type Times,
} from "./windows.ts";

export interface MemoryLimitsOptions {
  readonly clock: Clock;
  /** `null` when no count survives the process. */
  readonly keeper?: CountKeeper | null;
  /** Counts that are newer than what was kept, because the previous process was killed. */
  readonly journalled?: readonly JournalledCount[];
  /** The same for a process that kept the counts while this one ran, and has ended. */
  readonly laterJournalled?: () => readonly JournalledCount[];
  /**
   * The most values of one rule with a count of their own. Further values share one count until one of these is idle.
   */
  readonly maxValues?: number;
  readonly keepEveryMs?: number;
  /** Reports an error of the keeper; counting continues. */
  readonly onFault?: (fault: unknown) => void;
}

const MAX_VALUES = 50_000;
/** How many values are checked for idleness whenever a new one appears. */
const LOOKED_AT = 4;
const KEEP_EVERY_MS = 100;
/** How many counts are written in one batch: the thread is blocked during the write. */
const KEPT_AT_ONCE = 500;
const MIN_KEPT_MS = 60_000;

/** One count with its name. */
interface Entry {
  readonly rule: string;
  readonly value: string;
  readonly count: Count;
  /** Marks of the current period that `first` has already seen. */
  marks: Set<string> | null;
  /** The stamp of the latest operation that changed the count. */
  stamp: number;
  /** Whether the entry is queued to be written. */
  isKept: boolean;
}

/** What a rule has counted so far. */
interface RuleEntries {
  readonly key: string;
  /** The count of a rule whose scope has no `*`, and of all values beyond the maximum. */
  only: Entry | null;
  /** Ordered from the least to the most recently used, once there are many. */
  readonly byValue: Map<string, Entry>;
}

export interface MemoryLimitStore extends LimitStore {
  /**
   * Returns a function that says whether everything counted up to this call has been written, so that no other record
   * of it is needed.
   */
  kept(): () => boolean;
}

export function openMemoryLimits(options: MemoryLimitsOptions): MemoryLimitStore {
  return new MemoryLimits(options);
}

class MemoryLimits implements MemoryLimitStore {
  readonly #clock: Clock;
  readonly #keeper: CountKeeper | null;
  readonly #laterJournalled: () => readonly JournalledCount[];
  readonly #maxValues: number;
  readonly #onFault: (fault: unknown) => void;
  readonly #rules = new Map<string, RuleEntries>();
  readonly #known = new WeakMap<LimitRule, RuleEntries>();
  readonly #unkept: Entry[] = [];
  /** How many entries were queued and how many were written since the start. The queue is first in, first out. */
  #due = 0;
  #written = 0;
  /**
   * What was kept when this process began beside another one that still keeps its own counts; `null` when this process
   * keeps the counts.
   */
  #beside: Map<string, KeptCount> | null = null;
  readonly #timer: ReturnType<typeof setInterval> | null;
  /**
   * The difference between the wall clock and the monotonic clock at start-up, so that sliding windows do not move when
   * the wall clock is set.
   */
  readonly #offsetMs: number;
  #stamp = 0;
  #open = 0;
  #hasFailed = false;
  #isClosed = false;

  constructor({
    clock,
    keeper = null,
    journalled = [],
    laterJournalled = () => [],
    maxValues = MAX_VALUES,
    keepEveryMs = KEEP_EVERY_MS,
    onFault = () => {},
  }: MemoryLimitsOptions) {
    this.#clock = clock;
    this.#keeper = keeper;
    this.#laterJournalled = laterJournalled;
    this.#maxValues = maxValues;
    this.#onFault = onFault;
    this.#offsetMs = clock.now() - clock.monotonic();
    if (keeper !== null) this.#restore(keeper, journalled);
    this.#timer = keeper === null ? null : setInterval(() => this.#keep(KEPT_AT_ONCE), keepEveryMs);
    this.#timer?.unref();
  }

  reserve(needs: readonly Need[]): Reservation | Shortage {
    const times = this.#times();
    const entries = needs.map(({ account }) => this.#entryOf(account, times));
    const short = shortest(needs, entries, times);
    if (short !== null) return short;
    const stamp = this.#nextStamp(times);
    const overdrawn: number[] = [];
    const before: Standing[] = [];
    const after: Standing[] = [];
    const buckets: number[] = [];
    for (let index = 0; index < needs.length; index++) {
      const {
        account: { rule },
        units,
        force,
      } = needs[index]!;
      const entry = entries[index]!;
      const { count } = entry;
      if (force && isShort(count, units, rule.limit)) overdrawn.push(index);
      before.push(standingOf(count, rule.limit, times));
      buckets.push(charge(count, units));
      count.open += 1;
      entry.stamp = stamp;
      after.push(standingOf(count, rule.limit, times));
      this.#keepLater(entry);
    }
    if (needs.length > 0) this.#open += 1;
    return this.#reservation(
      { needs, before, after, overdrawn, stamp: this.#beside === null ? stamp : undefined },
      entries,
      buckets,
    );
  }

  standing(account: Account): Standing {
    const times = this.#times();
    return standingOf(this.#entryOf(account, times).count, account.rule.limit, times);
  }

  first(account: Account, mark: string): boolean {
    const entry = this.#entryOf(account, this.#times());
    if (entry.marks?.has(mark) === true) return false;
    (entry.marks ??= new Set()).add(mark);
    this.#keepLater(entry);
    return true;
  }

  open(): number {
    return this.#open;
  }

  kept(): () => boolean {
    const keeper = this.#keeper;
    if (this.#isClosed && this.#beside !== null) return () => false;
    // Beside another process nothing is kept here.
    if (keeper === null || !this.#mayKeep(keeper)) return () => true;
    const due = this.#due;
    return () => this.#written >= due;
  }

  close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#keep(this.#unkept.length);
    this.#isClosed = true;
    this.#keeper?.close();
    return Promise.resolve();
  }

  #times(): Times {
    return { slidingMs: this.#clock.monotonic() + this.#offsetMs, wallMs: this.#clock.now() };
  }

  #reservation(
    told: Omit<Reservation, "settle" | "release">,
    entries: readonly Entry[],
    buckets: readonly number[],
  ): Reservation {
    const { needs } = told;
    const ended = needs.map(() => false);
    let left = needs.length;
    const end = (usedOf: (index: number) => number | null): Settled | null => {
      if (left === 0) return null;
      const times = this.#times();
      const stamp = this.#nextStamp(times);
      const after = needs.map((): Standing | null => null);
      for (let index = 0; index < needs.length; index++) {
        const units = usedOf(index);
        if (units === null || ended[index]!) continue;
        ended[index] = true;
        left -= 1;
        const entry = entries[index]!;
        const need = needs[index]!;
        endNeed(entry.count, need, buckets[index]!, Math.max(0, units), times);
        entry.stamp = stamp;
        after[index] = standingOf(entry.count, need.account.rule.limit, times);
        this.#keepLater(entry);
      }
      if (left === 0) this.#open -= 1;
      return { stamp: this.#beside === null ? stamp : undefined, after };
    };
    return { ...told, settle: (used) => end((index) => used[index] ?? null), release: () => void end(() => 0) };
  }

  #entryOf({ rule, value }: Account, times: Times): Entry {
    const entries = this.#entriesOf(rule);
    const entry =
      value === "" ? (entries.only ??= newEntry(entries, rule, "")) : this.#valued(entries, rule, value, times);
    if (advance(entry.count, times)) entry.marks = null;
    return entry;
  }

  #entriesOf(rule: LimitRule): RuleEntries {
    const there = this.#known.get(rule);
    if (there !== undefined) return there;
    const key = keyOf(rule);
    let entries = this.#rules.get(key);
    if (entries === undefined) this.#rules.set(key, (entries = { key, only: null, byValue: new Map() }));
    this.#known.set(rule, entries);
    return entries;
  }

  #valued(entries: RuleEntries, rule: LimitRule, value: string, times: Times): Entry {
    const { byValue } = entries;
    const there = byValue.get(value);
    if (there !== undefined) {
      if (byValue.size > this.#maxValues / 2) touch(byValue, value, there);
      return there;
    }
    // Each new value removes idle ones, so that they do not accumulate.
    dropIdle(byValue, times);
    if (byValue.size >= this.#maxValues) return (entries.only ??= newEntry(entries, rule, ""));
    const fresh = newEntry(entries, rule, value);
    byValue.set(value, fresh);
    return fresh;
  }

  /** Increases even when the wall clock is set back, and from one process to the next. */
  #nextStamp({ wallMs }: Times): number {
    return (this.#stamp = Math.max(this.#stamp + 1, Math.floor(wallMs) * 1000));
  }

  #restore(keeper: CountKeeper, journalled: readonly JournalledCount[]): void {
    const rows = keeper.read();
    if (!keeper.hold()) this.#beside = new Map(rows.map((row) => [nameOf(row), row]));
    const { dropped, later } = restoreAll(
      rows,
      journalled,
      this.#rules,
      this.#times(),
      (stamp) => (this.#stamp = Math.max(this.#stamp, stamp)),
    );
    for (const entry of later) this.#keepLater(entry);
    if (this.#beside !== null) return;
    keeper.write(dropped);
    this.#keep(later.length);
  }

  /** The other process has ended: what it counted while both ran is counted here as well. */
  #takeOver(keeper: CountKeeper, before: ReadonlyMap<string, KeptCount>): void {
    const times = this.#times();
    const kept = keeper.read();
    const there = new Set(kept.map(nameOf));
    // What is no longer kept counts nothing now.
    const gone = [...before.values()].filter((row) => !there.has(nameOf(row))).map((row) => ({ ...row, state: null }));
    for (const { rule: key, value, state } of laterStates([...kept, ...gone], this.#laterJournalled(), times)) {
      const { kind, window } = ruleOfKey(key);
      const more =
        unitsOf(state, { kind, window }, times) -
        unitsOf(stateOf(before.get(nameOf({ rule: key, value }))?.state ?? null), { kind, window }, times);
      this.#stamp = Math.max(this.#stamp, state.stamp ?? 0);
      const known = this.#rules.get(key);
      const counted = value === "" ? known?.only : known?.byValue.get(value);
      if (more === 0 && counted == null) continue;
      const entries = known ?? { key, only: null, byValue: new Map<string, Entry>() };
      this.#rules.set(key, entries);
      const entry = counted ?? newEntry(entries, { kind, window }, value);
      if (value === "") entries.only = entry;
      else entries.byValue.set(value, entry);
      advance(entry.count, times);
      // It is less when calls in flight at the start of this process used less than their reservations.
      if (more > 0) charge(entry.count, more);
      else if (more < 0) lower(entry.count, -more);
      // The joint count is newer than the last row of the other process, even where that process counted nothing more.
      entry.stamp = this.#nextStamp(times);
      this.#keepLater(entry);
    }
  }

  #keepLater(entry: Entry): void {
    if (this.#keeper === null || entry.isKept || !outlives(entry.count)) return;
    entry.isKept = true;
    this.#due += 1;
    this.#unkept.push(entry);
  }

  #mayKeep(keeper: CountKeeper): boolean {
    const before = this.#beside;
    if (before === null) return true;
    if (!keeper.hold()) return false;
    this.#beside = null;
    this.#takeOver(keeper, before);
    // The rows of calls counted beside the other process hold no stamp: until this write, their counts are stored
    // nowhere else.
    this.#write(keeper, this.#unkept.length);
    return true;
  }

  #keep(most: number): void {
    const keeper = this.#keeper;
    if (keeper !== null && this.#mayKeep(keeper)) this.#write(keeper, most);
  }

  #write(keeper: CountKeeper, most: number): void {
    if (this.#unkept.length === 0) return;
    const times = this.#times();
    const entries = this.#unkept.splice(0, most);
    const rows = entries.map((entry) => {
      advance(entry.count, times);
      return keptRow(entry, times);
    });
    try {
      keeper.write(rows);
      for (const entry of entries) entry.isKept = false;
      this.#written += entries.length;
      this.#hasFailed = false;
    } catch (fault) {
      // The entries are written again later, with their counts at that time. A disk that stays full is reported once.
      this.#unkept.push(...entries);
      if (!this.#hasFailed) this.#onFault(fault);
      this.#hasFailed = true;
    }
  }
}

function nameOf({ rule, value }: Pick<KeptCount, "rule" | "value">): string {
  return `${rule}\n${value}`;
}

/** A window that has passed before a process can start again is not worth keeping. */
function outlives({ slidesMs, window }: Count): boolean {
  return slidesMs === 0 ? window !== null : slidesMs >= MIN_KEPT_MS;
}

function newEntry({ key }: RuleEntries, rule: Pick<LimitRule, "kind" | "window">, value: string): Entry {
  return { rule: key, value, count: newCount(rule), marks: null, stamp: 0, isKept: false };
}

function touch(byValue: Map<string, Entry>, value: string, entry: Entry): void {
  byValue.delete(value);
  byValue.set(value, entry);
}

/**
 * Removes those of the least recently used values that count nothing; the others move to the end and are checked again
 * later.
 */
function dropIdle(byValue: Map<string, Entry>, times: Times): void {
  let left = LOOKED_AT;
  for (const [value, entry] of byValue) {
    if (left-- === 0) return;
    advance(entry.count, times);
    if (entry.count.total === 0 && entry.count.open === 0 && !entry.isKept) byValue.delete(value);
    else touch(byValue, value, entry);
  }
}

/** A need of 0 units always fits. */
function isShort({ total }: Count, units: number, limit: number): boolean {
  return units > 0 && total + units > limit;
}

function standingOf(count: Count, limit: number, times: Times): Standing {
  const { total } = count;
  return { limit, used: total, remaining: total < limit ? limit - total : 0, resetsAtMs: emptyAtMs(count, times) };
}

/** Of the needs that do not fit, the one that fits last. */
function shortest(needs: readonly Need[], entries: readonly Entry[], times: Times): Shortage | null {
  let found: Shortage | null = null;
  let lastMs = Number.NEGATIVE_INFINITY;
  for (let index = 0; index < needs.length; index++) {
    const need = needs[index]!;
    const {
      units,
      force,
      account: { rule },
    } = need;
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

/**
 * Unused units go back to the bucket from which they were taken; usage beyond the reservation is charged now. A slot is
 * given back in any case.
 */
function endNeed(count: Count, { account: { rule }, units }: Need, bucket: number, used: number, times: Times): void {
  advance(count, times);
  count.open -= 1;
  const kept = rule.unit === "concurrency" ? 0 : used;
  if (kept < units) giveBack(count, bucket, units - kept);
  else if (kept > units) charge(count, kept - units);
}

function keptRow({ rule, value, count, marks, stamp }: Entry, times: Times): KeptCount {
  const window = keptWindow(count, times);
  if (window === null && marks === null) return { rule, value, state: null };
  const state: KeptState = {
    stamp,
    parts: window?.parts ?? [[count.head, 0]],
    ...(marks !== null && { marks: [...marks] }),
  };
  return { rule, value, state: JSON.stringify(state) };
}

interface LaterState {
  readonly rule: string;
  readonly value: string;
  readonly state: KeptState;
}

/** What was kept, replaced by what the journal says where the journal is newer. */
function laterStates(
  rows: readonly KeptCount[],
  journalled: readonly JournalledCount[],
  times: Times,
): readonly LaterState[] {
  const kept = new Map(
    rows.map((row) => [`${row.rule}\n${row.value}`, { rule: row.rule, value: row.value, state: stateOf(row.state) }]),
  );
  for (const each of journalled) {
    const rule = keyOf(each);
    const state = kept.get(`${rule}\n${each.value}`)?.state ?? NOTHING_KEPT;
    if (each.stamp <= (state.stamp ?? 0)) continue;
    kept.set(`${rule}\n${each.value}`, {
      rule,
      value: each.value,
      state: {
        stamp: each.stamp,
        ...corrected(state, ruleOfKey(rule), Math.min(each.stamp / 1000, times.wallMs), each.total),
      },
    });
  }
  return [...kept.values()];
}

interface Restored {
  /** Rows that no longer count anything. */
  readonly dropped: readonly KeptCount[];
  /** Counts for which more is known than was kept. */
  readonly later: readonly Entry[];
}

/** Restores the counts before any call uses their rules. `seen` is called with every stamp. */
function restoreAll(
  rows: readonly KeptCount[],
  journalled: readonly JournalledCount[],
  rules: Map<string, RuleEntries>,
  times: Times,
  seen: (stamp: number) => void,
): Restored {
  const dropped: KeptCount[] = [];
  const later: Entry[] = [];
  const known = new Map(journalled.map((each) => [`${keyOf(each)}\n${each.value}`, each]));
  const restoreOne = (key: string, value: string, kept: KeptState): void => {
    const { kind, window } = ruleOfKey(key);
    const entries = rules.get(key) ?? { key, only: null, byValue: new Map<string, Entry>() };
    const entry = newEntry(entries, { kind, window }, value);
    const last = known.get(`${key}\n${value}`);
    const isLater = last !== undefined && last.stamp > (kept.stamp ?? 0);
    const { parts } = isLater
      ? corrected(kept, { kind, window }, Math.min(last.stamp / 1000, times.wallMs), last.total)
      : kept;
    entry.stamp = Math.max(kept.stamp ?? 0, last?.stamp ?? 0);
    seen(entry.stamp);
    restore(entry.count, { parts }, times);
    if (kept.marks !== undefined && kept.parts[0]?.[0] === entry.count.head) entry.marks = new Set(kept.marks);
    if (entry.count.total === 0 && entry.marks === null) {
      dropped.push({ rule: key, value, state: null });
      return;
    }
    rules.set(key, entries);
    if (value === "") entries.only = entry;
    else entries.byValue.set(value, entry);
    if (isLater) later.push(entry);
  };
  for (const { rule, value, state } of rows) {
    restoreOne(rule, value, stateOf(state));
    known.delete(`${rule}\n${value}`);
  }
  for (const each of known.values()) restoreOne(keyOf(each), each.value, { parts: [] });
  return { dropped, later };
}
