// What one attempt reserves, uses and costs. It is charged once, however the attempt ends (promise 4.2,
// docs/design/sliding-windows.md). A request that reached a provider and was not refused is paid for: by the provider's
// figures where there are any, otherwise by an estimate, which is at least the prompt and what was generated.

// Decides (money and limits): What is charged, also when the client leaves? By: `AttemptMeter`, `streamUsage`. Also:
// which figures are believed: `core/record/token-count.ts`. Rule: The provider's figures if they can be right, else an
// estimate of what was sent and generated.
import { estimatedUsage, type TokenTally } from "../../accounting/estimate.ts";
import { summedUsage } from "../../accounting/summed-usage.ts";
import type { AttemptReservation } from "../../admission/held-attempt.ts";
import { type CountedUsage, NO_USAGE } from "../../admission/reservation-estimate.ts";
import { DEFAULT_OUTPUT_TOKENS } from "../../admission/settings.ts";
import type { ChatRequest, Usage } from "../../core/chat.ts";
import type { CallCost, ChargeInFlight } from "../../core/record/record.ts";
import { countedTokens } from "../../core/record/usage.ts";
import type { StreamDecoder } from "../../providers/interface/stream-decoder.ts";
import type { AttemptRecorder } from "../attempt/attempt-recorder.ts";
import type { CallRecorder, AttemptUsage } from "../call/call-recorder.ts";
import type { ReportedUsage } from "../../providers/answers/strict-usage.ts";
import { type AttemptEstimate, promptTokens } from "./attempt-estimate.ts";
import { type CallPrices, type PricedTarget, sumOfCosts } from "./call-prices.ts";

/** The request in the form that the target accepts, and the target. */
export interface MeteredAttempt {
  readonly fitted: { readonly request: ChatRequest };
  readonly resolved: PricedTarget;
}

/**
 * Returns the usage that the answer to the upstream request at this index shows so far; `null` while nothing was
 * generated and no figures came.
 */
export type UsageReader = (index: number) => AttemptUsage | null;

export interface Payment {
  /** Returns whether the call pays for the answer; the first call decides it. */
  decidePayment(): boolean;
}

interface AttemptMeterOptions {
  readonly attempt: MeteredAttempt;
  readonly estimate: AttemptEstimate;
  readonly requests: readonly AttemptRecorder[];
  /** `null` when no limit applies to the caller. */
  readonly reservation: AttemptReservation | null;
  readonly prices: CallPrices;
  readonly recorder: CallRecorder;
  readonly onClosed: () => void;
}

export class AttemptMeter {
  readonly #attempt: MeteredAttempt;
  readonly #estimate: AttemptEstimate;
  readonly #requests: readonly AttemptRecorder[];
  readonly #reservation: AttemptReservation | null;
  readonly #prices: CallPrices;
  readonly #recorder: CallRecorder;
  readonly #onClosed: () => void;
  #source: UsageReader | null = null;
  /** What providers reported with a failure, by the index of the request. */
  #failed: Map<number, Usage> | null = null;
  /** `null` for an attempt that does not use the response cache, and pays. */
  #payment: Payment | null = null;
  /** `null` until the attempt is charged. */
  #charged: CountedUsage | null = null;
  #isClosed = false;

  constructor({ attempt, estimate, requests, reservation, prices, recorder, onClosed }: AttemptMeterOptions) {
    this.#attempt = attempt;
    this.#estimate = estimate;
    this.#requests = requests;
    this.#reservation = reservation;
    this.#prices = prices;
    this.#recorder = recorder;
    this.#onClosed = onClosed;
  }

  /**
   * Called when a request is about to be sent. From here on the attempt counts under the limits; an attempt that was
   * refused before has used nothing.
   */
  sending(): void {
    this.#reservation?.sent(() => this.#chargedOnce());
  }

  /** Counts the call under the limits although nothing has been sent to a provider yet. */
  countCall(): void {
    this.#reservation?.countCall();
  }

  /** The answer may come from the response cache; then nothing is paid for it. */
  paidWith(payment: Payment): void {
    this.#payment = payment;
  }

  /** From here on, usage is read from the answers. */
  readFrom(source: UsageReader): void {
    this.#source = source;
  }

