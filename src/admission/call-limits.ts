// One call under the limits and budgets that apply to its caller, from its first attempt to its end (promise 4.2): which
// accounts an attempt is charged to, what it reserves, which error it gets when there is no room, where budgets send it
// instead, and which rate limit headers its response has. Rules that count the call as a whole are reserved with the
// first attempt and topped up by later ones; rules that count attempts are reserved and settled with each attempt. A call
// with a long body asks for the smallest call first, before its body is read (promise 5.8).

// Decides (money and limits): With what is a call refused for a limit or budget? By: `reserve`. Also:
// `limit-errors.ts` (`refusalError`). Rule: 429 with `retry-after`, unless there will never be room; `model_unpriced` where
// a budget of money meets a model without a price, `limit_store_unavailable` where nothing can be counted.
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { type Account, type CallerLimits, countsAttempts, type LimitedTarget } from "../core/configured/limit.ts";
import type { LimitOutcome } from "../core/record/record.ts";
import { isPending, type MaybePromise, whenReady } from "../core/maybe-promise.ts";
import type { OnCharged } from "./budget-thresholds.ts";
import { HeldAccount, type HeldReservation } from "./held-account.ts";
import { type AttemptReservation, HeldAttempt } from "./held-attempt.ts";
import { type LimitRefusal, refusalError } from "./limit-errors.ts";
import { codeOf, isShortage, type LimitStore, type Need, type Reservation, type Shortage } from "./limit-store.ts";
import { AccountStatuses, rateHeaders } from "./rate-headers.ts";
import type { ReservationEstimate } from "./reservation-estimate.ts";
import { settleHeld } from "./settlement.ts";
import { type WantedAttempt, wantedAttempt } from "./wanted-attempt.ts";

/** Whose limits apply to a call. */
export interface LimitedCaller {
  readonly caller: CallerLimits;
  /** The end user that the request names, else `null`. */
  readonly user: string | null;
}

export interface CallLimitsOptions extends LimitedCaller {
  readonly store: LimitStore;
  readonly clock: Pick<Clock, "now">;
  readonly traceId?: string;
  readonly onCharged: OnCharged;
  /** Called when the call has lost its slot and has to end. */
  readonly onLost?: () => void;
  /** The list in the record, which is kept up to date. */
  readonly outcomes: LimitOutcome[];
}

/** `otherNames` are what else the target is called, as `<provider>:<name>`. */
export type AttemptedTarget = LimitedTarget & { readonly otherNames?: readonly string[] };

/**
 * The most limits and budgets of one call. Each is reserved, settled and recorded: thousands of them would take all the
 * time of the process that counts for all tenants.
 */
const MAX_ACCOUNTS = 256;

/**
 * A call is open until `settle`. Each of its attempts is wanted (`wantedAttempt`), asked for at the limit store, answered
 * (refused, or held), begun (`HeldAttempt`), sent, and settled (`settleHeld`); the end of the call settles what is left.
 */
export class CallLimits {
  readonly #options: CallLimitsOptions;
  #caller: CallerLimits;
  #user: string | null;
  /** The accounts of rules that count the call as a whole. */
  readonly #ofCall: HeldAccount[] = [];
  readonly #reservations: HeldReservation[] = [];
  readonly #attempts: HeldAttempt[] = [];
  readonly #statuses = new AccountStatuses();
  /** Where budgets have sent the call. */
  readonly #redirectedTo: string[] = [];
  #isCounted = false;
  #hasEnded = false;
  /** Attempts reserve one after the other: what the second needs depends on what the first was granted. */
  #reserving: Promise<unknown> | null = null;

  constructor(options: CallLimitsOptions) {
    this.#options = options;
    this.#caller = options.caller;
    this.#user = options.user;
  }

  /** Sets what is known of the caller once the body was read. */
  setCaller({ caller, user }: LimitedCaller): void {
    this.#caller = caller;
    this.#user = user;
  }

  get caller(): CallerLimits {
    return this.#caller;
  }

  /** Whether a budget has redirected the call by now to the target, which is named as the budget names it. */
  isRedirectedTo(name: string): boolean {
    return this.#redirectedTo.includes(name);
  }

