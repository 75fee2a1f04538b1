// One call under the limits that apply to its caller: which accounts an attempt is charged to, which error it gets when
// there is no room, where budgets send it instead, and which rate limit headers its response has.
import type { GatewayError } from "../core/errors.ts";
import type { Account, CallerLimits, LimitedTarget } from "../core/limit.ts";
import type { LimitOutcome } from "../core/record.ts";
import { type Admitted, CallAdmission, type ReservationEstimate, isRefused, type Refused } from "./call-admission.ts";
import type { LimitStore } from "./limit-store.ts";
import { rateHeaders } from "./rate-headers.ts";
import { refusalError } from "./refusal.ts";
import type { OnCharged } from "./thresholds.ts";

/** A longer name of an end user is replaced by its hash. */
const MAX_USER = 256;

export interface LimitedCallOptions {
  readonly caller: CallerLimits;
  /** The end user that the request names, else `null`. */
  readonly user: string | null;
  readonly store: LimitStore;
  readonly onCharged: OnCharged;
  /** Called when the call has lost its slot and has to end. */
  readonly onLost?: () => void;
  /** The list in the record, which is kept up to date. */
  readonly outcomes: LimitOutcome[];
}

/** `deployed` is `<provider>:<name>` of the deployment that the request names in place of the model. */
type DeployedPlace = LimitedTarget & { readonly deployed?: string | null };

export class LimitedCall {
  readonly caller: CallerLimits;
  readonly user: string | null;
  readonly #admission: CallAdmission;
  /** Where budgets have sent the call. */
  readonly #degradedTo = new Set<string>();
  readonly #passedOver = new Set<string>();

  constructor({ caller, user, store, onCharged, onLost, outcomes }: LimitedCallOptions) {
    this.caller = caller;
    this.user =
      user === null || user.length <= MAX_USER ? user : new Bun.CryptoHasher("sha256").update(user).digest("hex");
    this.#admission = new CallAdmission(store, outcomes, onCharged, onLost);
  }

  /**
   * Whether a budget has sent the call to `degradeTo`. With `isAgain`, only if `degradeTo` was passed over before, when
   * no budget had sent the call there.
   */
  isSentTo(degradeTo: string, isAgain: boolean): boolean {
    const isSent = this.#degradedTo.has(degradeTo);
    if (!isSent) this.#passedOver.add(degradeTo);
    return isSent && (!isAgain || this.#passedOver.has(degradeTo));
  }

  /**
   * `isInstead` says that a budget has sent the call to this place. An error says why the attempt may not run; nothing
   * was reserved for it then.
   */
  admit(
    place: DeployedPlace,
    reservationEstimate: ReservationEstimate,
    isInstead: boolean,
    nowMs: () => number,
  ): Admitted | GatewayError | Promise<Admitted | GatewayError> {
    const accounts = this.accountsAt(place);
    const judge = (result: Admitted | Refused): Admitted | GatewayError =>
      isRefused(result) ? this.#refusal(result, nowMs()) : result;
    const result = this.#admission.begin(accounts, reservationEstimate, !isInstead && this.caller.degradeTo.length > 0);
    return result instanceof Promise ? result.then(judge) : judge(result);
  }

  /**
   * A deployment that the request names is limited in addition to the model, because a provider that has no deployments
   * calls the model.
   */
  accountsAt(place: DeployedPlace): readonly Account[] {
    const accounts = this.caller.accountsAt(place, this.user);
    if (place.deployed == null) return accounts;
    const others = this.caller
      .accountsAt({ ...place, model: place.deployed }, this.user)
      .filter((other) => !accounts.some(({ rule, value }) => rule === other.rule && value === other.value));
    return [...accounts, ...others];
  }

  /** Marks everything that the call holds now as recorded: the opening entry of the call is in the ledger. */
  recorded(): void {
    this.#admission.recorded();
  }

  /** Ends the call and settles every open reservation. */
  close(): void {
    this.#admission.close();
  }

  headers(nowMs: number): Readonly<Record<string, string>> | null {
    return rateHeaders(this.#admission.known, nowMs);
  }

  #refusal(refused: Refused, nowMs: number): GatewayError {
    if (refused.kind === "degraded") this.#degradedTo.add(refused.degradeTo);
    // A budget that refuses a call degrades it too, if it has a target for that.
    if (refused.kind === "short")
      for (const { degradeTo } of refused.shortage.need.account.rule.thresholds)
        if (degradeTo !== null) this.#degradedTo.add(degradeTo);
    return refusalError(refused, nowMs);
  }
}
