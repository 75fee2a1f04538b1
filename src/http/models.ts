// `GET /models`: what a token may call (promise 9.1; docs/clients.md, M1 to M5). It is built from the snapshot and the
// bundled catalogue, without requests to providers. The additional fields have OpenRouter's names:
// https://openrouter.ai/docs/api-reference/list-available-models

// Decides (who may call, and with what): Which models does a caller see in the list? By: `listModels`. Also:
// `http/app.ts` (`callableRoutes`). Rule: First the routes that the token may name, if a target that it permits, or a fallback,
// is enabled; then the models that are enabled and that the token permits.
import { cataloguedEmbeddings, cataloguedModels, modelKnowledge } from "../accounting/model-catalogue.ts";
import { rateFor, usdPerToken } from "../accounting/price.ts";
import { priceAt, type PriceScope } from "../accounting/price-book.ts";
import { isEnabled } from "../auth/permitted-models.ts";
import { effectiveCapability } from "../core/capability.ts";
import type { BlockType } from "../core/chat.ts";
import type { Steps } from "../core/concurrency/steps.ts";
import type { TokenRestrictions } from "../core/identity.ts";
import type { JsonObject } from "../core/json.ts";
import type { Rate, Rates } from "../core/configured/price.ts";
import { COMMON_PARAMETERS } from "../core/params.ts";
import type { Route } from "../core/configured/route.ts";
import type { ProviderSettings, Snapshot } from "../core/snapshot.ts";
import type { Provider } from "../providers/interface/provider.ts";
import { type ListedOperation, operationsAt } from "./model-operations.ts";
import { MODEL_ID } from "../providers/settings.ts";

export interface ModelSources {
  readonly providers: ReadonlyMap<string, Provider>;
  /** Models that need no configuration, by provider. */
  readonly builtIn: ReadonlyMap<
    string,
    readonly { readonly id: string; readonly name: string; readonly fails?: true }[]
  >;
}

/** Seconds since 1970; clients require a number and do not use its value. */
const CREATED = 1_767_225_600;

export interface NamedModel {
  readonly settings: ProviderSettings;
  readonly provider: Provider;
  /** The provider's own name of the model. */
  readonly model: string;
}

function callableProviders(snapshot: Snapshot): readonly ProviderSettings[] {
  return [...snapshot.providers.values()].filter((settings) => settings.enabled);
}

/** The scope and the time for which models are described: both decide their prices. */
export interface ListingView {
  readonly snapshot: Snapshot;
  readonly scope: PriceScope;
  readonly restrictions: TokenRestrictions | null;
  readonly nowMs: number;
}

/** `routes` are those that the caller may call, which may be thousands. */
export function* listModels(
  view: ListingView,
  routes: Iterable<Route>,
  sources: ModelSources,
): Steps<readonly JsonObject[]> {
  const { snapshot, restrictions, scope } = view;
  const described = yield* describeRoutes([...routes], view, sources);
  const models = callableProviders(snapshot).flatMap((settings) => {
    const provider = sources.providers.get(settings.family);
    return provider === undefined
      ? []
      : listedNames(settings, provider, sources)
          .filter(
            (model) =>
              isEnabled(snapshot, scope, `${settings.id}:${model}`) &&
              (restrictions === null || restrictions.permitsModel(`${settings.id}:${model}`)),
          )
          .map((model) => describeModel({ settings, provider, model }, sources, view));
  });
  return [...described, ...models];
}

/** Finds a callable model, whether it is listed or not; null when no model has this name. */
export function findModel(
  id: string,
  snapshot: Snapshot,
  sources: ModelSources,
  restrictions: TokenRestrictions | null,
  scope: PriceScope,
): NamedModel | null {
  const at = id.search(/[:/]/);
  const settings = at > 0 ? callableProviders(snapshot).find((one) => one.id === id.slice(0, at)) : undefined;
  const provider = settings === undefined ? undefined : sources.providers.get(settings.family);
  const model = id.slice(at + 1);
  return settings === undefined ||
    provider === undefined ||
    !MODEL_ID.test(model) ||
    restrictions?.permitsModel(`${settings.id}:${model}`) === false ||
    !isEnabled(snapshot, scope, `${settings.id}:${model}`)
    ? null
    : { settings, provider, model };
}

