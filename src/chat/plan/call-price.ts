// The price of a call at one target, and what it has cost so far: every attempt that used something is charged at its
// own target's price, however the call ends (promises 4.7 and 4.8).
import { costOf } from "../../accounting/cost.ts";
import { usageWithout } from "../../accounting/summed-usage.ts";
import { type CurrentPrice, priceAt } from "../../accounting/price-book.ts";
import type { CallOptions, ChatRequest, Usage } from "../../core/chat.ts";
import { NO_RATES, type Rate, type Rates } from "../../core/price.ts";
import type { CallCost, CallRecord } from "../../core/record.ts";
import type { Call } from "../call/call.ts";
import type { ChatContext } from "../call/context.ts";
import type { Resolved } from "./resolve-target.ts";

/** The parts of a call on which a price depends. */
export type PricedCall = Pick<Call, "snapshot"> & {
  readonly context: Pick<ChatContext, "clock">;
  readonly record: Pick<CallRecord, "tenantId" | "projectId">;
};

/** The price id in the record when the price came with the request. */
const REQUEST_PRICE = "request";

/** Returns the price that the gateway knows; `null` when it knows none. */
export function knownPrice(
  { provider, target }: Pick<Resolved, "provider" | "target">,
  { snapshot, context, record }: PricedCall,
): CurrentPrice | null {
  const settings = snapshot.providers.get(target.providerId);
  // the known price does not apply to an address of the caller's own
  if (settings === undefined || target.isCallersAddress) return null;
  return priceAt(snapshot.prices, record, settings, provider, target.model, context.clock.now());
}

/**
 * Returns the price that budgets count: the caller's own price where the token may set one, otherwise the known one
 * (promise 4.8).
 */
export function countedPrice(
  { options }: Pick<ChatRequest, "options">,
  resolved: Pick<Resolved, "provider" | "target">,
  call: PricedCall & Pick<Call, "mayPrice">,
): CurrentPrice | null {
  const known = knownPrice(resolved, call);
  return call.mayPrice && options.ownPrice !== null
    ? { id: REQUEST_PRICE, rates: ratesOfCaller(options.ownPrice, known) }
    : known;
}

/** Charges the call for what it used at a target. Usage without a known price adds nothing to the cost. */
export function charge(
  call: PricedCall & Pick<Call, "mayPrice" | "record" | "recorder">,
  request: Pick<ChatRequest, "options">,
  resolved: Pick<Resolved, "provider" | "target">,
  usage: Usage,
): void {
  const { record, recorder } = call;
  recorder.costs(sumOf(record.cost, countedCost(usage, request, resolved, call)));
  const { ownPrice } = request.options;
  if (ownPrice !== null && !call.mayPrice)
    recorder.costsCaller(
      sumOf(
        record.callerCost,
        costAt(usage, { id: REQUEST_PRICE, rates: ratesOfCaller(ownPrice, knownPrice(resolved, call)) }),
      ),
    );
}

/**
 * Returns the cost that budgets count for a usage; `null` when the price is not known. What other models used within
 * the call costs what those models cost, where that is known.
 */
export function countedCost(
  usage: Usage,
  request: Pick<ChatRequest, "options">,
  resolved: Pick<Resolved, "provider" | "target">,
  call: PricedCall & Pick<Call, "mayPrice">,
): CallCost | null {
  const price = countedPrice(request, resolved, call);
  const others = price === null || price.id === REQUEST_PRICE ? [] : (usage.other_models ?? []);
  if (others.length === 0) return costAt(usage, price);
  const costs = [
    costAt(usageWithout(usage, others), price),
    ...others.map((other) =>
      costAt(other, knownPrice({ ...resolved, target: { ...resolved.target, model: other.model } }, call) ?? price),
    ),
  ];
  return costs.reduce((sum, cost) => (cost === null ? sum : sumOf(sum, cost)), null);
}

export interface PricedAttempt {
  readonly fitted: { readonly request: ChatRequest };
  readonly resolved: Pick<Resolved, "provider" | "target">;
}

function costAt(usage: Usage, price: CurrentPrice | null): CallCost | null {
  const nanoUsd = price === null ? null : costOf(usage, price.rates);
  return nanoUsd === null ? null : { nanoUsd, priceId: price!.id };
}

function sumOf(before: CallCost | null, more: CallCost | null): CallCost | null {
  return more === null
    ? before
    : { nanoUsd: Math.min((before?.nanoUsd ?? 0) + more.nanoUsd, Number.MAX_SAFE_INTEGER), priceId: more.priceId };
}

/**
 * The caller's two prices apply to the whole prompt and the whole answer; a price that was not sent remains the known
 * one.
 */
function ratesOfCaller(own: NonNullable<CallOptions["ownPrice"]>, known: CurrentPrice | null): Rates {
  const rates = known?.rates ?? NO_RATES;
  return {
    ...rates,
    ...(own.prompt !== null && {
      prompt: flat(own.prompt),
      cacheRead: null,
      cacheWrite: null,
      cacheWriteHour: null,
      audioPrompt: null,
      audioCacheRead: null,
      imagePrompt: null,
    }),
    ...(own.completion !== null && {
      completion: flat(own.completion),
      reasoning: null,
      audioCompletion: null,
      imageCompletion: null,
    }),
    request: null,
  };
}

function flat(rate: number): Rate {
  return { base: rate, tiers: [] };
}
