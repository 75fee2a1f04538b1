// The limits of one process, in its memory. Every operation is one synchronous block, so all accounts of a call are
// reserved or none of them is. What has to survive a restart is written to a count store at intervals, and read from it at
// start-up.
import type { Clock } from "../core/clock.ts";
import type { LimitRule } from "../core/limit.ts";
import type { CountStore, JournalledCount, JournalledHold, KeptCount } from "../store/limit-counts.ts";
import { HeldUnits } from "./held-units.ts";
import { JournalledAccounts, type LaterState, laterState, laterStates } from "./journalled-accounts.ts";
import { type KeptState, keyOf, nameOf, ruleOfKey, stateOf, unitsOf } from "./kept-state.ts";
import type { Account, LimitStore, Need, Reservation, Settled, Shortage, AccountStatus } from "./limit-store.ts";
import { MemoryReservation } from "./memory-reservation.ts";
import {
  dropIdle,
  endNeed,
  type Entry,
  isShort,
  keptRow,
  moveToEnd,
  newEntry,
  outlives,
  restoreAll,
  type RuleEntries,
  shortest,
  statusOf,
} from "./memory-entries.ts";
import { advance, charge, lower, type Times } from "./windows.ts";

export interface MemoryLimitsOptions {
  readonly clock: Clock;
  /** `null` when no count survives the process. */
  readonly countStore?: CountStore | null;
  /** Counts that are newer than what was kept, because the previous process was killed. */
  readonly journalled?: readonly JournalledCount[];
  /** The same for processes that ran beside this one, and have ended. */
  readonly laterJournalled?: () => readonly JournalledCount[];
  /** What calls of workers held or used, by the journals of all workers that ran before. */
  readonly holds?: readonly JournalledHold[];
  /** The same now. */
  readonly laterHolds?: () => readonly JournalledHold[];
  /**
   * The most values of one rule with a count of their own. Further values share one count until one of these is idle.
   */
  readonly maxValues?: number;
  readonly keepEveryMs?: number;
  /** Reports an error of the count store; counting continues. */
  readonly onFault?: (fault: unknown) => void;
}

const MAX_VALUES = 50_000;
const KEEP_EVERY_MS = 100;
/** How many counts are written in one batch: the thread is blocked during the write. */
const KEPT_AT_ONCE = 500;
/** How many writes apart this process looks for others that have counted beside it and have ended. */
const ADD_EVERY = 10;

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

/** How this process counts while another one keeps the counts. */
interface CountingBeside {
  /** What was kept when this process began. */
  readonly before: ReadonlyMap<string, KeptCount>;
  /** The name under which the file has the counts of this process; `undefined` when the file did not take it. */
  readonly run: string | undefined;
}