  /** `usage` is what the provider reported with the failure of this request, if anything. */
  failedWith(request: AttemptRecorder, usage: Usage | null): void {
    if (usage === null || countedTokens(usage) === 0) return;
    (this.#failed ??= new Map()).set(this.#requests.indexOf(request), usage);
  }

  /** Whether the answer to this request has shown usage: figures, or generated content. */
  hasUsage(request: AttemptRecorder): boolean {
    return this.#seenOf(this.#requests.indexOf(request)) !== null;
  }

  /**
   * What the attempt has used so far, as the sum over its requests; `null` when it reached no provider or was refused.
   */
  get usage(): AttemptUsage | null {
    if (this.#requests.length === 1) return this.#usageOf(0);
    const parts = this.#requests.map((_, index) => this.#usageOf(index)).filter((part) => part !== null);
    const usage = parts.length === 0 ? null : summedUsage(parts.map((part) => part.usage));
    return usage === null ? null : { usage, isEstimated: parts.some(({ isEstimated }) => isEstimated) };
  }

  /** The most that the attempt may use, as its limits reserve it; `null` once what it used is charged. */
  most(): ChargeInFlight | null {
    if (this.#charged !== null) return null;
    const tokens = this.#reservation?.assumedOutput("tokens") ?? null;
    const money = this.#reservation?.assumedOutput("nano_usd") ?? null;
    return this.#estimate.most(tokens ?? money ?? DEFAULT_OUTPUT_TOKENS, money ?? tokens ?? DEFAULT_OUTPUT_TOKENS);
  }

  /** Records the usage as that of the present round, and charges it; only the first charge of an attempt counts. */
  charge({ usage, isEstimated }: AttemptUsage): void {
    this.#recorder.used(usage, isEstimated);
    this.#charge(usage);
  }

  /**
   * Called when the attempt is over, or the call before it. Records the usage of each upstream request, charges what was
   * not charged with an answer, and settles the reservation. Only the first call has an effect.
   */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed();
    try {
      this.#chargeRest();
    } finally {
      this.#reservation?.settle();
    }
  }

  #chargeRest(): void {
    for (const [index, request] of this.#requests.entries()) {
      const part = this.#usageOf(index);
      request.usageKnown(part?.usage ?? null, part === null ? null : part.isEstimated ? "estimated" : "provider");
    }
    const used = this.#charged === null ? this.usage : null;
    if (used !== null) {
      this.#charge(used.usage);
      // the usage of an attempt without an answer becomes the call's usage only where nothing better is known
      if (!this.#recorder.knowsUsage) this.#recorder.used(used.usage, used.isEstimated);
    }
  }

  #seenOf(index: number): AttemptUsage | null {
    const seen = this.#source?.(index) ?? null;
    const reported = this.#failed?.get(index);
    return reported === undefined ? seen : withUnseen(reported, seen?.usage.completion_tokens ?? 0);
  }

  #usageOf(index: number): AttemptUsage | null {
    const seen = this.#seenOf(index);
    const { request } = this.#attempt.fitted;
    if (seen !== null || !this.#requests[index]!.isAccepted || request.form.counts === true) return seen;
    const prompt = promptTokens(request);
    return { usage: { prompt_tokens: prompt, completion_tokens: 0, total_tokens: prompt }, isEstimated: true };
  }

  /**
   * Charges what was not charged yet, and returns what limits count, which is what the record is charged, at the same price.
   * Never throws: a usage whose cost cannot be computed, which fails the call, counts nothing.
   */
  #chargedOnce(): CountedUsage {
    try {
      if (this.#charged === null) this.#chargeRest();
    } catch {
      // `close` tries it again, and fails with it.
      this.#charged = null;
    }
    return this.#charged ?? NO_USAGE;
  }

  #charge(usage: Usage): void {
    if (this.#charged !== null) return;
    // What fails here is not tried again.
    this.#charged = NO_USAGE;
    const { record } = this.#recorder;
    const isPaid = this.#payment?.decidePayment() ?? true;
    const cost = this.#sumOverRequests("cost", usage);
    const nanoUsd = cost?.nanoUsd ?? 0;
    this.#charged = { tokens: countedTokens(usage), nanoUsd, ...(!isPaid && { isCacheHit: true }) };
    if (!isPaid) {
      this.#recorder.costs(sumOfCosts(record.cost, cost === null ? null : { nanoUsd: 0, priceId: cost.priceId }));
      return this.#recorder.saved(cost?.nanoUsd ?? null);
    }
    this.#recorder.costs(this.#withCallsPrice(sumOfCosts(record.cost, cost)));
    this.#recorder.costsCaller(sumOfCosts(record.callerCost, this.#sumOverRequests("callersCost", usage)));
  }

  /** The price that a record names is that of the target that it names, also where another attempt ended later. */
  #withCallsPrice(sum: CallCost | null): CallCost | null {
    const { provider, model, cost: before } = this.#recorder.record;
    const { target } = this.#attempt.resolved;
    if (sum === null || before === null || (provider === target.providerId && model === target.model)) return sum;
    return { ...sum, priceId: before.priceId };
  }

