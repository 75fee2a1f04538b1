// The fields of a request that say where else it may go: `num_retries`, `fallbacks`, `context_window_fallback_dict`,
// `model_list` (promises 1.6, 7.1 and 7.3). Their types are checked already; entry-request.ts checks their parameters.
import type { CallOptions, ModelListEntry, RequestFallback } from "../../core/chat.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { normalizedName } from "../../core/target.ts";

type RoutingOptions = Pick<CallOptions, "numRetries" | "fallbacks" | "contextWindowFallbacks" | "modelList">;

const MAX_FALLBACKS = 32;
const MAX_LIST = 128;
/**
 * Fields that entries may not set, because they belong to the call as a whole or would change the form of the answer
 * that the client waits for.
 */
const OF_THE_CALL: ReadonlySet<string> = new Set([
  "tenant_id",
  "project_id",
  "metadata",
  "cache",
  "messages",
  "stream",
  "stream_options",
  "functions",
  "function_call",
  "max_tool_rounds",
  "timeout",
  "fallbacks",
  "context_window_fallback_dict",
  "model_list",
]);
const OF_THE_LIST: ReadonlySet<string> = new Set([...OF_THE_CALL, "route", "num_retries"]);
const LIST_KEYS: ReadonlySet<string> = new Set(["model_name", "params", "weight", "order"]);
const ROUTE_PREFIX = "route:";
const NO_FALLBACKS: readonly RequestFallback[] = [];
const NO_MODELS: ReadonlyMap<string, string> = new Map();

/** The fields that `parseRouting` reads. */
export const ROUTING_FIELDS = ["num_retries", "fallbacks", "context_window_fallback_dict", "model_list"] as const;

/** For a request with none of the fields. */
export const AS_CONFIGURED: RoutingOptions = {
  numRetries: null,
  fallbacks: NO_FALLBACKS,
  contextWindowFallbacks: NO_MODELS,
  modelList: null,
};

/** Throws `invalid_request` with the path of the entry. */
export function parseRouting(gateway: Readonly<Record<string, Json>>): RoutingOptions {
  const { num_retries: retries, fallbacks, context_window_fallback_dict: models, model_list: list } = gateway;
  return {
    numRetries: (retries as number | undefined) ?? null,
    fallbacks:
      fallbacks === undefined
        ? NO_FALLBACKS
        : parseFallbacks(
            fallbacks as readonly (string | JsonObject)[],
            selector(gateway["model"] as string | undefined, gateway["route"] as string | undefined),
          ),
    contextWindowFallbacks: models === undefined ? NO_MODELS : parseModels(models as JsonObject),
    modelList: list === undefined ? null : parseList(list as readonly JsonObject[]),
  };
}

function parseFallbacks(
  entries: readonly (string | JsonObject)[],
  requestModel: string | null,
): readonly RequestFallback[] {
  if (entries.length > MAX_FALLBACKS)
    throw invalidRequest("fallbacks", `fallbacks may have at most ${MAX_FALLBACKS} entries; got ${entries.length}.`);
  return entries.map((entry, index) => {
    const path = `fallbacks[${index}]`;
    const fallback = typeof entry === "string" ? namedFallback(entry, path) : fallbackOf(entry, path);
    if (
      Object.keys(fallback.params).length === 0 &&
      selector(fallback.model ?? undefined, fallback.route ?? undefined) === requestModel
    )
      throw invalidRequest(
        path,
        `${path} is the same as the request's own model or route; to repeat a call, set num_retries.`,
      );
    return fallback;
  });
}

function namedFallback(name: string, path: string): RequestFallback {
  const route = name.startsWith(ROUTE_PREFIX) ? name.slice(ROUTE_PREFIX.length) : null;
  if ((route ?? name) === "") throw invalid(path, "the name of a model or route:<name>", name);
  return { model: route === null ? name : null, route, params: {}, path };
}

function fallbackOf(entry: JsonObject, path: string): RequestFallback {
  const { model, route, ...params } = entry;
  const named = {
    model: (model as string | null | undefined) || null,
    route: (route as string | null | undefined) || null,
  };
  if (named.model === null && named.route === null) throw invalid(`${path}.model`, "present, or route", model);
  return { ...named, params: entryParams(params, OF_THE_CALL, path), path };
}

function parseList(entries: readonly JsonObject[]): readonly ModelListEntry[] | null {
  if (entries.length === 0) return null;
  if (entries.length > MAX_LIST)
    throw invalidRequest("model_list", `model_list may have at most ${MAX_LIST} entries; got ${entries.length}.`);
  return entries.map((entry, index) => {
    const path = `model_list[${index}]`;
    for (const key of Object.keys(entry))
      if (!LIST_KEYS.has(key) && entry[key] !== null)
        throw invalidRequest(
          `${path}.${key}`,
          `${path}.${key} is unknown. An entry can have ${[...LIST_KEYS].join(", ")}.`,
        );
    const { model, ...params } = entry["params"] as JsonObject;
    return {
      modelName: entry["model_name"] as string,
      model: model as string,
      params: entryParams(params, OF_THE_LIST, `${path}.params`),
      weight: (entry["weight"] as number | null | undefined) ?? 1,
      order: (entry["order"] as number | null | undefined) ?? 0,
      path: `${path}.params`,
    };
  });
}

function entryParams(params: JsonObject, refused: ReadonlySet<string>, path: string): JsonObject {
  const kept: [string, Json][] = [];
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined || (refused.has(name) && value === null)) continue;
    if (refused.has(name))
      throw invalidRequest(
        `${path}.${name}`,
        `${path}.${name} cannot be set in an entry; set it in the request, for the whole call.`,
      );
    kept.push([name, value]);
  }
  return Object.fromEntries(kept);
}

function parseModels(models: JsonObject): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [from, to] of Object.entries(models)) {
    if (typeof to !== "string") continue;
    const path = `context_window_fallback_dict.${from}`;
    if (to === "") throw invalid(path, "the name of a model", to);
    if (selector(from, undefined) === selector(to, undefined))
      throw invalidRequest(path, `${path} is a fallback to itself.`);
    found.set(from, to);
  }
  return found;
}

/** Returns what a call requests in a normalized form; `null` when it requests nothing. */
function selector(model: string | undefined, route: string | undefined): string | null {
  const name = model === undefined || model === "" ? null : normalizedName(model);
  if (route !== undefined && route !== "direct")
    return `${ROUTE_PREFIX}${route}${name === null || name === route ? "" : ` ${name}`}`;
  return name === null || name.includes(":") ? name : `${ROUTE_PREFIX}${name}`;
}
