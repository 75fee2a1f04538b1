// Which price applies to a call. The first that exists is used, in this order: the project's, the tenant's, the
// operator's, that of the provider's entry in the file, that of the bundled catalogue.

// Decides (money and limits): What does a call cost, and what if no price is known? By: `priceAt`. Also:
// `engine/metering/call-prices.ts` (`CallPrices`); refused without a price: `admission/wanted-attempt.ts`
// (`wantedAttempt`). Rule: The first of project, tenant, operator, provider's entry, bundled catalogue; the caller's own
// price with the permission `custom_price`. Without a price the cost is `null`, and a budget of money refuses the call,
// unless it says `unpriced: allow`.
import { compileGlob } from "../core/text/glob.ts";
import { memoizeBounded, memoizePerObject } from "../core/memoization.ts";
import type { ConfiguredPrice, PriceBook, PriceList, Rates } from "../core/configured/price.ts";
import type { ProviderSettings } from "../core/snapshot.ts";
import { type KnowledgeSource, modelKnowledge } from "./model-catalogue.ts";
import { ratesAt } from "./price.ts";

/** The ids are `null` for a caller without tenant or project, such as the command line. */
export interface PriceScope {
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

export interface CurrentPrice {
  readonly id: string;
  readonly rates: Rates;
  /** From the list that comes with the gateway, which has the vendor's prices of its default tier. */
  readonly isBundled?: true;
}

/** Returns `null` when no price of the model is known. */
export function priceAt(
  book: PriceBook,
  { tenantId, projectId }: PriceScope,
  settings: ProviderSettings,
  source: KnowledgeSource,
  model: string,
  nowMs: number,
): CurrentPrice | null {
  const { global, tenants, projects } = book;
  if (global !== null || tenants.size > 0 || projects.size > 0) {
    const own = source.ownName?.(model) ?? model;
    const names = own === model ? `${settings.id}:${model}` : `${settings.id}:${model}\n${settings.id}:${own}`;
    const configured =
      priceOf(projectId === null ? undefined : projects.get(projectId), names, nowMs) ??
      priceOf(tenantId === null ? undefined : tenants.get(tenantId), names, nowMs) ??
      priceOf(global, names, nowMs);
    if (configured !== null) return configured;
  }
  const { price } = modelKnowledge(settings, source, model);
  if (price === null) return null;
  return { id: price.id, rates: ratesAt(price, nowMs), ...(price.isBundled === true && { isBundled: true }) };
}

/** `names` are the lines with the names of one model. */
function priceOf(list: PriceList | null | undefined, names: string, nowMs: number): CurrentPrice | null {
  if (list === null || list === undefined) return null;
  return matchesOf(list)(names).find(({ fromMs }) => fromMs === null || fromMs <= nowMs) ?? null;
}

/** Callers choose the names that are asked for, so that the cache needs a bound. */
const MAX_REMEMBERED = 4096;
const matchesOf = memoizePerObject(({ exact, globs }: PriceList) => {
  const patterns = globs.map(({ pattern, price }) => ({ matches: compileGlob(pattern), price }));
  return memoizeBounded(MAX_REMEMBERED, (lines: string): readonly ConfiguredPrice[] => {
    const names = lines.split("\n");
    return [
      ...names.flatMap((name) => exact.get(name) ?? []),
      ...patterns.filter(({ matches }) => names.some(matches)).map(({ price }) => price),
    ];
  });
});
