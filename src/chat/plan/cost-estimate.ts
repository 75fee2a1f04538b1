// What a call may cost at one target before it is made: the prompt as it is and the answer at its bound, at the current
// price.
import { estimatePrompt, estimateValues } from "../../accounting/estimate.ts";
import { amountOf, rateFor } from "../../accounting/price.ts";
import type { CurrentPrice } from "../../accounting/price-book.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { knownPrice, type PricedCall } from "./call-price.ts";
import type { Resolved } from "./resolve-target.ts";

/** Costs are in nano-dollars and rates in nano-dollars for a million tokens; a value is `null` when it is not known. */
export interface CostEstimate {
  readonly promptTokens: number;
  readonly bound: number | null;
  readonly boundFrom: "request" | "model" | null;
  readonly choices: number;
  readonly price: CurrentPrice | null;
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly promptCost: number | null;
  readonly completionCost: number | null;
}

export function costEstimate(
  request: ChatRequest,
  resolved: Pick<Resolved, "provider" | "target">,
  call: PricedCall,
): CostEstimate {
  const { target } = resolved;
  const price = knownPrice(resolved, call);
  const requested = request.params.max_completion_tokens ?? request.params.max_tokens;
  const bound = requested ?? target.facts.maxOutputTokens;
  const choices = request.params.n ?? 1;
  const prompted = promptTokens(request);
  const prompt = price?.rates.prompt == null ? null : rateFor(price.rates.prompt, prompted);
  const completion = price?.rates.completion == null ? null : rateFor(price.rates.completion, prompted);
  return {
    promptTokens: prompted,
    bound,
    boundFrom: requested !== undefined ? "request" : bound === null ? null : "model",
    choices,
    price,
    prompt,
    completion,
    promptCost: prompt === null ? null : amountOf(prompted, prompt),
    completionCost: completion === null || bound === null ? null : amountOf(bound * choices, completion),
  };
}

/** The length that is assumed for an answer that the request does not bound. */
const ASSUMED_OUTPUT_TOKENS = 1_000;

/**
 * Returns a cost for comparing targets: where the request does not bound its answer, the same length is assumed for all
 * targets, and not each model's own maximum. Returns `null` when a price is not known.
 */
export function comparableCost(
  request: ChatRequest,
  resolved: Pick<Resolved, "provider" | "target">,
  call: PricedCall,
): number | null {
  const { promptCost, completion, bound, boundFrom, choices } = costEstimate(request, resolved, call);
  if (promptCost === null || completion === null) return null;
  const answered = boundFrom === "request" ? bound! : Math.min(ASSUMED_OUTPUT_TOKENS, bound ?? ASSUMED_OUTPUT_TOKENS);
  return promptCost + amountOf(answered * choices, completion);
}

/**
 * Counts the conversation and everything else that the model reads: the tools, the response format, and what is passed
 * through, for example documents.
 */
export function promptTokens({ messages, held, params, extra }: ChatRequest): number {
  const { tools, response_format: format, prediction } = params;
  const passed = Object.keys(extra).length === 0 ? undefined : extra;
  return (held?.promptTokens ?? 0) + estimatePrompt(messages) + estimateValues(tools, format, prediction, passed);
}
