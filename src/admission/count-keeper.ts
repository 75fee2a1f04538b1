// Keeps the counts of limits over a restart: writes them to a count store at intervals, restores them at a start, and
// includes what other processes have counted that have ended.
import type { CountStore, JournalledCount, JournalledHold, KeptCount } from "../store/journal/limit-counts.ts";
import { JournalledAccounts, type LaterState, laterState, laterStates } from "./journalled-accounts.ts";
import { type KeptState, nameOf, ruleOfKey, stateOf, unitsOf } from "./kept-state.ts";
import type { MemoryAccounts } from "./memory-accounts.ts";
import { type Entry, keptRow, outlives } from "./memory-entries.ts";
import { advance, charge, lower, type Times } from "./windows.ts";

/** How many writes apart this process looks for others that have counted beside it and have ended. */
const ADD_EVERY = 10;

/** How this process counts while another one keeps the counts. */
interface CountingBeside {
  /** What was kept when this process began. */
  readonly before: ReadonlyMap<string, KeptCount>;
  /** The name under which the file has the counts of this process; `undefined` when the file did not take it. */
  readonly run: string | undefined;
}

export interface CountKeeperOptions {
  readonly countStore: CountStore;
  readonly accounts: MemoryAccounts;
  readonly times: () => Times;
  /** As in MemoryLimitsOptions. */
  readonly journalled: readonly JournalledCount[];
  readonly laterJournalled: () => readonly JournalledCount[];
  readonly holds: readonly JournalledHold[];
  readonly laterHolds: () => readonly JournalledHold[];
  readonly onFault: (fault: unknown) => void;
}

export class CountKeeper {
  readonly #options: Omit<CountKeeperOptions, "journalled" | "holds">;
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
  #hasFailed = false;
  #isClosed = false;

  /** Restores what was kept and journalled, before any call uses a count. */
  constructor({ journalled, holds, ...options }: CountKeeperOptions) {
    this.#options = options;
    this.#restore(journalled, holds);
  }

  /** The name under which the file has the counts of this process apart; `undefined` when it has none apart. */
  get run(): string | undefined {
    return this.#beside?.run;
  }

  /**
   * Whether a later process can continue from what an operation states: the file has this process's counts apart, or
   * none apart. `holder` is the worker for which the operation was made.
   */
  isOrdered(holder: string | undefined): boolean {
    return this.#beside === null ? this.#added.size === 0 || holder !== undefined : this.#beside.run !== undefined;
  }

  settledThrough(holder: string, settlement: number): void {
    this.#through.set(holder, settlement);
  }

  /** Queues a count that has changed. */
  keepLater(entry: Entry): void {
    if (entry.isKept || !outlives(entry.count)) return;
    entry.isKept = true;
    this.#due += 1;
    this.#unkept.push(entry);
  }

  /**
   * Returns a function that says whether everything counted up to this call has been written, so that no other record
   * of it is needed.
   */
  kept(): () => boolean {
    if (!this.#isClosed) this.#gather();
    else if (this.#beside !== null && this.#beside.run === undefined) return () => false;
    // Until the workers of earlier processes have ended, nothing else states what they hold.
    let due = this.#awaited.length === 0 ? this.#due : null;
    return () => {
      if (due === null && this.#awaited.length === 0) due = this.#due;
      return due !== null && this.#written >= due;
    };
  }

  /** Writes all that is due. */
  close(): void {
    this.keep(this.#unkept.length);
    this.#isClosed = true;
    this.#options.countStore.close();
  }

  /** Restores the counts before any call uses them. */
  #restore(journalled: readonly JournalledCount[], allHolds: readonly JournalledHold[]): void {
    const countStore = this.#options.countStore;
    const isBeside = !countStore.isHeld;
    const rows = isBeside ? this.#beginBeside() : countStore.read();
    const holds = isBeside ? [] : ofKept(allHolds, countStore);
    // One of which nothing is known may still begin a call that was granted.
    if (!isBeside) this.#awaited = countStore.runningHolders();
    const { dropped, later } = this.#options.accounts.restore(
      rows,
      new JournalledAccounts({ counts: journalled.filter(({ run }) => run === undefined), holds }, (holder) =>
        this.#awaited.includes(holder),
      ),
      this.#options.times(),
    );
    for (const entry of later) this.keepLater(entry);
    if (isBeside) return;
    this.#addEnded(
      () => journalled,
      () => allHolds,
    );
    countStore.write(dropped, []);
    this.#write(later.length);
  }

  #beginBeside(): readonly KeptCount[] {
    let rows: readonly KeptCount[];
    let run: string | undefined;
    try {
      rows = this.#options.countStore.beginBeside(this.#options.times().wallMs);
      run = this.#options.countStore.run;
    } catch (fault) {
      this.#options.onFault(fault);
      rows = this.#options.countStore.read();
    }
    this.#beside = { before: new Map(rows.map((row) => [nameOf(row), row])), run };
    return rows;
  }

