// `GET /models`: what a token may call (decisions 9.1; research on clients, M1 to M5). Made from the snapshot; nothing is asked upstream.
import { capabilityOf } from "../core/capability.ts";
import type { JsonObject } from "../core/json.ts";
import { COMMON_PARAMETERS } from "../core/params.ts";
import type { ModelListing, ProviderSettings, Snapshot } from "../core/snapshot.ts";
import type { Provider } from "../providers/provider.ts";

export interface ModelCatalogue {
  readonly providers: ReadonlyMap<string, Provider>;
  /** Models that need no configuration, by provider. */
  readonly builtIn: ReadonlyMap<string, readonly { readonly id: string; readonly name: string }[]>;
}

/** Seconds since 1970; clients want a number and read nothing from it. */
const CREATED = 1_767_225_600;

export function listModels(snapshot: Snapshot, catalogue: ModelCatalogue): readonly JsonObject[] {
  return [...snapshot.providers.values()].filter((settings) => settings.enabled).flatMap((settings) => listedModels(settings, catalogue).map((model) => describeModel(settings, model, catalogue)));
}

/** A model of an enabled provider, listed or not; undefined when there is no such provider. */
export function findModel(id: string, snapshot: Snapshot, catalogue: ModelCatalogue): JsonObject | undefined {
  const at = id.search(/[:/]/);
  const settings = at > 0 ? snapshot.providers.get(id.slice(0, at)) : undefined;
  const name = id.slice(at + 1);
  if (settings === undefined || !settings.enabled || name === "") return undefined;
  const listed = listedModels(settings, catalogue).find((model) => model.id === name);
  return describeModel(settings, listed ?? unlisted(name), catalogue);
}

function unlisted(id: string): ModelListing {
  return { id, name: null, contextLength: null, maxCompletionTokens: null, pricing: null };
}

function listedModels(settings: ProviderSettings, catalogue: ModelCatalogue): readonly ModelListing[] {
  const builtIn = (catalogue.builtIn.get(settings.family) ?? []).map(({ id, name }) => ({ ...unlisted(id), name }));
  return settings.models.length > 0 ? settings.models : builtIn;
}

function describeModel(settings: ProviderSettings, model: ModelListing, catalogue: ModelCatalogue): JsonObject {
  const provider = catalogue.providers.get(settings.family);
  return {
    id: `${settings.id}:${model.id}`,
    object: "model",
    created: CREATED,
    owned_by: settings.id,
    name: model.name ?? `${settings.id}:${model.id}`,
    ...(model.contextLength !== null && { context_length: model.contextLength }),
    ...(model.maxCompletionTokens !== null && { top_provider: { max_completion_tokens: model.maxCompletionTokens } }),
    ...(model.pricing !== null && { pricing: model.pricing }),
    supported_parameters: provider === undefined ? [] : COMMON_PARAMETERS.filter((name) => capabilityOf(provider.capabilities, name, model.id).support !== "unsupported"),
  };
}
