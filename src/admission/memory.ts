// The limits of one process, in its memory. Every operation is one synchronous block, so all accounts of a call are
// reserved or none of them is. What has to survive a restart is kept by count-keeper.ts.
import type { Clock } from "../core/clock.ts";
import type { CountStore, JournalledCount, JournalledHold } from "../store/journal/limit-counts.ts";
import { CountKeeper } from "./count-keeper.ts";
import { HeldUnits } from "./held-units.ts";
import {
  type Account,
  type AccountReading,
  type AccountStatus,
  type LimitStore,
  MAX_VALUES,
  type Need,
  type Reservation,
  type Settled,
  type Shortage,
} from "./limit-store.ts";
import { MemoryAccounts } from "./memory-accounts.ts";
import { endNeed, type Entry, isShort, outlives, shortest, statusOf } from "./memory-entries.ts";
import { charge, type Times } from "./windows.ts";

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
  /** As MAX_VALUES. */
  readonly maxValues?: number;
  readonly keepEveryMs?: number;
  /**
   * Hands to the operating system what the ledger has of these calls, of which something was settled. Called before
   * counts are kept, so that a later process finds in the ledger what the counts contain of a call.
   */
  readonly writeLedger?: (calls: readonly string[]) => void;
  /** Reports an error of the count store; counting continues. */
  readonly onFault?: (fault: unknown) => void;
}

const KEEP_EVERY_MS = 100;
/** How many counts are written in one batch: the thread is blocked during the write. */
const KEPT_AT_ONCE = 500;
const ALWAYS = (): boolean => true;

export function openMemoryLimits(options: MemoryLimitsOptions): MemoryLimits {
  return new MemoryLimits(options);
}

export class MemoryLimits implements LimitStore {
  readonly #clock: Clock;
  readonly #accounts: MemoryAccounts;
  /** `null` when no count survives the process. */
  readonly #keeper: CountKeeper | null;
  readonly #timer: ReturnType<typeof setInterval> | null;
  readonly #writeLedger: (calls: readonly string[]) => void;
  /** The calls of which something was settled since counts were kept last. */
  #settledCalls: string[] = [];
  /**
   * The difference between the wall clock and the monotonic clock at start-up, so that sliding windows do not move when
   * the wall clock is set.
   */
  readonly #offsetMs: number;
  #open = 0;

  constructor({
    clock,
    countStore = null,
    journalled = [],
    laterJournalled = () => [],
    holds = [],
    laterHolds = () => [],
    maxValues = MAX_VALUES,
    keepEveryMs = KEEP_EVERY_MS,
    writeLedger = () => {},
    onFault = () => {},
  }: MemoryLimitsOptions) {
    this.#clock = clock;
    this.#offsetMs = clock.now() - clock.monotonic();
    const accounts = new MemoryAccounts(maxValues);
    this.#accounts = accounts;
    const times = (): Times => this.#times();
    const keeper =
      countStore === null
        ? null
        : new CountKeeper({ countStore, accounts, times, journalled, laterJournalled, holds, laterHolds, onFault });
    this.#keeper = keeper;
    this.#writeLedger = writeLedger;
    this.#timer = keeper === null ? null : setInterval(() => this.#keep(keeper), keepEveryMs).unref();
  }

