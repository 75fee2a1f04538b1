// Finds the route for `route` and `model` of a request (promises 1.1 to 1.4 and 1.6), and the model that a route's map
// names for a conversation that is too long.

// Decides (targets and attempts): Which route and which targets serve a request? By: `resolveRoute`. Also:
// `engine/plan/stages.ts` (`prepare`). Rule: `model_list`, else `route`, else the route with the name or alias that
// `model` has, else that model itself.
import { noSuchRoute, permittedTargets } from "../auth/permitted-models.ts";
import type { CallOptions, ModelListEntry } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { Principal, TokenRestrictions } from "../core/identity.ts";
import { memoizeBounded, memoizePerObject } from "../core/memoization.ts";
import { DIRECT_ROUTE, directRoute, type Route, type RouteTarget } from "../core/configured/route.ts";
import { invalidRequest, modelNotFound } from "../core/refusals.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { MODEL_ID } from "../providers/settings.ts";

/** The call options by which a route is chosen. */
export type Selection = Pick<CallOptions, "route" | "model" | "modelList">;
type Scope = Pick<Principal, "tenantId"> & { readonly projectId: string | null };
type Routes = Pick<Snapshot, "routes" | "tenantRoutes" | "projectRoutes">;

export interface ResolvedRoute {
  readonly route: Route;
  /**
   * The target that the request names in addition to the route. It is attempted first, and the others only as
   * fallbacks. `null` when the strategy chooses.
   */
  readonly requested: RouteTarget | null;
}

/**
 * Throws `invalid_request`, `route_not_found`, `model_not_found` or `model_not_in_route`, each with `param`. With
 * `restrictions`, those of the caller who has written the selection, no error tells what the caller may not call.
 */
export function resolveRoute(
  { route, model, modelList }: Selection,
  snapshot: Snapshot,
  scope: Scope,
  restrictions: TokenRestrictions | null,
): ResolvedRoute {
  const requested = model === "" ? null : model;
  if (modelList !== null)
    return {
      route: inlineRoute(modelList, route, requested, snapshot, routesFor(snapshot, scope).get(DIRECT_ROUTE)),
      requested: null,
    };
  if (route !== null && route !== DIRECT_ROUTE)
    return withinRoute(namedRoute(route, snapshot, scope, restrictions), requested, restrictions);
  if (requested === null)
    throw invalidRequest(
      "model",
      "model or route is required. A model is <provider>:<model_name>; GET /api/v1/models lists models and routes.",
    );
  const same = route === null ? findRoute(requested, routesFor(snapshot, scope), restrictions) : undefined;
  return same === undefined
    ? {
        route: directRoutes(snapshot)(routesFor(snapshot, scope))(requested),
        requested: null,
      }
    : { route: same, requested: null };
}

/** Callers choose the names of models, so that the number of routes that are kept for them is bounded. */
const MAX_DIRECT_ROUTES = 1024;
/** The route of a model that is called directly: for each snapshot, and the routes of the caller's scope in it. */
const directRoutes = memoizePerObject((snapshot: Snapshot) =>
  memoizePerObject((routes: ReadonlyMap<string, Route>) =>
    memoizeBounded(MAX_DIRECT_ROUTES, (model: string) =>
      directRoute(splitModel(model, snapshot), routes.get(DIRECT_ROUTE)),
    ),
  ),
);

/** Returns all routes that are visible in a project, or in a tenant where no project is known. */
export function routesFor(
  { routes, tenantRoutes, projectRoutes }: Routes,
  { tenantId, projectId }: Scope,
): ReadonlyMap<string, Route> {
  return (projectId === null ? undefined : projectRoutes.get(projectId)) ?? tenantRoutes.get(tenantId) ?? routes;
}

/**
 * Finds a route by its name, or else by an alias. An alias of a route that the caller may not call does not count, so
 * that it neither tells of the route nor stands before a model of this name.
 */
export function findRoute(
  name: string,
  routes: ReadonlyMap<string, Route>,
  restrictions: TokenRestrictions | null,
): Route | undefined {
  if (name === DIRECT_ROUTE) return undefined;
  const named = routes.get(name);
  if (named !== undefined) return named;
  const other = routesByAlias(routes).get(name);
  return other !== undefined && permittedTargets(restrictions, other).length > 0 ? other : undefined;
}

/** An alias of a nearer scope precedes one of a wider scope, whose routes come first in the map. */
const routesByAlias = memoizePerObject(
  (routes: ReadonlyMap<string, Route>): ReadonlyMap<string, Route> =>
    new Map([...routes.values()].flatMap((route) => (route.aliases ?? []).map((alias) => [alias, route] as const))),
);