  /**
   * The target is limited under each of its names, and counts once in each account. `target` is `null` for a call that goes
   * to no provider: rules that name a place do not apply to it.
   */
  accountsAt(target: AttemptedTarget | null): readonly Account[] {
    if (target === null) return this.#caller.ofEveryCall;
    const accounts = this.#caller.accountsAt(target, this.#user);
    const { otherNames = [] } = target;
    if (otherNames.length === 0) return accounts;
    const all = [...accounts];
    for (const model of otherNames)
      for (const other of this.#caller.accountsAt({ ...target, model }, this.#user))
        if (!all.some(({ rule, value }) => rule === other.rule && value === other.value)) all.push(other);
    return all;
  }

  /**
   * Asks for the smallest call under the rules that apply whatever the body says, before the body is read. An error says
   * why no call may run. The call keeps its places under concurrency limits, which its body would fill otherwise while it
   * arrives; everything else is given back until the first attempt. Budgets of money are left out: what costs nothing
   * has room in them.
   */
  admitUnread(): MaybePromise<GatewayError | null> {
    const { ofEveryCall } = this.#caller;
    if (ofEveryCall.length > MAX_ACCOUNTS) return tooMany(ofEveryCall.length);
    const needs = ofEveryCall
      .filter(({ rule: { mode, unit } }) => mode === "enforce" && unit !== "nano_usd")
      .map((account): Need => ({ account, units: 1, force: false }));
    return needs.length === 0
      ? null
      : whenReady(this.#options.store.reserve(needs, this.#options.traceId), (answer) => this.#admitted(answer));
  }

  #admitted(answer: Reservation | Shortage): GatewayError | null {
    if (isShortage(answer)) return this.#short(answer);
    const kept = answer.needs.map(({ account }) =>
      account.rule.unit === "concurrency" ? new HeldAccount(account) : null,
    );
    if (this.#hasEnded) answer.release();
    else {
      answer.settle(kept.map((held) => (held === null ? 0 : null)));
      if (kept.some((held) => held !== null)) this.#hold(answer, kept);
    }
    return null;
  }

  /**
   * Reserves what an attempt at the target may use; `target` is as in `accountsAt`. With `isRedirected`, a budget has
   * sent the call to this target, so that no other budget sends it elsewhere. An error says why the attempt may not run;
   * nothing was reserved for it then. The result is synchronous where no network is needed.
   */
  reserve(
    target: AttemptedTarget | null,
    estimate: ReservationEstimate,
    isRedirected: boolean,
  ): MaybePromise<AttemptReservation | GatewayError> {
    if (this.#reserving !== null) return this.#reserving.then(() => this.reserve(target, estimate, isRedirected));
    const accounts = this.accountsAt(target);
    if (accounts.length > MAX_ACCOUNTS) return tooMany(accounts.length);
    const wanted = wantedAttempt(accounts, estimate, (account) => this.#heldOfCall(account));
    if ("unpriced" in wanted) return this.#refuse({ kind: "unpriced", account: wanted.unpriced });
    if (wanted.needs.length === 0) return this.#begin(wanted, null);
    const answer = this.#options.store.reserve(wanted.needs, this.#options.traceId);
    if (!isPending(answer)) return this.#answered(answer, wanted, isRedirected);
    const answered = answer
      .then((late) => this.#answered(late, wanted, isRedirected))
      .finally(() => (this.#reserving = null));
    this.#reserving = answered.catch(() => {});
    return answered;
  }

  /**
   * Returns what marks everything that the call holds now as recorded, once the opening entry of the call is in the
   * ledger; `null` where the limit store does not need to know.
   */
  recording(): (() => void) | null {
    const held = this.#reservations.filter(({ reservation }) => reservation.recorded !== undefined);
    return held.length === 0 ? null : () => held.forEach(({ reservation }) => reservation.recorded?.());
  }

  /** Settles every open reservation. Attempts still in flight are charged what they are known to have used by now. */
  settle(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    for (const attempt of this.#attempts) attempt.settle();
    for (const held of this.#ofCall) held.endCall(this.#isCounted);
    for (const held of this.#reservations) this.#settle(held, "call");
  }

  headers(): Readonly<Record<string, string>> | null {
    return rateHeaders(this.#statuses, this.#options.clock.now());
  }

  #heldOfCall({ rule, value }: Account): HeldAccount | undefined {
    for (const held of this.#ofCall) if (held.account.value === value && held.account.rule === rule) return held;
    return undefined;
  }

  /** A call that has ended meanwhile, and one that a budget sends elsewhere, gives back what it was granted. */
  #answered(
    answer: Reservation | Shortage,
    wanted: WantedAttempt,
    isRedirected: boolean,
  ): AttemptReservation | GatewayError {
    if (isShortage(answer)) return this.#short(answer);
    const refused = this.#hasEnded
      ? tooLate(answer)
      : isRedirected || this.#caller.degradeTo.length === 0
        ? null
        : redirectedBy(answer, (account) => this.#heldOfCall(account) !== undefined);
    if (refused === null) return this.#begin(wanted, this.#hold(answer, wanted.needed));
    answer.release();
    return this.#refuse(refused);
  }

  #begin(wanted: WantedAttempt, held: HeldReservation | null): AttemptReservation {
    const attempt = new HeldAttempt(this, wanted, held);
    this.#attempts.push(attempt);
    return attempt;
  }

  #short(shortage: Shortage): GatewayError {
    this.#recordShortage(shortage);
    return this.#refuse({ kind: "short", shortage });
  }

  /** An account is `null` where its need has ended. */
  #hold(reservation: Reservation, accounts: (HeldAccount | null)[]): HeldReservation {
    const { after } = reservation;
    const { onLost } = this.#options;
    const held: HeldReservation = { reservation, accounts };
    if (onLost !== undefined) reservation.whenLost?.(onLost);
    this.#reservations.push(held);
    for (let index = 0; index < accounts.length; index++) {
      const each = accounts[index] ?? null;
      if (each === null) continue;
      const { account } = each;
      if (each.latest === null && !countsAttempts(account.rule)) this.#ofCall.push(each);
      each.reserve(held, index, this.#options.outcomes);
      this.#statuses.set(account, after[index]!);
    }
    return held;
  }

  /** The call counts as a request. */
  countCall(): void {
    this.#isCounted = true;
  }

  /** To be called once, by each attempt that has reserved something, when it ends. */
  attemptEnded(held: HeldReservation): void {
    this.#settle(held, "attempt");
  }

  #settle(held: HeldReservation, endOf: "attempt" | "call"): void {
    for (const { account } of settleHeld(held, endOf, this.#statuses))
      if (account.rule.thresholds.length > 0) this.#options.onCharged(account, null);
  }

  #recordShortage(shortage: Shortage): void {
    const {
      need: { account },
      status,
    } = shortage;
    const { rule, value } = account;
    this.#options.outcomes.push({
      id: rule.id,
      value,
      unit: rule.unit,
      limit: rule.limit,
      before: status.used,
      reserved: 0,
      settled: 0,
      after: status.used,
      wouldRefuse: false,
      refused: codeOf(shortage),
    });
    this.#statuses.set(account, status);
    // while the store cannot be reached, the used amount is unknown
    const isKnown = !shortage.unavailable && shortage.isOfShare !== true;
    if (rule.thresholds.length > 0 && !shortage.exceedsLimit && isKnown) this.#options.onCharged(account, status);
  }

  #refuse(refused: LimitRefusal): GatewayError {
    if (refused.kind === "redirected") this.#redirectedTo.push(refused.degradeTo);
    // A budget that refuses a call degrades it too, if it has a target for that; one that cannot be asked refuses nothing.
    if (refused.kind === "short" && !refused.shortage.unavailable)
      for (const { degradeTo } of refused.shortage.need.account.rule.thresholds)
        if (degradeTo !== null) this.#redirectedTo.push(degradeTo);
    return refusalError(refused, this.#options.clock.now());
  }
}

function tooMany(count: number): GatewayError {
  return new GatewayError(
    "gateway_overloaded",
    `${count.toLocaleString("en-US")} limits and budgets apply to this call, and a call can be counted under at most ${MAX_ACCOUNTS}. Remove some of them, or narrow their scopes.`,
  );
}

/** The call ended while it waited, so its client is gone and the details of this refusal do not matter. */
function tooLate({ needs, before }: Reservation): LimitRefusal {
  return {
    kind: "short",
    shortage: { need: needs[0]!, status: before[0]!, fitsAtMs: null, exceedsLimit: false, unavailable: true },
  };
}

/**
 * The first budget whose usage before this attempt had already reached a threshold that sends its calls elsewhere. What the
 * call itself has reserved of a budget for earlier attempts does not count, so that such a budget does not either.
 */
function redirectedBy(
  { needs, before }: Reservation,
  isHeldByCall: (account: Account) => boolean,
): LimitRefusal | null {
  for (let index = 0; index < needs.length; index++) {
    const { account, force } = needs[index]!;
    const { used, limit } = before[index]!;
    const reached =
      force || isHeldByCall(account)
        ? undefined
        : account.rule.thresholds.findLast(
            ({ percent, degradeTo }) => degradeTo !== null && used * 100 >= percent * limit,
          );
    if (reached?.degradeTo != null)
      return { kind: "redirected", account, status: before[index]!, degradeTo: reached.degradeTo };
  }
  return null;
}
