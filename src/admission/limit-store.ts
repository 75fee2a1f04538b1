// The port to what counts: accounts on which calls reserve before they run, and settle after it. Drivers: memory.ts (one process), valkey/ (many). All pass
// test/contract/limit-store.suite.ts. The algorithm is explained in docs/decisions.
import type { Account } from "../core/limit.ts";

export type { Account } from "../core/limit.ts";

export interface Need {
  readonly account: Account;
  /** Upper bound in the rule's unit; at least 0. */
  readonly units: number;
  /** Charged whatever is left, and never refused: audit mode, and what is above the bound already. */
  readonly force: boolean;
}

/** An account as it was when it was last looked at. Over several replicas this is the last that is known. */
export interface Standing {
  readonly limit: number;
  readonly used: number;
  /** Never below 0. */
  readonly remaining: number;
  /** When everything that counts now has left the window; null: never, or nothing does. Milliseconds since 1970. */
  readonly resetsAtMs: number | null;
}

/** What is known of accounts once needs have ended. */
export interface Settled {
  /** See `Reservation.stamp`. */
  readonly stamp?: number | undefined;
  /** Of each need that was ended, how its account stands now; null of the others. */
  readonly after: readonly (Standing | null)[];
}

/** Units that are set aside. Each need is ended exactly once, by settle() or release(); whoever ends it again changes nothing. */
export interface Reservation {
  readonly needs: readonly Need[];
  /** Of each need, before and after it was reserved. */
  readonly before: readonly Standing[];
  readonly after: readonly Standing[];
  /** The forced needs that would have been refused, by index. */
  readonly overdrawn: readonly number[];
  /** Its place in the order of all operations, over restarts; absent where others count as well. */
  readonly stamp?: number | undefined;
  /**
   * Charges what each need really used, in its order; below 0 is taken for 0. Null: that need goes on, and is ended by a later call (an attempt is over, and
   * the call is not). Never waits. Null: how the accounts stand now is not known here.
   */
  settle(used: readonly (number | null)[]): Settled | null;
  /** Nothing was used of what has not ended. Never waits. */
  release(): void;
  /** The call stands in the ledger: should the process be killed before the call ends, its reservation stays charged. What is not recorded is given back then. Absent: the driver needs no word of it. */
  recorded?(): void;
  /** `end` is called when a place was given to others, because the store has not heard of this replica for too long: the call has to end. Absent: that cannot be. */
  whenLost?(end: () => void): void;
}

/** Nothing was reserved anywhere. Of several accounts that are short the one is told whose need fits last. */
export interface Shortage {
  readonly need: Need;
  readonly standing: Standing;
  /** When this need fits, as far as is known; null: never by waiting (a budget without end, or more than the whole limit). */
  readonly fitsAtMs: number | null;
  /** The need is more than the whole limit. */
  readonly exceedsLimit: boolean;
  /** The store cannot be reached and the rule says `closed`. */
  readonly unavailable: boolean;
}

export interface LimitStore {
  /** All or nothing. Answers at once where no network is needed; never rejects. */
  reserve(needs: readonly Need[]): Reservation | Shortage | Promise<Reservation | Shortage>;
  /** For listings and headers; does not reserve. */
  standing(account: Account): Standing | Promise<Standing>;
  /** True for whoever asks first in the current window of the account, over all replicas: for events that are told once. */
  first(account: Account, mark: string): boolean | Promise<boolean>;
  /** Reservations of which a need is open, for tests and the end of the process. */
  open(): number;
  /** Where many count together: for how long some of them have not been reached from here, and why; null: all are. Absent: it is in this process. */
  away?(): { readonly forMs: number; readonly reason: string } | null;
  close(): Promise<void>;
}

/** What a caller hears of it. */
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
