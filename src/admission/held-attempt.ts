// One attempt of a call under limits: what it may use of each account, and what it has used of them when it ends.
import { countsAttempts, type LimitUnit } from "../core/configured/limit.ts";
import type { HeldAccount, HeldReservation } from "./held-account.ts";
import { type CountedUsage, countsOneByOne, NO_USAGE } from "./reservation-estimate.ts";
import type { WantedAttempt } from "./wanted-attempt.ts";

/** What one attempt has reserved. */
export interface AttemptReservation {
  /**
   * Called when an upstream request of the attempt is about to be sent, which counts from now on. `used` returns what the
   * attempt has used so far, and must not throw.
   */
  sent(used: () => CountedUsage): void;
  /** Counts the call as a request although nothing has been sent to a provider yet. */
  countCall(): void;
  /** The longest answer that limits in this unit assume where nothing bounds it; `null` when there are none. */
  assumedOutput(unit: LimitUnit): number | null;
  /** Settles the reservation with what the attempt has used. Later calls have no effect. */
  settle(): void;
}

/** The call, as its attempts need it. */
interface AttemptedCall {
  /** The call counts as a request. */
  countCall(): void;
  /** Settles the accounts of rules that count attempts. */
  attemptEnded(held: HeldReservation): void;
}

export class HeldAttempt implements AttemptReservation {
  readonly #call: AttemptedCall;
  readonly #accounts: readonly HeldAccount[];
  readonly #bounds: readonly number[];
  /** `null` when the call held enough already. */
  readonly #held: HeldReservation | null;
  /** `null` until something is sent. */
  #used: (() => CountedUsage) | null = null;
  /** The upstream requests that were sent, which may be fewer than were reserved. */
  #requests = 0;
  #isSettled = false;

  constructor(call: AttemptedCall, { accounts, bounds }: WantedAttempt, held: HeldReservation | null) {
    this.#call = call;
    this.#accounts = accounts;
    this.#bounds = bounds;
    this.#held = held;
    for (let index = 0; index < accounts.length; index++) accounts[index]!.inFlight += bounds[index]!;
  }

  sent(used: () => CountedUsage): void {
    this.#used = used;
    this.#requests += 1;
    this.#call.countCall();
  }

  countCall(): void {
    this.#call.countCall();
  }

  assumedOutput(unit: LimitUnit): number | null {
    let most: number | null = null;
    for (const {
      account: { rule },
    } of this.#accounts)
      if (rule.unit === unit) most = Math.max(most ?? 0, rule.assumeOutputTokens);
    return most;
  }

  settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    let countsUsage = false;
    let countsAttempt = false;
    for (const { account } of this.#accounts) {
      countsUsage ||= !countsOneByOne(account.rule);
      countsAttempt ||= countsAttempts(account.rule);
    }
    const used = this.#used !== null && countsUsage ? this.#used() : NO_USAGE;
    for (let index = 0; index < this.#accounts.length; index++) {
      const each = this.#accounts[index]!;
      each.inFlight -= this.#bounds[index]!;
      each.add(used, this.#requests);
    }
    if (countsAttempt && this.#held !== null) this.#call.attemptEnded(this.#held);
  }
}
