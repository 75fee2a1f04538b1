// One call under the limits that apply to its caller: which accounts an attempt touches, what it hears when there is no room, where budgets send it instead,
// and what the head of the answer says of it.
import type { GatewayError } from "../core/errors.ts";
import type { Account, CallerLimits, LimitedPlace } from "../core/limit.ts";
import type { LimitTouch } from "../core/record.ts";
import { type Admitted, CallAdmission, type Demand, isRefused, type Refused } from "./call-admission.ts";
import type { LimitStore } from "./limit-store.ts";
import { rateHeaders } from "./rate-headers.ts";
import { refusalError } from "./refusal.ts";
import type { OnCharged } from "./thresholds.ts";

/** A longer name of an end user is told by its hash. */
const MAX_USER = 256;

export interface LimitedCallOptions {
  readonly caller: CallerLimits;
  /** The end user whom the request names; null: none. */
  readonly user: string | null;
  readonly store: LimitStore;
  readonly onCharged: OnCharged;
  /** Its place was given to others: it has to end. */
  readonly onLost?: () => void;
  /** The record's list, which is kept up to date. */
  readonly touches: LimitTouch[];
}

/** With `<provider>:<name>` of the deployment that the request has called in the model's place. */
type DeployedPlace = LimitedPlace & { readonly deployed?: string | null };

export class LimitedCall {
  readonly caller: CallerLimits;
  readonly user: string | null;
  readonly #admission: CallAdmission;
  /** Where budgets have sent it. */
  readonly #degradedTo = new Set<string>();
  readonly #passedOver = new Set<string>();

  constructor({ caller, user, store, onCharged, onLost, touches }: LimitedCallOptions) {
    this.caller = caller;
    this.user =
      user === null || user.length <= MAX_USER ? user : new Bun.CryptoHasher("sha256").update(user).digest("hex");
    this.#admission = new CallAdmission(store, touches, onCharged, onLost);
  }

  /** Whether a budget has sent the call there. `isAgain`: and it was passed over before, when none had. */
  isSentTo(degradeTo: string, isAgain: boolean): boolean {
    const isSent = this.#degradedTo.has(degradeTo);
    if (!isSent) this.#passedOver.add(degradeTo);
    return isSent && (!isAgain || this.#passedOver.has(degradeTo));
  }

  /** `isInstead`: a budget has sent the call there. An error says why the attempt may not run; then nothing was reserved for it. */
  admit(
    place: DeployedPlace,
    demand: Demand,
    isInstead: boolean,
    nowMs: () => number,
  ): Admitted | GatewayError | Promise<Admitted | GatewayError> {
    const accounts = this.accountsAt(place);
    const judge = (result: Admitted | Refused): Admitted | GatewayError =>
      isRefused(result) ? this.#refusal(result, nowMs()) : result;
    const result = this.#admission.begin(accounts, demand, !isInstead && this.caller.degradeTo.length > 0);
    return result instanceof Promise ? result.then(judge) : judge(result);
  }

  /** What a request has called in the model's place is bounded as well: a provider that takes no deployment calls the model. */
  accountsAt(place: DeployedPlace): readonly Account[] {
    const accounts = this.caller.accountsAt(place, this.user);
    if (place.deployed == null) return accounts;
    const others = this.caller
      .accountsAt({ ...place, model: place.deployed }, this.user)
      .filter((other) => !accounts.some(({ rule, value }) => rule === other.rule && value === other.value));
    return [...accounts, ...others];
  }

  /** The call stands in the ledger with all that it holds now. */
  recorded(): void {
    this.#admission.recorded();
  }

  /** The call is over: everything that is open is settled. */
  close(): void {
    this.#admission.close();
  }

  headers(nowMs: number): Readonly<Record<string, string>> | null {
    return rateHeaders(this.#admission.known, nowMs);
  }

  #refusal(refused: Refused, nowMs: number): GatewayError {
    if (refused.kind === "degraded") this.#degradedTo.add(refused.degradeTo);
    // a budget that would only refuse sends its calls on as well
    if (refused.kind === "short")
      for (const { degradeTo } of refused.shortage.need.account.rule.thresholds)
        if (degradeTo !== null) this.#degradedTo.add(degradeTo);
    return refusalError(refused, nowMs);
  }
}