/**
 * The models of the configuration, else the built-in ones that answer, else the catalogue's models of the provider at
 * its default address.
 */
function listedNames(settings: ProviderSettings, provider: Provider, { builtIn }: ModelSources): readonly string[] {
  if (settings.models.length > 0) return settings.models.map(({ id }) => id);
  const own = builtIn.get(settings.family);
  if (own !== undefined) return own.filter(({ fails }) => fails !== true).map(({ id }) => id);
  if (settings.baseUrl !== null && settings.baseUrl !== provider.baseUrl) return [];
  const vectors = cataloguedEmbeddings(provider).filter((model) => provider.tasks?.embeddings?.(model) != null);
  return [...cataloguedModels(provider), ...vectors];
}

export function describeModel(
  { settings, provider, model }: NamedModel,
  { builtIn }: ModelSources,
  { snapshot, scope, nowMs }: ListingView,
): JsonObject {
  const { name, facts, generates } = modelKnowledge(settings, provider, model);
  const id = `${settings.id}:${model}`;
  const price = priceAt(snapshot.prices, scope, settings, provider, model, nowMs);
  return {
    id,
    object: "model",
    created: CREATED,
    owned_by: settings.id,
    name: name ?? builtIn.get(settings.family)?.find((known) => known.id === model)?.name ?? id,
    ...(facts.contextTokens !== null && { context_length: facts.contextTokens }),
    ...(facts.maxOutputTokens !== null && { top_provider: { max_completion_tokens: facts.maxOutputTokens } }),
    architecture: {
      input_modalities: inputModalities(provider, model),
      output_modalities: outputModalities(provider, model, generates),
    },
    ...(price !== null && { pricing: listedPrice(price.rates, 0), ...priceTiers(price.rates), price_id: price.id }),
    supported_parameters: supportedParameters(provider, model),
    operations: namesOf(operationsAt(settings, provider, model)),
  };
}

const namesOf = (operations: readonly ListedOperation[]): readonly string[] => operations.map(({ name }) => name);

/** Each route by its name, and then by each alias under which requests find it. */
function* describeRoutes(
  routes: readonly Route[],
  view: ListingView,
  sources: ModelSources,
): Steps<readonly JsonObject[]> {
  const described = new Map<string, JsonObject>();
  for (const route of routes) {
    described.set(route.name, describeRoute(route, view, sources));
    yield;
  }
  // routes of nearer scopes come last, and their aliases precede those of the others
  const aliases = new Map(routes.flatMap(({ name, aliases: own = [] }) => own.map((alias) => [alias, name] as const)));
  return [
    ...described.values(),
    ...[...aliases]
      .filter(([alias]) => !described.has(alias))
      .map(([alias, name]) => ({ ...described.get(name)!, id: alias })),
  ];
}

/**
 * A route as a model that clients can name: it shows what all of its targets support, and the highest of their prices.
 * Targets that cannot be called are ignored.
 */
