// What is known of a model: its context length, its output bound and its price. The sources are the configuration file,
// the provider's own table, and the price catalogue that is bundled with the gateway
// (https://github.com/pydantic/genai-prices): nothing is fetched. The catalogue is loaded when it is first needed.
import type * as Bundled from "@pydantic/genai-prices";
import type {
  MatchLogic,
  ModelInfo,
  ModelPrice as BundledPrice,
  Provider as BundledProvider,
} from "@pydantic/genai-prices";
import manifest from "../../package.json" with { type: "json" };
import { BoundedCache } from "../core/bounded-cache.ts";
import { lazy, memoizePerObject } from "../core/memoization.ts";
import {
  type ModelPrice,
  NO_RATES,
  type PricePeriod,
  type Rate,
  type Rates,
  type SearchUnitPrice,
} from "../core/configured/price.ts";
import type { ModelListing, ProviderSettings } from "../core/snapshot.ts";
import type { ModelFacts } from "../core/target.ts";
import { exactRate, MILLION, rateOfMillion, timesRate } from "./price.ts";

export interface ModelKnowledge {
  /** A display name; `null` when none is known. */
  readonly name: string | null;
  readonly facts: ModelFacts;
  readonly price: ModelPrice | null;
  /** The catalogue's own name of the model; `null` when the catalogue does not have it. */
  readonly catalogueId: string | null;
  /** What the model generates beside text, as far as it is priced. */
  readonly generates: readonly ("audio" | "image")[];
}

/** What is known about a provider's models beside the configuration file. */
export interface KnowledgeSource {
  readonly id: string;
  /**
   * The provider's id in the price catalogue. When absent, the provider's own id is used if the catalogue has it;
   * `null` means that the catalogue is not used.
   */
  readonly catalogue?: string | null;
  /** Selects the names that are listed of those in the catalogue. When absent, all chat models are listed. */
  readonly listed?: RegExp;
  /** Prices of rankings that are billed in search units, for models that the catalogue does not price. */
  readonly searchUnits?: readonly SearchUnitPrice[];
  /**
   * Returns the name without what the provider accepts before it or behind it, and in lower case where case does not count:
   * names for which it is the same name one model, and rules and prices for this name hold for all of them. Absent where
   * each model has one name.
   */
  ownName?(model: string): string;
  /** Returns what the provider's own table has about the model. */
  facts?(model: string): Partial<ModelFacts>;
}

/** Callers choose the names that are asked for, so that the cache needs a bound. */
const MAX_REMEMBERED = 4096;
/** The largest number of catalogue models that are listed for a provider. */
const MAX_LISTED = 1000;
/** By the settings of the snapshot, so that a change of the file starts with an empty cache. */
const knowledgeOf = memoizePerObject(
  (_settings: ProviderSettings) => new BoundedCache<string, ModelKnowledge>(MAX_REMEMBERED),
);

/**
 * The file overrides the provider's own table, which overrides the catalogue. After the first time, a model costs two
 * map lookups.
 */
export function modelKnowledge(settings: ProviderSettings, source: KnowledgeSource, model: string): ModelKnowledge {
  return knowledgeOf(settings).getOrMake(model, () => {
    const own = source.ownName?.(model) ?? model;
    return gather(
      settings.models.find(({ id }) => id === model) ??
        settings.models.find(({ id }) => (source.ownName?.(id) ?? id) === own),
      // prices of the row do not hold at another address
      settings.isElsewhere === true ? { ...source, searchUnits: [] } : source,
      own,
    );
  });
}

function gather(listed: ModelListing | undefined, source: KnowledgeSource, model: string): ModelKnowledge {
  const own = source.facts?.(model) ?? {};
  const found = catalogued(source, model);
  return {
    name: listed?.name ?? found?.name ?? null,
    facts: {
      contextTokens: listed?.contextLength ?? own.contextTokens ?? found?.contextTokens ?? null,
      maxOutputTokens: listed?.maxCompletionTokens ?? own.maxOutputTokens ?? null,
    },
    catalogueId: found?.id ?? null,
    generates: found?.generates ?? [],
    price:
      listed?.pricing == null
        ? (found?.price ?? searchUnitPrice(source, model))
        : { id: "configuration", periods: [{ from: null, daily: null, rates: ratesOfFile(listed.pricing) }] },
  };
}