class MemoryLimits implements MemoryLimitStore {
  readonly #clock: Clock;
  readonly #countStore: CountStore | null;
  readonly #laterJournalled: () => readonly JournalledCount[];
  readonly #laterHolds: () => readonly JournalledHold[];
  readonly #maxValues: number;
  readonly #onFault: (fault: unknown) => void;
  readonly #rules = new Map<string, RuleEntries>();
  readonly #known = new WeakMap<LimitRule, RuleEntries>();
  readonly #unkept: Entry[] = [];
  /** How many entries were queued and how many were written since the start. The queue is first in, first out. */
  #due = 0;
  #written = 0;
  /** `null` when this process keeps the counts. */
  #beside: CountingBeside | null = null;
  /** Processes whose counts beside are included in memory, while the file still has them apart. */
  readonly #added = new Set<string>();
  #writes = 0;
  /** The last settlement of each worker that has been applied. */
  readonly #through = new Map<string, number>();
  readonly #throughOf = (holder: string): number => this.#through.get(holder) ?? 0;
  /** Workers of earlier processes that still run: what they hold is settled when they have ended. */
  #awaited: readonly string[] = [];
  /** The latest stamp that was kept when this process began. */
  #restoredStamp = 0;
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
    countStore = null,
    journalled = [],
    laterJournalled = () => [],
    holds = [],
    laterHolds = () => [],
    maxValues = MAX_VALUES,
    keepEveryMs = KEEP_EVERY_MS,
    onFault = () => {},
  }: MemoryLimitsOptions) {
    this.#clock = clock;
    this.#countStore = countStore;
    this.#laterJournalled = laterJournalled;
    this.#laterHolds = laterHolds;
    this.#maxValues = maxValues;
    this.#onFault = onFault;
    this.#offsetMs = clock.now() - clock.monotonic();
    if (countStore !== null) this.#restore(countStore, journalled, holds);
    this.#timer = countStore === null ? null : setInterval(() => this.#keep(KEPT_AT_ONCE), keepEveryMs);
    this.#timer?.unref();
  }

  reserve(needs: readonly Need[], _call?: string, holder?: string): Reservation | Shortage {
    const times = this.#times();
    const entries: Entry[] = [];
    for (let index = 0; index < needs.length; index++) entries.push(this.#entryOf(needs[index]!.account, times));
    const short = shortest(needs, entries, times);
    if (short !== null) return short;
    const stamp = this.#nextStamp(times);
    const reservation = new MemoryReservation(
      this,
      needs,
      entries,
      this.#stampOf(stamp, holder),
      this.#beside?.run,
      holder,
    );
    const { before, after, overdrawn, buckets } = reservation;
    for (let index = 0; index < needs.length; index++) {
      const {
        account: {
          rule: { limit },
        },
        units,
        force,
      } = needs[index]!;
      const entry = entries[index]!;
      const { count } = entry;
      if (force && isShort(count, units, limit)) overdrawn.push(index);
      before.push(statusOf(count, limit, times));
      const bucket = charge(count, units);
      buckets.push(bucket);
      if (holder !== undefined && outlives(count)) (entry.held ??= new HeldUnits()).add(holder, bucket, units);
      count.open += 1;
      entry.stamp = stamp;
      after.push(statusOf(count, limit, times));
      this.#keepLater(entry);
    }
    if (needs.length > 0) this.#open += 1;
    return reservation;
  }

  /** Ends the needs of a reservation for which `used` has units; without `used`, all that are open, as unused. */
  endNeeds(reservation: MemoryReservation, used: readonly (number | null)[] | null): Settled | null {
    const { needs, entries, buckets, holder } = reservation;
    if (reservation.left === 0) return null;
    const times = this.#times();
    const stamp = this.#nextStamp(times);
    const after: (AccountStatus | null)[] = [];
    for (let index = 0; index < needs.length; index++) {
      const units = used === null ? 0 : (used[index] ?? null);
      const entry = entries[index]!;
      after.push(null);
      if (units === null || entry === null) continue;
      const need = needs[index]!;
      entries[index] = null;
      reservation.left -= 1;
      endNeed(entry.count, need, buckets[index]!, Math.max(0, units), times);
      if (holder !== undefined) entry.held?.remove(holder, buckets[index]!, need.units);
      entry.stamp = stamp;
      after[index] = statusOf(entry.count, need.account.rule.limit, times);
      this.#keepLater(entry);
    }
    if (reservation.left === 0) this.#open -= 1;
    return { stamp: this.#stampOf(stamp, holder), run: this.#beside?.run, after };
  }

  settledThrough(holder: string, settlement: number): void {
    this.#through.set(holder, settlement);
  }

  status(account: Account): AccountStatus {
    const times = this.#times();
    return statusOf(this.#entryOf(account, times).count, account.rule.limit, times);
  }

  async first(account: Account, mark: string): Promise<boolean> {
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
    const countStore = this.#countStore;
    if (countStore === null) return () => true;
    if (!this.#isClosed) this.#gather(countStore);
    else if (this.#beside !== null && this.#beside.run === undefined) return () => false;
    // Until the workers of earlier processes have ended, nothing else states what they hold.
    let due = this.#awaited.length === 0 ? this.#due : null;
    return () => {
      if (due === null && this.#awaited.length === 0) due = this.#due;
      return due !== null && this.#written >= due;
    };
  }

  close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#keep(this.#unkept.length);
    this.#isClosed = true;
    this.#countStore?.close();
    return Promise.resolve();
  }

  #times(): Times {
    return { slidingMs: this.#clock.monotonic() + this.#offsetMs, wallMs: this.#clock.now() };
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
      if (byValue.size > this.#maxValues / 2) moveToEnd(byValue, value, there);
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

  /**
   * The stamp where a later process can continue from what an operation states: the file has this process's counts
   * apart, or none apart.
   */
  #stampOf(stamp: number, holder: string | undefined): number | undefined {
    const isOrdered =
      this.#beside === null ? this.#added.size === 0 || holder !== undefined : this.#beside.run !== undefined;
    return isOrdered ? stamp : undefined;
  }

  #restore(countStore: CountStore, journalled: readonly JournalledCount[], allHolds: readonly JournalledHold[]): void {
    const isBeside = !countStore.isHeld;
    const rows = isBeside ? this.#beginBeside(countStore) : countStore.read();
    const holds = isBeside ? [] : ofKept(allHolds, countStore);
    const states = rows.map(({ state }) => stateOf(state));
    const holders = [...holds.map(({ holder }) => holder), ...states.flatMap(({ held = {} }) => Object.keys(held))];
    if (!isBeside) this.#awaited = [...new Set(holders)].filter((holder) => countStore.isHolderRunning(holder));
    this.#restoredStamp = Math.max(0, ...states.map(({ stamp = 0 }) => stamp));
    const { dropped, later } = restoreAll(
      rows,
      new JournalledAccounts({ counts: journalled.filter(({ run }) => run === undefined), holds }, (holder) =>
        this.#awaited.includes(holder),
      ),
      this.#rules,
      this.#times(),
      (stamp) => (this.#stamp = Math.max(this.#stamp, stamp)),
    );
    for (const entry of later) this.#keepLater(entry);
    if (isBeside) return;
    this.#addEnded(
      countStore,
      () => journalled,
      () => allHolds,
    );
    countStore.write(dropped, []);
    this.#write(countStore, later.length);
  }

  #beginBeside(countStore: CountStore): readonly KeptCount[] {
    let rows: readonly KeptCount[];
    let run: string | undefined;
    try {
      rows = countStore.beginBeside(this.#clock.now());
      run = countStore.run;
    } catch (fault) {
      this.#onFault(fault);
      rows = countStore.read();
    }
    this.#beside = { before: new Map(rows.map((row) => [nameOf(row), row])), run };
    return rows;
  }

  /** Includes what other processes have counted that have ended, and writes it at once. */
  #gather(countStore: CountStore): void {
    try {
      if (this.#beside !== null) {
        if (!countStore.hold()) return;
        this.#awaited = runningHolders(countStore.read(), countStore);
        if (this.#awaited.length > 0) return;
        this.#takeOver(countStore, this.#beside);
      } else if (this.#awaited.length > 0) this.#settleEnded(countStore);
      this.#addEnded(countStore, this.#laterJournalled, this.#laterHolds);
    } catch (fault) {
      this.#failed(fault);
    }
    if (this.#added.size > 0) this.#write(countStore, this.#unkept.length);
  }

  /** The process that kept the counts has ended: what it counted while both ran is counted here as well. */
  #takeOver(countStore: CountStore, { before, run }: CountingBeside): void {
    const times = this.#times();
    const kept = countStore.read();
    const there = new Set(kept.map(nameOf));
    // What is no longer kept counts nothing now.
    const gone = [...before.values()].filter((row) => !there.has(nameOf(row))).map((row) => ({ ...row, state: null }));
    const journalled = new JournalledAccounts(
      {
        counts: this.#laterJournalled().filter((one) => one.run === undefined),
        holds: ofKept(this.#laterHolds(), countStore),
      },
      () => false,
    );
    if (run !== undefined) this.#added.add(run);
    this.#beside = null;
    // The joint count is newer than the last row of the other process, even where that process counted nothing more.
    for (const later of laterStates([...kept, ...gone], journalled, times)) this.#add(later, before, times);
    // What was written apart so far is written with it.
    for (const { only, byValue } of this.#rules.values()) {
      if (only !== null) this.#keepLater(only);
      for (const entry of byValue.values()) this.#keepLater(entry);
    }
  }

  /** Adds what other processes counted beside the one that kept the counts, and lets the file have it in one piece. */
  #addEnded(
    countStore: CountStore,
    journalled: () => readonly JournalledCount[],
    journalledHolds: () => readonly JournalledHold[],
  ): void {
    const ended = countStore
      .endedBeside()
      .filter(({ run, counted }) => !this.#added.has(run) && runningHolders(counted, countStore).length === 0);
    if (ended.length === 0) return;
    const times = this.#times();
    const [counts, holds] = [journalled(), journalledHolds()];
    for (const { run, before, counted } of ended) {
      const known = new Map(before.map((row) => [nameOf(row), row]));
      const isOfRun = (each: JournalledCount | JournalledHold): boolean => each.run === run;
      const states = laterStates(
        counted,
        new JournalledAccounts({ counts: counts.filter(isOfRun), holds: holds.filter(isOfRun) }, () => false),
        times,
      );
      this.#added.add(run);
      for (const state of states) this.#add(state, known, times);
    }
  }

  /** Settles what workers of earlier processes held that have ended by now. */
  #settleEnded(countStore: CountStore): void {
    const ended = this.#awaited.filter((holder) => !countStore.isHolderRunning(holder));
    if (ended.length === 0) return;
    const times = this.#times();
    const journals = new JournalledAccounts(
      { counts: [], holds: this.#laterHolds().filter(({ holder }) => ended.includes(holder)) },
      () => false,
    );
    const held = new Map(
      [...this.#rules.values()]
        .flatMap(({ only, byValue }) => [...(only === null ? [] : [only]), ...byValue.values()])
        .filter(({ earlierHolds }) => earlierHolds !== null)
        .map((entry) => [nameOf(entry), entry]),
    );
    for (const [name, { rule, value }] of new Map([...journals.accounts, ...held])) {
      const holds = Object.entries(held.get(name)?.earlierHolds ?? {}).filter(([holder]) => ended.includes(holder));
      const before: KeptState = {
        stamp: this.#restoredStamp,
        parts: holds.flatMap(([, { parts }]) => parts),
        held: Object.fromEntries(holds),
      };
      const state = laterState(before, ruleOfKey(rule), journals.of(name), times) ?? before;
      this.#add(
        { rule, value, state },
        new Map([[name, { rule, value, state: JSON.stringify({ parts: before.parts }) }]]),
        times,
      );
    }
    for (const entry of held.values()) {
      const left = Object.entries(entry.earlierHolds!).filter(([holder]) => !ended.includes(holder));
      entry.earlierHolds = left.length === 0 ? null : Object.fromEntries(left);
      this.#keepLater(entry);
    }
    this.#awaited = this.#awaited.filter((holder) => !ended.includes(holder));
  }

  /** Counts what another process has counted since `before`. */
  #add({ rule: key, value, state }: LaterState, before: ReadonlyMap<string, KeptCount>, times: Times): void {
    const { kind, window } = ruleOfKey(key);
    const more =
      unitsOf(state, { kind, window }, times) -
      unitsOf(stateOf(before.get(nameOf({ rule: key, value }))?.state ?? null), { kind, window }, times);
    this.#stamp = Math.max(this.#stamp, state.stamp ?? 0);
    const known = this.#rules.get(key);
    const counted = value === "" ? known?.only : known?.byValue.get(value);
    if (more === 0 && counted == null) return;
    const entries = known ?? { key, only: null, byValue: new Map<string, Entry>() };
    this.#rules.set(key, entries);
    const entry = counted ?? newEntry(entries, { kind, window }, value);
    if (value === "") entries.only = entry;
    else entries.byValue.set(value, entry);
    advance(entry.count, times);
    // It is less when calls in flight at the start of this process used less than their reservations.
    if (more > 0) charge(entry.count, more);
    else if (more < 0) lower(entry.count, -more);
    entry.stamp = this.#nextStamp(times);
    this.#keepLater(entry);
  }

  #keepLater(entry: Entry): void {
    if (this.#countStore === null || entry.isKept || !outlives(entry.count)) return;
    entry.isKept = true;
    this.#due += 1;
    this.#unkept.push(entry);
  }

  #keep(most: number): void {
    const countStore = this.#countStore;
    if (countStore === null) return;
    if (this.#beside !== null || this.#writes++ % ADD_EVERY === 0) this.#gather(countStore);
    this.#write(countStore, most);
  }

  #write(countStore: CountStore, most: number): void {
    const added = [...this.#added];
    if (this.#unkept.length === 0 && added.length === 0) return;
    const times = this.#times();
    // What was added is written in one piece with the removal of what it was added from.
    const entries = this.#unkept.splice(0, added.length > 0 ? this.#unkept.length : most);
    const rows = entries.map((entry) => {
      advance(entry.count, times);
      return keptRow(entry, times, this.#throughOf);
    });
    try {
      if (this.#beside === null) countStore.write(rows, added);
      else if (this.#beside.run !== undefined) countStore.writeBeside(rows);
      this.#added.clear();
      for (const entry of entries) entry.isKept = false;
      this.#written += entries.length;
      this.#hasFailed = false;
    } catch (fault) {
      // The entries are written again later, with their counts at that time.
      this.#unkept.push(...entries);
      this.#failed(fault);
    }
  }

  /** A disk that stays full is reported once. */
  #failed(fault: unknown): void {
    if (!this.#hasFailed) this.#onFault(fault);
    this.#hasFailed = true;
  }
}

/** The workers that hold something of these counts, and run. */
function runningHolders(rows: readonly KeptCount[], countStore: CountStore): readonly string[] {
  const holders = new Set(rows.flatMap(({ state }) => Object.keys(stateOf(state).held ?? {})));
  return [...holders].filter((holder) => countStore.isHolderRunning(holder));
}

/** Without what processes count beside the one that keeps the counts: that is added with their counts. */
function ofKept(holds: readonly JournalledHold[], countStore: CountStore): readonly JournalledHold[] {
  const beside = new Set(countStore.besideRuns());
  return holds.filter(({ run }) => run === undefined || !beside.has(run));
}
