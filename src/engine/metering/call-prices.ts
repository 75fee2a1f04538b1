// The prices that apply to one call, and the only place where its usage becomes money (promises 4.7 and 4.8): what the
// console shows of a cost as a sum are the priced parts of this file.

// Decides (money and limits): Which price has a call, when a price is changed? By: `CallPrices`. Also: of which
// time: `accounting/price-book.ts` (`priceAt`). Rule: The one that was configured when the call arrived; of several with a
// `from`, the one of the moment at which it is charged. Costs of calls that have ended stay as they are.
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
import type { Target } from "../../core/target.ts";
import type { Resolved } from "../plan/resolve-target.ts";

export type PricedTarget = Pick<Resolved, "provider" | "target">;

/** What decides the price at a target. */
interface PricedPlace extends Pick<Resolved, "provider"> {
  readonly target: Pick<Target, "providerId" | "model" | "settings" | "isCallersAddress"> & {
    readonly baseUrl: string | null;
  };
}
type PricedRequest = Pick<ChatRequest, "options" | "form">;

export interface CallPricesOptions {
  readonly snapshot: Pick<Snapshot, "providers" | "prices">;
  readonly clock: Pick<Clock, "now">;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** Whether a price that comes with the request counts (permission `custom_price`). */
  readonly mayPrice: boolean;
}

/** A usage with its prices, part by part. */
export interface PricedParts {
  readonly price: CurrentPrice;
  /** What the model itself used. */
  readonly own: PricedUsage;
  /** What other models used within the call, which costs what they cost where that is known. */
  readonly others: readonly (PricedUsage & { readonly model: string })[];
  /** The provider's own tools that it ran, with the price of one use. A tool without a known price is free. */
  readonly tools: readonly { readonly kind: string; readonly uses: number; readonly nanoUsd: number }[];
}

/** The price id in the record when the price came with the request. */
const REQUEST_PRICE = "request";

export class CallPrices {
  readonly #options: CallPricesOptions;

  constructor(options: CallPricesOptions) {
    this.#options = options;
  }

  /** Returns the price that the gateway knows; `null` when it knows none. */
  known({ provider, target }: PricedPlace): CurrentPrice | null {
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
  counted({ options: { ownPrice } }: PricedRequest, at: PricedPlace): CurrentPrice | null {
    const known = this.known(at);
    return this.#options.mayPrice && ownPrice !== null
      ? { id: REQUEST_PRICE, rates: ratesOfCaller(ownPrice, known) }
      : known;
  }

  /** Returns the cost that budgets count for a usage; `null` when the price is not known. */
  cost(usage: Usage, request: PricedRequest, at: PricedPlace): CallCost | null {
    const price = this.counted(request, at);
    if (price === null) return null;
    // a price for each request is that of an answer
    if (request.form.counts === true) return { nanoUsd: 0, priceId: price.id };
    return costOfParts(this.#parts(usage, price, at));
  }

  /** Returns the parts of the cost of a usage by the known price; `null` when that is not known. */
  parts(usage: Usage, at: PricedPlace): PricedParts | null {
    const price = this.known(at);
    return price === null ? null : this.#parts(usage, price, at);
  }

  /** The caller's own price is that of everything. */
  #parts(usage: Usage, counted: CurrentPrice, at: PricedPlace): PricedParts {
    const price = servedPrice(counted, usage, at);
    const { other_models: models = [], hosted_tools: tools = {} } = usage;
    const { rates } = price;
    if (price.id === REQUEST_PRICE) return { price, own: { usage, rates }, others: [], tools: [] };
    const settings = this.#options.snapshot.providers.get(at.target.providerId)!;
    return {
      price,
      own: { usage: models.length === 0 ? usage : usageWithout(usage, models), rates },
      others: models.map((used) => ({
        model: used.model,
        usage: used,
        // only the request of the attempt has a price of its own
        rates: {
          ...(this.known({ ...at, target: { ...at.target, model: used.model } }) ?? price).rates,
          request: null,
        },
      })),
      tools: Object.entries(tools).map(([kind, uses]) => ({
        kind,
        uses,
        nanoUsd: hostedToolPrice(kind, settings, at.provider.hostedTools ?? []) ?? 0,
      })),
    };
  }

  /**
   * Returns the cost by the caller's own price where the token may not set one: it is recorded, and no budget counts it.
   * `null` when there is no such price.
   */
  callersCost(usage: Usage, { options: { ownPrice } }: PricedRequest, at: PricedPlace): CallCost | null {
    if (ownPrice === null || this.#options.mayPrice) return null;
    const price = { id: REQUEST_PRICE, rates: ratesOfCaller(ownPrice, this.known(at)) };
    return costOfParts({ price, own: { usage, rates: price.rates }, others: [], tools: [] });
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

/** Returns `null` when something was used whose price is not known. */
export function costOfParts({ price, own, others, tools }: PricedParts): CallCost | null {
  const nanoUsd = costOf(own.usage, own.rates, others);
  if (nanoUsd === null) return null;
  const saved = [own, ...others].reduce(
    (sum: Pick<CallCost, "promptCacheSavedNanoUsd">, { usage, rates }) =>
      savedBy(sum.promptCacheSavedNanoUsd, promptCacheSaving(usage, rates) ?? undefined),
    {},
  );
  const withTools = tools.reduce((sum, tool) => sum + tool.uses * tool.nanoUsd, nanoUsd);
  return { nanoUsd: Math.min(withTools, Number.MAX_SAFE_INTEGER), priceId: price.id, ...saved };
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
