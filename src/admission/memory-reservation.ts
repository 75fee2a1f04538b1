// The reservation of one call in the memory of this process. It is made for every call under limits, and so has its
// methods in common with all others.
import type { AccountStatus, Need, Reservation, Settled } from "./limit-store.ts";
import type { Entry } from "./memory-entries.ts";

/** The store that ends the needs of a reservation. */
interface NeedEnder {
  /** Without `used`, all needs that are open end as unused. */
  endNeeds(reservation: MemoryReservation, used: readonly (number | null)[] | null): Settled | null;
}

export class MemoryReservation implements Reservation {
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
  readonly #store: NeedEnder;

  constructor(
    store: NeedEnder,
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