/** Returns the routes that a request can name. The route with the defaults for direct calls is not one of them. */
export function namedRoutes(routes: ReadonlyMap<string, Route>): readonly Route[] {
  return [...routes.values()].filter(({ name }) => name !== DIRECT_ROUTE);
}

/**
 * Returns the model to use for a conversation that is too long for `target`, which the map names with or without its
 * provider; `null` when the map has none.
 */
export function contextWindowFallback(
  models: ReadonlyMap<string, string>,
  { providerId, model }: Pick<RouteTarget, "providerId" | "model">,
): string | null {
  if (models.size === 0) return null;
  return models.get(`${providerId}:${model}`) ?? models.get(`${providerId}/${model}`) ?? models.get(model) ?? null;
}

function namedRoute(name: string, snapshot: Snapshot, scope: Scope, restrictions: TokenRestrictions | null): Route {
  const found = findRoute(name, routesFor(snapshot, scope), restrictions);
  if (found === undefined && restrictions !== null) throw noSuchRoute(name);
  if (found === undefined)
    throw new GatewayError("route_not_found", `Unknown route ${quoted(name)}.`, { param: "route" });
  return found;
}

function withinRoute(route: Route, model: string | null, restrictions: TokenRestrictions | null): ResolvedRoute {
  // a client that has to send a model may repeat the route's name there
  if (model === null || model === route.name) return { route, requested: null };
  const at = model.search(/[:/]/);
  const name = at < 0 ? model : `${model.slice(0, at)}:${model.slice(at + 1)}`;
  const requested = route.targets.find((target) => target.name === name);
  if (requested !== undefined) return { route, requested };
  if (route.aliases?.includes(model) === true) return { route, requested: null };
  if (restrictions?.permitsRoute(route.name) === false) throw noSuchRoute(route.name);
  const seen = permittedTargets(restrictions, route);
  throw new GatewayError(
    "model_not_in_route",
    `The model ${quoted(model)} is not a target of the route ${quoted(route.name)}${seen.length === 0 ? "" : `, which has ${seen.map((target) => target.name).join(", ")}`}.`,
    { param: "model" },
  );
}

/**
 * The targets are ordered by order, then by weight, then by their place in the list, and attempted one after another.
 */
function inlineRoute(
  list: readonly ModelListEntry[],
  route: string | null,
  model: string | null,
  snapshot: Snapshot,
  defaults: Route | undefined,
): Route {
  if (route !== null && route !== DIRECT_ROUTE)
    throw invalidRequest(
      "model_list",
      "model_list defines the route of this call, so route and model_list cannot be combined; send one of them.",
    );
  if (model === null)
    throw invalidRequest("model", "model is required with model_list: the model_name of the list to use.");
  const entries = list
    .filter((entry) => entry.modelName === model)
    .toSorted((a, b) => a.order - b.order || b.weight - a.weight);
  if (entries.length === 0)
    throw modelNotFound("model", `model_list has no entry with the model_name ${quoted(model)}.`);
  const targets = entries.map((entry, place): RouteTarget => ({
    ...splitModel(entry.model, snapshot, `${entry.path}.model`),
    weight: entry.weight,
    order: place,
    params: {},
    maxConcurrency: null,
    brought: entry,
  }));
  return { ...directRoute(targets[0]!, defaults), targets };
}

/**
 * Splits at the first `:` or `/` when the text before it is a known provider; the rest may contain both characters.
 * Throws `model_not_found` or `invalid_request`.
 */
export function splitModel(
  requested: string,
  snapshot: Pick<Snapshot, "providers">,
  param = "model",
): Pick<RouteTarget, "name" | "providerId" | "model"> {
  const at = requested.search(/[:/]/);
  const providerId = requested.slice(0, Math.max(at, 0));
  if (at <= 0 || at === requested.length - 1 || !snapshot.providers.has(providerId))
    throw modelNotFound(
      param,
      `The model ${quoted(requested)} is unknown. A model is written <provider>:<model_name>; GET /api/v1/models lists what this token may call.`,
    );
  const model = requested.slice(at + 1);
  if (!MODEL_ID.test(model))
    throw invalidRequest(
      param,
      "A model name must be at most 256 printable ASCII characters without spaces, '..', '?', '#' and a '.' between slashes.",
    );
  return { name: `${providerId}:${model}`, providerId, model };
}

export function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}…` : text);
}
