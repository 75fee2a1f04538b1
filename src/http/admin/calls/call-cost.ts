// The cost of a call as a sum that can be checked by hand: units times price, for each attempt. It is shown only where
// it comes to exactly what the ledger has; prices may have changed since the call.
import { costLines, type CostKind, type PricedUsage } from "../../../accounting/cost.ts";
import { exactUsd, usd } from "../../../accounting/price.ts";
import type { Usage } from "../../../core/chat.ts";
import { type CallRecord, usedBy } from "../../../core/record/record.ts";
import { type Snapshot, snapshotSeenBy } from "../../../core/snapshot.ts";
import { CallPrices, costOfParts } from "../../../engine/metering/call-prices.ts";
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
  const seen = snapshotSeenBy(snapshot, { tenantId: tenantId!, projectId });
  const settings = seen.providers.get(id);
  const provider = settings === undefined ? undefined : providers.get(settings.family);
  if (settings === undefined || provider === undefined) return null;
  const target = { ...settings, providerId: id, model, isCallersAddress: false };
  const prices = new CallPrices({ snapshot: seen, clock: { now: () => atMs }, tenantId, projectId, mayPrice: false });
  const priced = prices.parts(usage, { provider, target });
  const cost = priced === null ? null : costOfParts(priced);
  if (priced === null || cost === null) return null;
  const parts = [
    ...partsOf(priced.own),
    ...priced.others.flatMap((other) =>
      partsOf(other).map((one) => ({ ...one, what: `${one.what} of ${other.model}` })),
    ),
    ...priced.tools.map(({ kind, uses, nanoUsd }) => ({
      ...part("hosted_tools", uses, nanoUsd * 1_000_000),
      what: `uses of ${kind}`,
    })),
  ];
  return { provider: id, model, priceId: priced.price.id, parts, costNanoUsd: cost.nanoUsd };
}

function partsOf({ usage, rates }: PricedUsage): readonly PricedPart[] {
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
