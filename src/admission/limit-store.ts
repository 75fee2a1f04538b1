// The port to the limit store: accounts on which calls reserve before they run, and settle afterwards. Drivers are
// memory.ts (one process), valkey/ (several replicas) and process/workers/remote-limits.ts (a worker, whose supervisor has
// the accounts); all pass test/contract/limit-store.suite.ts. They are explained in docs/design/sliding-windows.md and
// docs/design/shared-limits.md.

// Decides (money and limits): How many values of a limit's scope have a count of their own? By: `MAX_VALUES`. Also:
// `memory-accounts.ts` (`MemoryAccounts`), `valkey/accounts-of-rules.ts` (`AccountsOfRules`). Rule: 50,000 of each rule
// in a process, and 500,000 of all rules of a tenant; further ones share one count.
import type { Account } from "../core/configured/limit.ts";
import type { MaybePromise } from "../core/maybe-promise.ts";

export type { Account } from "../core/configured/limit.ts";

/**
 * The most values of one rule that have a count of their own, because clients may make values up. Further values share
 * one.
 */
export const MAX_VALUES = 50_000;
/** How many times as many all rules of a tenant have together, so that no tenant takes the memory of the others. */
export const FULL_RULES = 10;

export interface Need {
  readonly account: Account;
  /** Upper bound in the unit of the rule, at least 0. */
  readonly units: number;
  /** The need is charged whatever is left, and never refused: in audit mode, and above the limit already. */
  readonly force: boolean;
}

/**
 * How an account stood at the latest reading. With several replicas, this is the latest state known to this replica.
 */
export interface AccountStatus {
  readonly limit: number;
  readonly used: number;
  /** Never below 0. */
  readonly remaining: number;
  /**
   * When everything that counts now will have left the window, in milliseconds since 1970. `null` when that never
   * happens, or when nothing counts.
   */
  readonly resetsAtMs: number | null;
}

/** How an account stands, for people. */
export interface AccountReading extends AccountStatus {
  /** The part of `used` that is set aside for calls that run; `null` where this process does not know it. */
  readonly reserved: number | null;
}

/** What is known of the accounts after needs have ended. */
export interface Settled {
  /** See `Reservation.stamp`. */
  readonly stamp?: number | undefined;
  /** See `Reservation.run`. */
  readonly run?: string | undefined;
  /** In a worker: the number of this settlement among its own, from 1. */
  readonly settlement?: number | undefined;
  /** The status of the account of each need that was ended; `null` for the other needs, and where it is not known. */
  readonly after: readonly (AccountStatus | null)[];
}

/**
 * Units that are set aside. Each need is ended exactly once, by settle() or release(); ending it again has no effect.
 */
export interface Reservation {
  readonly needs: readonly Need[];
  /** The status of each need's account before the reservation, and after it. */
  readonly before: readonly AccountStatus[];
  readonly after: readonly AccountStatus[];
  /** The indexes of the forced needs that would have been refused. */
  readonly overdrawn: readonly number[];
  /**
   * The position of the reservation in the order of all operations, across restarts. Absent where other processes count
   * as well.
   */
  readonly stamp?: number | undefined;
  /** Names this process while it counts beside another one that keeps the counts. */
  readonly run?: string | undefined;
  /** In a worker: its name, by which later processes find in its journal what it held. */
  readonly holder?: string | undefined;
  /** In a worker: the number of this reservation among its own. */
  readonly id?: number;
  /**
   * Charges what each need really used, in the order of the needs; a value below 0 counts as 0. A need whose value is
   * `null` stays open and is ended by a later call, for example when an attempt has ended and the call has not. Never
   * waits. Returns `null` when the current status of the accounts is not known here.
   */
  settle(used: readonly (number | null)[]): Settled | null;
  /** Ends the needs that are still open as unused. Never waits. */
  release(): void;
  /**
   * Marks the reservation as recorded: the opening entry of the call is in the ledger. Should the process be killed
   * before the call ends, a recorded reservation stays charged, and an unrecorded one is given back. Absent when the
   * driver does not need to know.
   */
  recorded?(): void;
  /**
   * Registers `end`, which is called when the store has freed the slot of this call because it has not been in contact
   * with this replica for too long: the call has to end. Absent when that cannot happen.
   */
  whenLost?(end: () => void): void;
}

/** Nothing was reserved on any account. If several accounts are short, this is the one whose need fits last. */
export interface Shortage {
  readonly need: Need;
  readonly status: AccountStatus;
  /**
   * When this need will fit, as far as is known. `null` when waiting does not help: a budget without end, or a need
   * above the whole limit.
   */
  readonly fitsAtMs: number | null;
  /** The need is more than the whole limit. */
  readonly exceedsLimit: boolean;
  /** The store cannot be reached and the rule says `closed`. */
  readonly unavailable: boolean;
  /** The store cannot be reached, and the share of this replica has no room: what all replicas have used is not known. */
  readonly isOfShare?: true;
}

export interface LimitStore {
  /**
   * Reserves all needs or none. The result is synchronous where no network is needed; it never rejects. `call` is the
   * trace id of the call, by which what a dead worker held is found in its journal. `holder` names the worker for which
   * a supervisor reserves.
   */
  reserve(needs: readonly Need[], call?: string, holder?: string): MaybePromise<Reservation | Shortage>;
  /**
   * The settlements of a worker up to this number are applied next, which `file` will have when they are; then
   * `settledThrough` is called. Absent where a kill of this process loses all counts of it together.
   */
  settling?(file: string, settlement: number): void;
  /** Notes that all settlements of the worker up to this number have been applied. */
  settledThrough?(holder: string, settlement: number): void;
  /** Reads the status of an account, for listings and headers, without reserving. */
  status(account: Account): MaybePromise<AccountReading>;
  /**
   * Returns true only for the first caller in the current window of the account, across all replicas. For events that
   * are emitted once.
   */
  first(account: Account, mark: string): Promise<boolean>;
  /** The number of reservations that have an open need, for tests and for shutdown. */
  open(): number;
  /**
   * For a store shared by several replicas: how long part of it has been unreachable from here, and why; `null` when
   * all of it is reachable. Absent when the store is in this process.
   */
  outage?(): { readonly forMs: number; readonly reason: string } | null;
  close(): Promise<void>;
}

/** The error code that the client gets. */
export function codeOf({
  unavailable,
  need: {
    account: { rule },
  },
}: Shortage): "limit_store_unavailable" | "insufficient_quota" | "rate_limit_exceeded" {
  return unavailable
    ? "limit_store_unavailable"
    : rule.kind === "budget"
      ? "insufficient_quota"
      : "rate_limit_exceeded";
}

export function isShortage(result: Reservation | Shortage): result is Shortage {
  return "need" in result;
}