function searchUnitPrice({ id, searchUnits = [] }: KnowledgeSource, model: string): ModelPrice | null {
  const found = searchUnits.find(({ models }) => models.some((part) => model.includes(part)));
  if (found === undefined) return null;
  const rates: Rates = { ...NO_RATES, searchUnit: { base: found.nanoUsd * MILLION, tiers: [] } };
  return { id: `published@${found.read}:${id}/search_unit`, periods: [{ from: null, daily: null, rates }] };
}

function ratesOfFile({ prompt, completion }: { readonly prompt: string; readonly completion: string }): Rates {
  return {
    ...NO_RATES,
    prompt: { base: exactRate(prompt), tiers: [] },
    completion: { base: exactRate(completion), tiers: [] },
  };
}

/**
 * Returns the chat models of the catalogue by the provider's own names, sorted; empty when the catalogue does not know
 * the provider.
 */
export function cataloguedModels(source: KnowledgeSource): readonly string[] {
  return namesOf(
    source,
    (model) => !NO_CHAT.test(model.id) && (source.listed?.test(model.id) ?? true) && isChat(model),
  );
}

/** Returns the embedding models of the catalogue in the same way. */
export function cataloguedEmbeddings(source: KnowledgeSource): readonly string[] {
  return namesOf(source, ({ id }) => modelKind(id) === "embeddings");
}

function namesOf(source: KnowledgeSource, isOne: (model: ModelInfo) => boolean): readonly string[] {
  const models = (bundled(source)?.models ?? []).filter(
    (model) => model.deprecated !== true && !PREFIX.test(model.id) && isOne(model) && matches(model.match, model.id),
  );
  return [...new Set(models.map(({ id }) => id))].toSorted().slice(0, MAX_LISTED);
}

/** What a model is for, by its name; a conversation where nothing else is known. */
export function modelKind(model: string): "conversation" | "embeddings" | "rerank" | "moderations" {
  if (/rerank/i.test(model)) return "rerank";
  if (/moderation/i.test(model)) return "moderations";
  return EMBEDDINGS.test(model) ? "embeddings" : "conversation";
}

const EMBEDDINGS = /embed|(^|[/-])(bge|e5|gte|all-minilm|voyage)-/i;

/** Names that are only a prefix. */
const PREFIX = /[-.:/]$/;

/** Models of other operations. */
const NO_CHAT = /realtime|transcribe|embed|whisper|moderation|[-_](tts|live)([-_]|$)/i;

/** Embedding models have no price of generated tokens; image and speech models have no token prices. */
function isChat(model: ModelInfo): boolean {
  const { input_mtok: prompt, output_mtok: completion } = latestPrices(model);
  return prompt !== undefined && completion !== undefined;
}

function generatedBy(model: ModelInfo): ModelKnowledge["generates"] {
  const { output_audio_mtok: audio, output_image_mtok: image } = latestPrices(model);
  return [...(audio === undefined ? [] : (["audio"] as const)), ...(image === undefined ? [] : (["image"] as const))];
}

function latestPrices({ prices }: ModelInfo): BundledPrice {
  return Array.isArray(prices) ? (prices.at(-1)?.prices ?? {}) : prices;
}

function catalogued(source: KnowledgeSource, model: string) {
  const provider = bundled(source);
  if (provider === null) return null;
  // resellers use the makers' own names for models that the catalogue does not list under the reseller
  for (const id of [provider.id, ...(provider.fallback_model_providers ?? [])]) {
    const info = bundledProvider(id)?.models.find(({ match }) => matches(match, model));
    if (info !== undefined)
      return {
        id: info.id,
        name: info.name ?? null,
        contextTokens: info.context_window ?? null,
        price: priceOf(info, id),
        generates: generatedBy(info),
      };
  }
  return null;
}

function priceOf({ id, prices }: ModelInfo, providerId: string): ModelPrice | null {
  const stated = Array.isArray(prices) ? prices.map(periodOf) : [{ from: null, daily: null, rates: ratesOf(prices) }];
  const periods = stated.map(withHour);
  if (!isFilled(periods) || periods.every(({ rates }) => isUnpriced(rates))) return null;
  const source = `genai-prices@${manifest.dependencies["@pydantic/genai-prices"]}`;
  return { id: `${source}:${providerId}/${id}`, isBundled: true, periods };
}