  /**
   * The cost of a usage. Several upstream requests are billed one by one: each has a price for the request, and a tier by
   * the size of its own prompt.
   */
  #sumOverRequests(price: "cost" | "callersCost", usage: Usage): CallCost | null {
    const { fitted, resolved } = this.#attempt;
    if (this.#requests.length < 2) return this.#prices[price](usage, fitted.request, resolved);
    const parts = this.#requests.map((_, index) => this.#usageOf(index)).filter((part) => part !== null);
    return parts.reduce<CallCost | null>(
      (sum, part) => sumOfCosts(sum, this.#prices[price](part.usage, fitted.request, resolved)),
      null,
    );
  }
}

/** What the meter reads of a stream that is under way or has ended. */
export interface StreamFigures {
  readonly reported: Pick<ReportedUsage, "usage" | "countsAnswer" | "estimate">;
  readonly hasGenerated: boolean;
  readonly generated: TokenTally;
  /** Whether the stream ended as it should. */
  readonly isComplete: boolean;
}

/**
 * Returns what a stream has used so far; `null` when nothing is known. `decoder` says how often the provider has run its
 * own tools, which is otherwise known only at the end, and whether its figures include the answer; it is undefined before
 * the answer has begun, and for an answer that came as JSON.
 */
export function streamUsage(
  request: ChatRequest,
  stream: StreamFigures,
  decoder: Pick<StreamDecoder, "toolUses" | "countsAnswer"> | undefined,
): AttemptUsage | null {
  const tokens = streamedTokens(request, stream, decoder?.countsAnswer?.() !== false);
  const uses = decoder?.toolUses?.() ?? {};
  if ((stream.isComplete && tokens?.isEstimated === false) || Object.keys(uses).length === 0) return tokens;
  const used = tokens ?? { usage: estimatedUsage(promptTokens(request), stream.generated), isEstimated: true };
  return { ...used, usage: { hosted_tools: uses, ...used.usage } };
}

/** Figures that came before the end of a stream need not contain all that was generated since. */
function streamedTokens(request: ChatRequest, stream: StreamFigures, countsAnswer: boolean): AttemptUsage | null {
  const { usage: reported } = stream.reported;
  const isWhole = stream.isComplete && countsAnswer && stream.reported.countsAnswer;
  if (reported !== null && (isWhole || !stream.hasGenerated)) return { usage: reported, isEstimated: false };
  if (!stream.hasGenerated) return null;
  const estimated = estimatedUsage(promptTokens(request), stream.generated);
  if (reported === null) return { usage: stream.reported.estimate(estimated), isEstimated: true };
  return withUnseen(reported, estimated.completion_tokens);
}

/** `generated` is how many tokens the answer is known to have at least. */
function withUnseen(reported: Usage, generated: number): AttemptUsage {
  const unseen = generated - reported.completion_tokens;
  if (unseen <= 0) return { usage: reported, isEstimated: false };
  const { billed_units: billed } = reported;
  return {
    usage: {
      ...reported,
      completion_tokens: generated,
      total_tokens: reported.total_tokens + unseen,
      ...(billed !== undefined && { billed_units: { ...billed, output_tokens: generated } }),
    },
    isEstimated: true,
  };
}