  /** Includes what other processes have counted that have ended, and writes it at once. */
  #gather(): void {
    try {
      if (this.#beside !== null) {
        if (!this.#options.countStore.hold()) return;
        this.#awaited = runningHolders(this.#options.countStore.read(), this.#options.countStore);
        if (this.#awaited.length > 0) return;
        this.#takeOver(this.#beside);
      } else if (this.#awaited.length > 0) this.#settleEnded();
      this.#addEnded(this.#options.laterJournalled, this.#options.laterHolds);
    } catch (fault) {
      this.#failed(fault);
    }
    if (this.#added.size > 0) this.#write(this.#unkept.length);
  }

  /** The process that kept the counts has ended: what it counted while both ran is counted here as well. */
  #takeOver({ before, run }: CountingBeside): void {
    const times = this.#options.times();
    const kept = this.#options.countStore.read();
    const there = new Set(kept.map(nameOf));
    // What is no longer kept counts nothing now.
    const gone = [...before.values()].filter((row) => !there.has(nameOf(row))).map((row) => ({ ...row, state: null }));
    const journalled = new JournalledAccounts(
      {
        counts: this.#options.laterJournalled().filter((one) => one.run === undefined),
        holds: ofKept(this.#options.laterHolds(), this.#options.countStore),
      },
      () => false,
    );
    if (run !== undefined) this.#added.add(run);
    this.#beside = null;
    // The joint count is newer than the last row of the other process, even where that process counted nothing more.
    for (const later of laterStates([...kept, ...gone], journalled, times)) this.#add(later, before, times);
    // What was written apart so far is written with it.
    for (const entry of this.#options.accounts.all()) this.keepLater(entry);
  }

  /** Adds what other processes counted beside the one that kept the counts, and lets the file have it in one piece. */
  #addEnded(journalled: () => readonly JournalledCount[], journalledHolds: () => readonly JournalledHold[]): void {
    const ended = this.#options.countStore
      .endedBeside()
      .filter(
        ({ run, counted }) => !this.#added.has(run) && runningHolders(counted, this.#options.countStore).length === 0,
      );
    if (ended.length === 0) return;
    const times = this.#options.times();
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
  #settleEnded(): void {
    const ended = this.#awaited.filter((holder) => !this.#options.countStore.isHolderRunning(holder));
    if (ended.length === 0) return;
    const times = this.#options.times();
    const journals = new JournalledAccounts(
      { counts: [], holds: this.#options.laterHolds().filter(({ holder }) => ended.includes(holder)) },
      () => false,
    );
    const known = new Map(this.#options.accounts.all().map((entry) => [nameOf(entry), entry]));
    const held = new Map([...known].filter(([, { earlierHolds }]) => earlierHolds !== null));
    for (const [name, { rule, value }] of new Map([...journals.accounts, ...held])) {
      const { earlierHolds = null, restoredStamp = 0 } = known.get(name) ?? {};
      const holds = Object.entries(earlierHolds ?? {}).filter(([holder]) => ended.includes(holder));
      const before: KeptState = {
        stamp: restoredStamp,
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
      this.keepLater(entry);
    }
    this.#awaited = this.#awaited.filter((holder) => !ended.includes(holder));
  }

  /** Counts what another process has counted since `before`. */
  #add({ rule: key, value, state }: LaterState, before: ReadonlyMap<string, KeptCount>, times: Times): void {
    const { kind, window } = ruleOfKey(key);
    const more =
      unitsOf(state, { kind, window }, times) -
      unitsOf(stateOf(before.get(nameOf({ rule: key, value }))?.state ?? null), { kind, window }, times);
    this.#options.accounts.seen(state.stamp ?? 0);
    const counted = this.#options.accounts.counted(key, value);
    if (more === 0 && counted === null) return;
    const entry = counted ?? this.#options.accounts.begin(key, value);
    advance(entry.count, times);
    // It is less when calls in flight at the start of this process used less than their reservations.
    if (more > 0) charge(entry.count, more);
    else if (more < 0) lower(entry.count, -more);
    entry.stamp = this.#options.accounts.nextStamp(times);
    this.keepLater(entry);
  }

  /** Writes what is due, at most so many counts, and looks for other processes that have ended. */
  keep(most: number): void {
    if (this.#beside !== null || this.#writes++ % ADD_EVERY === 0) this.#gather();
    this.#write(most);
  }

  #write(most: number): void {
    const added = [...this.#added];
    if (this.#unkept.length === 0 && added.length === 0) return;
    const times = this.#options.times();
    // What was added is written in one piece with the removal of what it was added from.
    const entries = this.#unkept.splice(0, added.length > 0 ? this.#unkept.length : most);
    const rows = entries.map((entry) => {
      advance(entry.count, times);
      return keptRow(entry, times, this.#throughOf, this.#beside === null ? this.#awaited : []);
    });
    try {
      if (this.#beside === null) this.#options.countStore.write(rows, added);
      else if (this.#beside.run !== undefined) this.#options.countStore.writeBeside(rows);
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
    if (!this.#hasFailed) this.#options.onFault(fault);
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
