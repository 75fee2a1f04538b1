// The meter of one call: every limit, budget, price and usage of the call goes through it, from the first reservation to
// the settlement (promise 4, docs/design/sliding-windows.md). Each attempt gets a meter of its own from it, which reserves
// before the attempt, measures what the attempt uses, and charges that once. What is still open when the call ends is
// charged and settled here, so that every path of a call ends in `settle`.
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { AttemptedTarget, CallLimits } from "../../admission/call-limits.ts";
import type { AttemptReservation } from "../../admission/held-attempt.ts";
import type { ReservationEstimate } from "../../admission/reservation-estimate.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Account } from "../../core/configured/limit.ts";
import type { ChargeInFlight } from "../../core/record/record.ts";
import type { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import type { CallClock } from "../call/call-clock.ts";
import type { CallRecorder } from "../call/call-recorder.ts";
import { untilOver } from "../../core/concurrency/timeout.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { type AttemptEstimate, estimateAttempt } from "./attempt-estimate.ts";
import { AttemptMeter, type MeteredAttempt } from "./attempt-meter.ts";
import { type CallPrices, sumOfCosts } from "./call-prices.ts";

export interface CallMeterOptions {
  /** `null` when no limit applies to the caller. */
  readonly limits: CallLimits | null;
  readonly prices: CallPrices;
  readonly recorder: CallRecorder;
  readonly clock: CallClock;
  /** The signal of the call. */
  readonly signal: CancelSignal;
}

/** What a call uses that asks no provider: it counts as one request. */
const NOTHING_USED: ReservationEstimate = { requests: 1, bound: () => 0 };
const NOT_COUNTED: Pick<AttemptReservation, "countCall"> = { countCall: () => {} };

export class CallMeter {
  readonly prices: CallPrices;
  readonly #limits: CallLimits | null;
  readonly #recorder: CallRecorder;
  readonly #clock: CallClock;
  readonly #signal: CancelSignal;
  /** The meters of attempts that have not ended. */
  readonly #open: AttemptMeter[] = [];
  /** Holds what the first attempt may use, until that is reserved for the attempt itself. */
  #inAdvance: AttemptMeter | null = null;

  constructor({ limits, prices, recorder, clock, signal }: CallMeterOptions) {
    this.prices = prices;
    this.#limits = limits;
    this.#recorder = recorder;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** The distinct targets to which budgets may send the call instead of refusing it. */
  get degradeTo(): readonly string[] {
    return this.#limits?.caller.degradeTo ?? [];
  }

  /** See `CallLimits.isRedirectedTo`. */
  isRedirectedTo(name: string): boolean {
    return this.#limits?.isRedirectedTo(name) === true;
  }

  /** The accounts that an attempt at the target is charged to. */
  accountsAt(target: AttemptedTarget): readonly Account[] {
    return this.#limits?.accountsAt(target) ?? [];
  }

  /**
   * Reserves what an attempt may use, and returns its meter. Returns an error when a limit or a budget has no room for
   * the attempt (promises 3.4 and 4.2); nothing is reserved then. With `isRedirected`, a budget has sent the call to
   * this target. `requests` is the list to which the attempt adds its upstream requests.
   */
  reserve(
    target: AttemptedTarget,
    attempt: MeteredAttempt,
    isRedirected: boolean,
    requests: readonly AttemptRecorder[],
  ): MaybePromise<AttemptMeter | GatewayError> {
    this.#inAdvance?.close();
    this.#inAdvance = null;
    const estimate = estimateAttempt(attempt.fitted.request, attempt.resolved, this.prices);
    if (this.#limits === null) return this.#begin(attempt, estimate, requests, null);
    const reserved = this.#limits.reserve(target, estimate, isRedirected);
    const begun = (result: AttemptReservation | GatewayError): AttemptMeter | GatewayError =>
      result instanceof GatewayError ? result : this.#begin(attempt, estimate, requests, result);
    // the limit store may be slow: it is awaited for as long as the call may take, and what it reserves after that is
    // released
    return isPending(reserved) ? this.#clock.waiting(untilOver(reserved, this.#signal)).then(begun) : begun(reserved);
  }

  /** Keeps a reservation, with which nothing is sent, until the call reserves again or is over. */
  keepInAdvance(meter: AttemptMeter): void {
    this.#inAdvance = meter;
  }

  /**
   * Reserves what a call that asks no provider uses under the limits that apply wherever it goes. Returns what counts the
   * call. Rejects with the error of the limit that has no room.
   */
  async reserveWithoutTarget(): Promise<Pick<AttemptReservation, "countCall">> {
    if (this.#limits === null) return NOT_COUNTED;
    const reserved = this.#limits.reserve(null, NOTHING_USED, true);
    const result = isPending(reserved) ? await this.#clock.waiting(untilOver(reserved, this.#signal)) : reserved;
    if (result instanceof GatewayError) throw result;
    return result;
  }

  #begin(
    attempt: MeteredAttempt,
    estimate: AttemptEstimate,
    requests: readonly AttemptRecorder[],
    reservation: AttemptReservation | null,
  ): AttemptMeter {
    const meter = new AttemptMeter({
      attempt,
      estimate,
      requests,
      reservation,
      prices: this.prices,
      recorder: this.#recorder,
      onClosed: () => this.#open.splice(this.#open.indexOf(meter), 1),
    });
    this.#open.push(meter);
    return meter;
  }

  /** What the call is charged if the process ends before it does (promise 11.2). */
  inFlight(): ChargeInFlight {
    let { usage, cost }: ChargeInFlight = this.#recorder.record;
    for (const meter of this.#open) {
      const most = meter.most();
      if (most === null) continue;
      usage = usage === null ? most.usage : summedUsage([usage, most.usage]);
      cost = sumOfCosts(cost, most.cost);
    }
    return { usage, cost };
  }

  /** As in `CallLimits`. */
  recording(): (() => void) | null {
    return this.#limits?.recording() ?? null;
  }

  /** Charges the attempts that are still in flight, and settles every reservation. */
  settle(): void {
    for (const meter of this.#open.slice()) meter.close();
    this.#limits?.settle();
  }

  /** The headers that report the limits that applied; `null` when none did. */
  headers(): Readonly<Record<string, string>> | null {
    return this.#limits?.headers() ?? null;
  }
}