/**
 * The catalogue has the price of a cache that lasts an hour at the vendor of the models that have one, and at few of the
 * others that serve them. It is twice the price of the prompt at all of them:
 * https://platform.claude.com/docs/en/about-claude/pricing, https://aws.amazon.com/bedrock/pricing/
 */
function withHour(period: PricePeriod): PricePeriod {
  const { prompt, cacheWriteHour } = period.rates;
  if (prompt === null || cacheWriteHour !== null) return period;
  return { ...period, rates: { ...period.rates, cacheWriteHour: timesRate(prompt, 2) } };
}

function isUnpriced({ prompt, completion, searchUnit }: Rates): boolean {
  return prompt === null && completion === null && searchUnit === null;
}

function isFilled<T>(list: readonly T[]): list is readonly [T, ...T[]] {
  return list.length > 0;
}

function periodOf({
  constraint,
  prices,
}: {
  readonly constraint?: { readonly type: string };
  readonly prices: BundledPrice;
}): PricePeriod {
  const {
    start_date: from,
    start_time: start,
    end_time: end,
  } = (constraint ?? {}) as { readonly start_date?: string; readonly start_time?: string; readonly end_time?: string };
  return {
    from: from === undefined ? null : Date.parse(from),
    daily: start === undefined || end === undefined ? null : { fromMs: timeOfDay(start), toMs: timeOfDay(end) },
    rates: ratesOf(prices),
  };
}

const DAY_MS = 86_400_000;
/** Converts a time such as `00:30:00Z`, possibly with an offset, to milliseconds since midnight UTC. */
function timeOfDay(text: string): number {
  const ms = Date.parse(`1970-01-01T${text}`);
  return ((ms % DAY_MS) + DAY_MS) % DAY_MS;
}

function ratesOf(prices: BundledPrice): Rates {
  return {
    prompt: rateOf(prices["input_mtok"]),
    completion: rateOf(prices["output_mtok"]),
    cacheRead: rateOf(prices["cache_read_mtok"]),
    cacheWrite: rateOf(prices["cache_write_mtok"]),
    cacheWriteHour: rateOf(prices["cache_write_1h_mtok"]),
    reasoning: rateOf(prices["output_reasoning_mtok"]),
    audioPrompt: rateOf(prices["input_audio_mtok"]),
    audioCacheRead: rateOf(prices["cache_audio_read_mtok"]),
    audioCompletion: rateOf(prices["output_audio_mtok"]),
    imagePrompt: rateOf(prices["input_image_mtok"]),
    imageCompletion: rateOf(prices["output_image_mtok"]),
    request: rateOf(prices["requests_kcount"], PER_THOUSAND),
    searchUnit: rateOf(prices["rerank_searches_kcount"], PER_THOUSAND),
  };
}

/** Prices of requests and searches are for a thousand, prices of tokens for a million. */
const PER_THOUSAND = 1000;

function rateOf(price: BundledPrice[string], times = 1): Rate | null {
  if (price === undefined) return null;
  if (typeof price === "number") return { base: rateOfMillion(price * times), tiers: [] };
  return {
    base: rateOfMillion(price.base * times),
    tiers: price.tiers.map(({ start, price: above }) => ({ above: start, rate: rateOfMillion(above * times) })),
  };
}

function bundled({ id, catalogue }: KnowledgeSource): BundledProvider | null {
  return catalogue === null ? null : bundledProvider(catalogue ?? id);
}

/**
 * Loads the catalogue, which takes some 25 ms and 10 MB. It happens before the first call that needs it, and not at all
 * where no call does.
 */
export const readCatalogue = lazy(() => require("@pydantic/genai-prices") as typeof Bundled);

/** The package also matches parts of a provider's name, but "my-openai" is not OpenAI. */
function bundledProvider(id: string): BundledProvider | null {
  const found = readCatalogue().findProvider({ providerId: id });
  return found?.id === id ? found : null;
}

function matches(rule: MatchLogic, model: string): boolean {
  if ("or" in rule) return rule.or.some((one) => matches(one, model));
  if ("and" in rule) return rule.and.every((one) => matches(one, model));
  if ("regex" in rule) return new RegExp(rule.regex).test(model);
  const name = model.toLowerCase();
  if ("equals" in rule) return name === rule.equals.toLowerCase();
  if ("starts_with" in rule) return name.startsWith(rule.starts_with.toLowerCase());
  return "ends_with" in rule ? name.endsWith(rule.ends_with.toLowerCase()) : name.includes(rule.contains.toLowerCase());
}
