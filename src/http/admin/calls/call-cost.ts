// The cost of a call as a sum that can be checked by hand: units times price, for each attempt. It is shown only where
// it comes to exactly what the ledger has; prices may have changed since the call.
import { costLines, type CostKind, costOf } from "../../../accounting/cost.ts";
import { type CurrentPrice, priceAt } from "../../../accounting/price-book.ts";
import { exactUsd, usd } from "../../../accounting/price.ts";
import { servedPrice } from "../../../accounting/price-factors.ts";
import { usageWithout } from "../../../accounting/summed-usage.ts";
import type { Usage } from "../../../core/chat.ts";
import type { Rates } from "../../../core/configured/price.ts";
import { hostedToolPrice } from "../../../core/configured/hosted-tool.ts";
import { type CallRecord, usedBy } from "../../../core/record/record.ts";
import { type Snapshot, snapshotSeenBy } from "../../../core/snapshot.ts";
import type { Provider } from "../../../providers/interface/provider.ts";
import type { CostPart } from "./call-verdict.ts";

/** What is charged for a part, in words that follow a number. */
export const COST_WORDS: Readonly<Record<CostKind | "hosted_tools", string>> = {
  request: "request",
  search_units: "search units",
  text: "uncached prompt tokens",
  cacheRead: "prompt tokens read from the provider's cache",
  audioCacheRead: "audio tokens read from the provider's cache",
  cacheWrite: "prompt tokens written to the provider's cache",
  cacheWriteHour: "prompt tokens written to the provider's cache for an hour",
  audioPrompt: "audio tokens of the prompt",
  imagePrompt: "image tokens of the prompt",
  completion: "completion tokens",
  reasoning: "reasoning tokens",
  audioCompletion: "audio tokens of the answer",
  imageCompletion: "image tokens of the answer",
  hosted_tools: "uses of the provider's tools",
};

interface PricedPart extends CostPart {
  readonly usdPerMillion: string;
  readonly usd: string;
}

export interface PricedAttempt {
  readonly provider: string;
  readonly model: string;
  readonly priceId: string;
  readonly parts: readonly PricedPart[];
  /** Rounded up once. */
  readonly costNanoUsd: number;
}

interface Spender {
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
}

/** `null` when the prices of today do not come to the cost of the record, or it has none. */
export function costSum(
  record: CallRecord,
  snapshot: Snapshot,
  providers: ReadonlyMap<string, Provider>,
): readonly PricedAttempt[] | null {
  if (record.cost === null || record.tenantId === null) return null;
  const { nanoUsd } = record.cost;
  const endMs = record.startedAtMs + record.totalMs;
  const spenders = spendersOf(record);
  for (const atMs of [endMs, record.startedAtMs]) {
    const priced = spenders.map((spender) => pricedAttempt(spender, record, snapshot, providers, atMs));
    const known = priced.filter((one) => one !== null);
    if (known.length > 0 && known.length === priced.length && sumOf(known) === nanoUsd) return known;
  }
  return null;
}

const sumOf = (attempts: readonly PricedAttempt[]): number =>
  attempts.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0);

function spendersOf(record: CallRecord): readonly Spender[] {
  return record.attempts.flatMap((attempt) => {
    const { provider, model } = attempt;
    const usage = usedBy(attempt, record);
    return usage === null ? [] : [{ provider, model, usage }];
  });
}

function pricedAttempt(
  { provider: id, model, usage }: Spender,
  { tenantId, projectId }: CallRecord,
  snapshot: Snapshot,
  providers: ReadonlyMap<string, Provider>,
  atMs: number,
): PricedAttempt | null {
  const settings = snapshotSeenBy(snapshot, { tenantId: tenantId!, projectId }).providers.get(id);
  const provider = settings === undefined ? undefined : providers.get(settings.family);
  if (settings === undefined || provider === undefined) return null;
  const priceOf = (name: string): CurrentPrice | null =>
    priceAt(snapshot.prices, { tenantId, projectId }, settings, provider, name, atMs);
  const known = priceOf(model);
  const price = known === null ? null : servedPrice(known, usage, { provider, target: { ...settings, model } });
  if (price === null) return null;
  const { other_models: models = [] } = usage;
  const own = models.length === 0 ? usage : usageWithout(usage, models);
  // only the request of the attempt has a price of its own
  const others = models.map((one) => ({
    model: one.model,
    usage: one,
    rates: { ...(priceOf(one.model) ?? price).rates, request: null },
  }));
  const cost = costOf(own, price.rates, others);
  if (cost === null) return null;
  const tools = Object.entries(usage.hosted_tools ?? {}).map(([kind, uses]): PricedPart => {
    const nanoUsd = hostedToolPrice(kind, settings, provider.hostedTools ?? []) ?? 0;
    return { ...part("hosted_tools", uses, nanoUsd * 1_000_000), what: `uses of ${kind}` };
  });
  const parts = [
    ...partsOf(own, price.rates),
    ...others.flatMap((other) =>
      partsOf(other.usage, other.rates).map((one) => ({ ...one, what: `${one.what} of ${other.model}` })),
    ),
  ];
  const toolsNanoUsd = tools.reduce((sum, { nanoUsd }) => sum + nanoUsd, 0);
  return { provider: id, model, priceId: price.id, parts: [...parts, ...tools], costNanoUsd: cost + toolsNanoUsd };
}

function partsOf(usage: Usage, rates: Rates): readonly PricedPart[] {
  return costLines(usage, rates).map(({ kind, units, rate }) => part(kind, units, rate!));
}

function part(kind: keyof typeof COST_WORDS, units: number, rate: number): PricedPart {
  return {
    what: COST_WORDS[kind],
    units,
    nanoUsd: (units * rate) / 1_000_000,
    usdPerMillion: usd(rate),
    usd: exactUsd(units, rate),
  };
}

/** The sum over all attempts as well. */
export const costOfAll = (attempts: readonly PricedAttempt[]) => ({ attempts, costNanoUsd: sumOf(attempts) });
