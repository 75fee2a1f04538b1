// The prices that apply to one call, and the place where its usage becomes money (promises 4.7 and 4.8). What the console
// shows of a cost as a sum is computed again in `http/admin/calls/call-cost.ts`, and shown only where both agree.
import { costOf, type PricedUsage, promptCacheSaving } from "../../accounting/cost.ts";
import { type CurrentPrice, priceAt } from "../../accounting/price-book.ts";
import { servedPrice } from "../../accounting/price-factors.ts";
import { usageWithout } from "../../accounting/summed-usage.ts";
import type { CallOptions, ChatRequest, Usage } from "../../core/chat.ts";
import { hostedToolPrice } from "../../core/configured/hosted-tool.ts";
import type { Clock } from "../../core/clock.ts";
import { NO_RATES, type Rate, type Rates } from "../../core/configured/price.ts";
import type { CallCost } from "../../core/record/record.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Resolved } from "../plan/resolve-target.ts";

export type PricedTarget = Pick<Resolved, "provider" | "target">;
type PricedRequest = Pick<ChatRequest, "options" | "form">;

export interface CallPricesOptions {
  readonly snapshot: Pick<Snapshot, "providers" | "prices">;
  readonly clock: Pick<Clock, "now">;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** Whether a price that comes with the request counts (permission `custom_price`). */
  readonly mayPrice: boolean;
}

/** The price id in the record when the price came with the request. */
const REQUEST_PRICE = "request";

export class CallPrices {
  readonly #options: CallPricesOptions;

  constructor(options: CallPricesOptions) {
    this.#options = options;
  }

  /** Returns the price that the gateway knows; `null` when it knows none. */
  known({ provider, target }: PricedTarget): CurrentPrice | null {
    const { snapshot, clock } = this.#options;
    const settings = snapshot.providers.get(target.providerId);
    // the known price does not apply to an address of the caller's own
    if (settings === undefined || target.isCallersAddress) return null;
    return priceAt(snapshot.prices, this.#options, settings, provider, target.model, clock.now());
  }

  /**
   * Returns the price that budgets count: the caller's own price where the token may set one, otherwise the known one
   * (promise 4.8).
   */
  counted({ options: { ownPrice } }: PricedRequest, at: PricedTarget): CurrentPrice | null {
    const known = this.known(at);
    return this.#options.mayPrice && ownPrice !== null
      ? { id: REQUEST_PRICE, rates: ratesOfCaller(ownPrice, known) }
      : known;
  }

  /**
   * Returns the cost that budgets count for a usage; `null` when the price is not known. What other models used within
   * the call costs what those models cost, where that is known.
   */
  cost(usage: Usage, request: PricedRequest, at: PricedTarget): CallCost | null {
    const counted = this.counted(request, at);
    const price = counted === null ? null : servedPrice(counted, usage, at);
    // a price for each request is that of an answer
    if (request.form.counts === true) return price === null ? null : { nanoUsd: 0, priceId: price.id };
    const tools = price === null || price.id === REQUEST_PRICE ? 0 : this.#hostedTools(usage, at);
    const cost = this.#costOfTokens(usage, price, at);
    return tools === 0 || cost === null ? cost : sumOfCosts(cost, { nanoUsd: tools, priceId: cost.priceId });
  }

  /** Returns nano-dollars for what the provider ran of its own tools; a tool without a known price adds nothing. */
  #hostedTools({ hosted_tools: used }: Usage, { provider, target }: PricedTarget): number {
    if (used === undefined) return 0;
    const settings = this.#options.snapshot.providers.get(target.providerId);
    if (settings === undefined || target.isCallersAddress) return 0;
    return Object.entries(used).reduce((sum, [kind, uses]) => {
      return sum + uses * (hostedToolPrice(kind, settings, provider.hostedTools ?? []) ?? 0);
    }, 0);
  }

  #costOfTokens(usage: Usage, price: CurrentPrice | null, at: PricedTarget): CallCost | null {
    if (price === null || price.id === REQUEST_PRICE) return costAt(usage, price);
    const { other_models: others = [] } = usage;
    if (others.length === 0) return costAt(usage, price);
    return costAt(
      usageWithout(usage, others),
      price,
      others.map((other) => ({
        usage: other,
        rates: (this.known({ ...at, target: { ...at.target, model: other.model } }) ?? price).rates,
      })),
    );
  }

  /**
   * Returns the cost by the caller's own price where the token may not set one: it is recorded, and no budget counts it.
   * `null` when there is no such price.
   */
  callersCost(usage: Usage, { options: { ownPrice } }: PricedRequest, at: PricedTarget): CallCost | null {
    if (ownPrice === null || this.#options.mayPrice) return null;
    return costAt(usage, { id: REQUEST_PRICE, rates: ratesOfCaller(ownPrice, this.known(at)) });
  }
}

/** Usage without a known price adds nothing to the sum, which keeps the price id of the last addend. */
export function sumOfCosts(before: CallCost | null, more: CallCost | null): CallCost | null {
  return more === null
    ? before
    : {
        nanoUsd: Math.min((before?.nanoUsd ?? 0) + more.nanoUsd, Number.MAX_SAFE_INTEGER),
        priceId: more.priceId,
        ...savedBy(before?.promptCacheSavedNanoUsd, more.promptCacheSavedNanoUsd),
      };
}

function savedBy(before: number | undefined, more: number | undefined): Pick<CallCost, "promptCacheSavedNanoUsd"> {
  return before === undefined && more === undefined ? {} : { promptCacheSavedNanoUsd: (before ?? 0) + (more ?? 0) };
}

function costAt(usage: Usage, price: CurrentPrice | null, others: readonly PricedUsage[] = []): CallCost | null {
  const nanoUsd = price === null ? null : costOf(usage, price.rates, others);
  if (nanoUsd === null) return null;
  const saving = (one: PricedUsage): number | undefined => promptCacheSaving(one.usage, one.rates) ?? undefined;
  const own = savedBy(undefined, saving({ usage, rates: price!.rates }));
  const saved = others.reduce((sum, other) => savedBy(sum.promptCacheSavedNanoUsd, saving(other)), own);
  return { nanoUsd, priceId: price!.id, ...saved };
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
    searchUnit: null,
  };
}

function flat(rate: number): Rate {
  return { base: rate, tiers: [] };
}