export function describeRoute(
  route: Route,
  { snapshot, scope, nowMs }: ListingView,
  { providers }: ModelSources,
): JsonObject {
  const targets = route.targets.flatMap(({ providerId, model }) => {
    const settings = snapshot.providers.get(providerId);
    const provider = settings?.enabled === true ? providers.get(settings.family) : undefined;
    return settings === undefined || provider === undefined
      ? []
      : [
          {
            provider,
            model,
            operations: namesOf(operationsAt(settings, provider, model)),
            ...modelKnowledge(settings, provider, model),
            price: priceAt(snapshot.prices, scope, settings, provider, model, nowMs),
          },
        ];
  });
  const contextLength = smallest(targets.map(({ facts }) => facts.contextTokens));
  const maxOutput = smallest(targets.map(({ facts }) => facts.maxOutputTokens));
  return {
    id: route.name,
    object: "model",
    created: CREATED,
    owned_by: "dragoman",
    name: route.name,
    ...(contextLength !== null && { context_length: contextLength }),
    ...(maxOutput !== null && { top_provider: { max_completion_tokens: maxOutput } }),
    architecture: {
      input_modalities: common(targets.map(({ provider, model }) => inputModalities(provider, model))),
      output_modalities: common(
        targets.map(({ provider, model, generates }) => outputModalities(provider, model, generates)),
      ),
    },
    ...highestPrice(targets.map(({ price }) => price?.rates ?? null)),
    supported_parameters: common(targets.map(({ provider, model }) => supportedParameters(provider, model))),
    operations: common(targets.map(({ operations }) => operations)),
  };
}

/** Returns the highest price of each kind; nothing where one of the targets has no known price. */
function highestPrice(rates: readonly (Rates | null)[]): JsonObject {
  const highest = new Map<string, string>();
  for (const each of rates) {
    if (each === null) return {};
    for (const [field, price] of Object.entries(listedPrice(each, 0)))
      if (Number(price) >= Number(highest.get(field) ?? 0)) highest.set(field, price);
  }
  return highest.size === 0 ? {} : { pricing: Object.fromEntries(highest) };
}

/** The smallest of the known values. */
function smallest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.min(...known);
}

function common([first, ...others]: readonly (readonly string[])[]): readonly string[] {
  return first?.filter((word) => others.every((list) => list.includes(word))) ?? [];
}

function supportedParameters({ capabilities }: Provider, model: string): readonly string[] {
  return COMMON_PARAMETERS.filter(
    (parameter) => effectiveCapability(capabilities, parameter, model).support !== "unsupported",
  );
}

const MODALITIES: readonly (readonly [block: BlockType, word: string])[] = [
  ["text", "text"],
  ["image_url", "image"],
  ["input_audio", "audio"],
  ["video_url", "video"],
  ["file", "file"],
];

function inputModalities({ capabilities }: Provider, model: string): readonly string[] {
  return MODALITIES.filter(([block]) => effectiveCapability(capabilities, block, model).support !== "unsupported").map(
    ([, word]) => word,
  );
}

/**
 * A provider whose table supports `audio` only for some named models produces audio for these. For other models only a
 * price shows that they produce audio or images.
 */
function outputModalities({ capabilities }: Provider, model: string, generates: readonly string[]): readonly string[] {
  const hasAudio =
    capabilities.cells.audio.support === "unsupported" &&
    effectiveCapability(capabilities, "audio", model).support !== "unsupported";
  return [...new Set(["text", ...(hasAudio ? ["audio"] : []), ...generates])];
}

function listedPrice(rates: Rates, promptTokens: number): Readonly<Record<string, string>> {
  const fields = [
    ["prompt", rates.prompt],
    ["completion", rates.completion],
    ["input_cache_read", rates.cacheRead],
    ["input_cache_write", rates.cacheWrite],
    ["internal_reasoning", rates.reasoning],
    ["audio", rates.audioPrompt],
    ["image_output", rates.imageCompletion],
    ["request", rates.request],
    ["search_unit", rates.searchUnit],
  ] as const;
  return Object.fromEntries(
    fields.flatMap(([field, rate]) => (rate === null ? [] : [[field, usdPerToken(rateFor(rate, promptTokens))]])),
  );
}

/** Prices that apply to the whole call when its prompt is long. */
function priceTiers(rates: Rates): JsonObject {
  const all: readonly (Rate | null)[] = Object.values(rates);
  const bounds = new Set(all.flatMap((rate) => rate?.tiers.map(({ above }) => above) ?? []));
  if (bounds.size === 0) return {};
  return {
    pricing_tiers: [...bounds]
      .toSorted((a, b) => a - b)
      .map((above) => ({ above_prompt_tokens: above, ...listedPrice(rates, above + 1) })),
  };
}
