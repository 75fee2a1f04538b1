// What an attempt at one target may use and cost, before it is made: the prompt as it is and the answer at its bound, at
// the current price. Reservations are made of it (promise 4.2), targets are compared by it, and explanations show it.

// Decides (money and limits): How much does an attempt reserve? By: `estimateAttempt`. Also: booked by
// `admission/call-limits.ts` (`CallLimits`). Rule: The prompt and the requested or assumed output, for each choice.
import { amountOf, costBound } from "../../accounting/cost.ts";
import { estimateConversation, estimateValues } from "../../accounting/estimate.ts";
import { rateFor } from "../../accounting/price.ts";
import { expectedPrice } from "../../accounting/price-factors.ts";
import type { ReservationEstimate } from "../../admission/reservation-estimate.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { shortMember } from "../../core/request/held-body.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import type { CallCost, ChargeInFlight } from "../../core/record/record.ts";
import { callsFor } from "../fit/fit.ts";
import { taskSearchUnits } from "../fit/task-parts.ts";
import { generatedCount, promptCount } from "../../core/request/choice-counts.ts";
import type { CallPrices, PricedTarget } from "./call-prices.ts";

/** What an attempt uses that is free. */
const NOTHING: AttemptEstimate = {
  requests: 1,
  bound: () => 0,
  most: () => ({ usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }, cost: null }),
};

/** Costs are in nano-dollars and rates in nano-dollars for a million tokens; a value is `null` when it is not known. */
export function costEstimate(request: ChatRequest, at: PricedTarget, prices: CallPrices) {
  const price = prices.known(at);
  const requested = requestedOutput(request);
  const bound = requested ?? at.target.facts.maxOutputTokens;
  const choices = generatedCount(request) * promptCount(request);
  const prompted = promptTokens(request);
  const prompt = price?.rates.prompt == null ? null : rateFor(price.rates.prompt, prompted);
  const completion =
    request.form.task !== undefined
      ? 0
      : price?.rates.completion == null
        ? null
        : rateFor(price.rates.completion, prompted);
  return {
    promptTokens: prompted,
    bound,
    boundFrom: requested !== undefined ? "request" : bound === null ? null : "model",
    choices,
    price,
    prompt,
    completion,
    promptCost:
      price === null ? null : costBound(prompted, 0, { ...price.rates, request: null }, searchUnitsOf(request, at)),
    completionCost: completion === null || bound === null ? null : amountOf(bound * choices, completion),
  };
}

/** The length that is assumed for an answer that the request does not bound. */
const ASSUMED_OUTPUT_TOKENS = 1_000;

/**
 * Returns a cost for comparing targets: where the request does not bound its answer, the same length is assumed for all
 * targets, and not each model's own maximum. Returns `null` when a price is not known.
 */
export function comparableCost(request: ChatRequest, at: PricedTarget, prices: CallPrices): number | null {
  const { promptCost, completion, bound, boundFrom, choices } = costEstimate(request, at, prices);
  if (promptCost === null || completion === null) return null;
  const answered = boundFrom === "request" ? bound! : Math.min(ASSUMED_OUTPUT_TOKENS, bound ?? ASSUMED_OUTPUT_TOKENS);
  return promptCost + amountOf(answered * choices, completion);
}

export interface AttemptEstimate extends ReservationEstimate {
  /**
   * The most that the attempt may use, with two lengths that are assumed for an answer without a bound: in the usage,
   * and in the cost.
   */
  most(assumedTokens: number, assumedInCost: number): ChargeInFlight;
}

function searchUnitsOf(request: ChatRequest, { provider, target }: PricedTarget): number {
  const { task } = request.form;
  return task === undefined ? 0 : taskSearchUnits(request, task, provider, target.model);
}

/** Estimates what an attempt reserves: the prompt and the bound of the answer, for each choice. A count is free. */
export function estimateAttempt(request: ChatRequest, at: PricedTarget, prices: CallPrices): AttemptEstimate {
  if (request.form.counts === true) return NOTHING;
  const { provider, target } = at;
  const n = generatedCount(request);
  const units = searchUnitsOf(request, at);
  const outputOf = (assumed: number): number => {
    const bound =
      requestedOutput(request) ?? Math.min(target.facts.maxOutputTokens ?? Number.POSITIVE_INFINITY, assumed);
    return bound * promptCount(request);
  };
  const costOf = (assumed: number): CallCost | null => {
    const counted = prices.counted(request, at);
    const price = counted === null ? null : expectedPrice(counted, askedService(request), at);
    // the inputs of a task share its requests; of a conversation, each choice counts as a request with the whole prompt
    const requests = request.form.task === undefined ? 1 : callsFor(request, provider, target.model);
    const cost =
      price === null ? null : costBound(promptTokens(request), outputOf(assumed), price.rates, units, requests);
    return cost === null ? null : { nanoUsd: Math.min(cost * n, Number.MAX_SAFE_INTEGER), priceId: price!.id };
  };
  return {
    get requests() {
      return callsFor(request, provider, target.model);
    },
    bound({ unit, assumeOutputTokens }) {
      return unit === "tokens"
        ? (promptTokens(request) + outputOf(assumeOutputTokens)) * n
        : (costOf(assumeOutputTokens)?.nanoUsd ?? null);
    },
    most(assumedTokens, assumedInCost) {
      const prompt = promptTokens(request) * n;
      // rows hold no figure that is not exact
      const completion = Math.min(outputOf(assumedTokens) * n, Number.MAX_SAFE_INTEGER - prompt);
      return {
        usage: {
          prompt_tokens: prompt,
          completion_tokens: completion,
          total_tokens: prompt + completion,
          ...(units > 0 && { search_units: units }),
        },
        cost: costOf(assumedInCost),
      };
    },
  };
}

/** Returns how the request asks to be served, which may change its price. Members that pass through may have any type. */
function askedService({ params, extra, written }: ChatRequest): Parameters<typeof expectedPrice>[1] {
  const passed = (name: string): string | null => {
    const value = extra[name] ?? (written === undefined ? undefined : shortMember(written, name));
    return typeof value === "string" ? value : null;
  };
  return { service_tier: params.service_tier, inference_geo: passed("inference_geo"), speed: passed("speed") };
}

/** Returns the bound that the request sets for its answer; a task generates nothing. */
function requestedOutput({ form, params }: ChatRequest): number | undefined {
  if (form.task !== undefined) return 0;
  return params.max_completion_tokens ?? params.max_tokens ?? undefined;
}

/**
 * Counts the conversation and everything else that the model reads: the tools, the response format, and what is passed
 * through, for example documents. A request is counted once: each answer that fails asks for the count, and a request for
 * several choices has several answers.
 */
export const promptTokens = memoizePerObject((request: ChatRequest): number => {
  const { params, extra } = request;
  const { tools, response_format: format, prediction } = params;
  const passed = Object.keys(extra).length === 0 ? undefined : extra;
  return estimateConversation(request) + estimateValues(tools, format, prediction, passed);
});
