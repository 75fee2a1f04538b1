// The reservation of one call on one or several accounts: each need is ended once, by settle() or release().
import type { Need, Reservation, AccountStatus } from "../limit-store.ts";
import { type ReplicaAccount, statusOf } from "./replica-account.ts";
import type { Channel } from "./channel-state.ts";
import { wholeUnits } from "./protocol.ts";

/** The owner of the reservation, which is notified of its changes. */
export interface ReservationOwner {
  reserved(reservation: ReplicaReservation): void;
  /** `used` of the `units` that were dated to the bucket were used. */
  settled(channel: Channel, account: ReplicaAccount, bucket: number, units: number, used: number): void;
  /** The units, which are dated to the bucket, belong to a call that is in the ledger. */
  recorded(account: ReplicaAccount, bucket: number, units: number): void;
  closed(reservation: ReplicaReservation): void;
  /** Calls `count` when the ledger states what the call has settled: at once, or when this turn of the event loop ends. */
  whenStated(call: string, count: () => void): void;
}

export class ReplicaReservation implements Reservation {
  readonly needs: readonly Need[];
  readonly before: readonly AccountStatus[];
  readonly after: readonly AccountStatus[];
  readonly overdrawn: readonly number[];
  readonly accounts: readonly ReplicaAccount[];
  readonly #call: string;
  readonly #owner: ReservationOwner;
  readonly #buckets: readonly number[];
  readonly channel: Channel;
  readonly #ended: boolean[];
  #open: number;
  #isRecorded = false;
  /** Ends the call after its slot was given to others. */
  endCall: () => void = () => {};

  constructor(
    from: ReservationOwner,
    channel: Channel,
    needs: readonly Need[],
    accounts: readonly ReplicaAccount[],
    buckets: readonly number[],
    usedBefore: readonly number[],
    call: string,
  ) {
    this.#owner = from;
    this.#call = call;
    this.needs = needs;
    this.accounts = accounts;
    this.#buckets = buckets;
    this.channel = channel;
    this.#open = needs.length;
    this.#ended = needs.map(() => false);
    const before: AccountStatus[] = [];
    const after: AccountStatus[] = [];
    const overdrawn: number[] = [];
    for (let index = 0; index < needs.length; index++) {
      const account = accounts[index]!;
      const { units, force } = needs[index]!;
      const used = usedBefore[index]!;
      before.push(statusOf(account, used));
      after.push(statusOf(account, used + units));
      if (force && used + units > account.limit) overdrawn.push(index);
      account.openNeeds += 1;
    }
    this.before = before;
    this.after = after;
    this.overdrawn = overdrawn;
    from.reserved(this);
  }

  recorded(): void {
    if (this.#isRecorded) return;
    this.#isRecorded = true;
    for (const [index, account] of this.accounts.entries())
      this.#owner.recorded(account, this.#buckets[index]!, this.needs[index]!.units);
  }

  settle(used: readonly (number | null)[]): null {
    this.#owner.whenStated(this.#call, () => {
      this.recorded();
      for (let index = 0; index < this.needs.length; index++) {
        const units = used[index];
        if (units !== null && units !== undefined) this.#end(index, wholeUnits(units));
      }
    });
    return null;
  }

  release(): void {
    this.settle(this.needs.map(() => 0));
  }

  whenLost(end: () => void): void {
    this.endCall = end;
  }

  #end(index: number, used: number): void {
    if (this.#ended[index] === true) return;
    this.#ended[index] = true;
    const account = this.accounts[index]!;
    account.openNeeds -= 1;
    this.#owner.settled(this.channel, account, this.#buckets[index]!, this.needs[index]!.units, used);
    this.#open -= 1;
    if (this.#open === 0) this.#owner.closed(this);
  }
}