  reserve(needs: readonly Need[], call = "", holder?: string): Reservation | Shortage {
    const times = this.#times();
    this.#accounts.tidy(times);
    const entries: Entry[] = [];
    for (let index = 0; index < needs.length; index++)
      entries.push(this.#accounts.entryOf(needs[index]!.account, times));
    const short = shortest(needs, entries, times);
    if (short !== null) return short;
    const stamp = this.#accounts.nextStamp(times);
    const reservation = new MemoryReservation(
      this,
      needs,
      entries,
      call,
      this.#stampOf(stamp, holder),
      this.#keeper?.run,
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
      count.reserved += units;
      entry.stamp = stamp;
      after.push(statusOf(count, limit, times));
      this.#keeper?.keepLater(entry);
    }
    if (needs.length > 0) this.#open += 1;
    return reservation;
  }

  /** Ends the needs of a reservation for which `used` has units; without `used`, all that are open, as unused. */
  endNeeds(reservation: MemoryReservation, used: readonly (number | null)[] | null): Settled | null {
    const { needs, entries, buckets, call, holder } = reservation;
    if (reservation.left === 0) return null;
    // A worker has stated its calls itself.
    if (this.#keeper !== null && holder === undefined) this.#settledCalls.push(call);
    const times = this.#times();
    const stamp = this.#accounts.nextStamp(times);
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
      this.#keeper?.keepLater(entry);
    }
    if (reservation.left === 0) this.#open -= 1;
    return { stamp: this.#stampOf(stamp, holder), run: this.#keeper?.run, after };
  }

  settledThrough(holder: string, settlement: number): void {
    this.#keeper?.settledThrough(holder, settlement);
  }

  status(account: Account): AccountReading {
    const times = this.#times();
    const { count } = this.#accounts.entryOf(account, times);
    // What was reserved before the window began does not count in it.
    return { ...statusOf(count, account.rule.limit, times), reserved: Math.min(count.reserved, count.total) };
  }

  async first(account: Account, mark: string): Promise<boolean> {
    const entry = this.#accounts.entryOf(account, this.#times());
    const { count } = entry;
    if (count.marks?.has(mark) === true) return false;
    (count.marks ??= new Set()).add(mark);
    this.#keeper?.keepLater(entry);
    return true;
  }

  open(): number {
    return this.#open;
  }

  /**
   * Returns a function that says whether everything counted up to this call has been written, so that no other record
   * of it is needed.
   */
  kept(): () => boolean {
    this.#stateSettled();
    return this.#keeper === null ? ALWAYS : this.#keeper.kept();
  }

  close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#stateSettled();
    this.#keeper?.close();
    return Promise.resolve();
  }

  #keep(keeper: CountKeeper): void {
    this.#stateSettled();
    keeper.keep(KEPT_AT_ONCE);
  }

  #stateSettled(): void {
    const calls = this.#settledCalls;
    this.#settledCalls = [];
    this.#writeLedger(calls);
  }

  #times(): Times {
    return { slidingMs: this.#clock.monotonic() + this.#offsetMs, wallMs: this.#clock.now() };
  }

  /** The stamp of an operation where a later process can continue from it. */
  #stampOf(stamp: number, holder: string | undefined): number | undefined {
    return this.#keeper === null || this.#keeper.isOrdered(holder) ? stamp : undefined;
  }
}

/** The reservation of one call. One is made for every call under limits, so its methods are those of a class. */
class MemoryReservation implements Reservation {
  readonly needs: readonly Need[];
  readonly before: AccountStatus[] = [];
  readonly after: AccountStatus[] = [];
  readonly overdrawn: number[] = [];
  /** Its trace id. */
  readonly call: string;
  readonly stamp: number | undefined;
  readonly run: string | undefined;
  /** The worker for which it was made. */
  readonly holder: string | undefined;
  /** The count of each need; `null` once the need has ended. */
  readonly entries: (Entry | null)[];
  /** The bucket to which each need was charged. */
  readonly buckets: number[] = [];
  /** The number of needs that are open. */
  left: number;
  readonly #store: MemoryLimits;

  constructor(
    store: MemoryLimits,
    needs: readonly Need[],
    entries: Entry[],
    call: string,
    stamp: number | undefined,
    run: string | undefined,
    holder: string | undefined,
  ) {
    this.#store = store;
    this.needs = needs;
    this.entries = entries;
    this.call = call;
    this.left = needs.length;
    this.stamp = stamp;
    this.run = run;
    this.holder = holder;
  }

  settle(used: readonly (number | null)[]): Settled | null {
    return this.#store.endNeeds(this, used);
  }

  release(): void {
    this.#store.endNeeds(this, null);
  }
}
