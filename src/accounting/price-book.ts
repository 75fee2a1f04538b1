// Which price a call has: its project's, its tenant's, the operator's, the provider entry's in the file, the bundled catalogue's, in this order.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { ConfiguredPrice, PriceBook, PriceList, Rates } from "../core/price.ts";
import type { ProviderSettings } from "../core/snapshot.ts";
import { type KnowledgeSource, modelKnowledge } from "./model-catalogue.ts";
import { ratesAt } from "./price.ts";

/** Null: a caller without tenant or project, as the command line is. */
export interface PriceScope {
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

export interface CurrentPrice {
  readonly id: string;
  readonly rates: Rates;
}

/** Null: nobody knows a price of the model. */
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
    const name = `${settings.id}:${model}`;
    const configured =
      priceOf(projectId === null ? undefined : projects.get(projectId), name, nowMs) ??
      priceOf(tenantId === null ? undefined : tenants.get(tenantId), name, nowMs) ??
      priceOf(global, name, nowMs);
    if (configured !== null) return configured;
  }
  const { price } = modelKnowledge(settings, source, model);
  return price === null ? null : { id: price.id, rates: ratesAt(price, nowMs) };
}

function priceOf(list: PriceList | null | undefined, name: string, nowMs: number): CurrentPrice | null {
  if (list === null || list === undefined) return null;
  return matching(list, name).find(({ fromMs }) => fromMs === null || fromMs <= nowMs) ?? null;
}

/** Callers choose the names that are asked for, so what is remembered has a bound. */
const MAX_REMEMBERED = 4096;
const remembered = new WeakMap<PriceList, BoundedCache<string, readonly ConfiguredPrice[]>>();

function matching(list: PriceList, name: string): readonly ConfiguredPrice[] {
  let known = remembered.get(list);
  if (known === undefined) remembered.set(list, (known = new BoundedCache(MAX_REMEMBERED)));
  return known.getOrMake(name, () => [
    ...(list.exact.get(name) ?? []),
    ...list.globs.filter(({ matches }) => matches(name)).map(({ price }) => price),
  ]);
}
