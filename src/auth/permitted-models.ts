// What a caller may call. Where the settings of the tenant or the project list models, every other model is unknown there
// (promise 1.4). The restrictions of a token to models, routes and tools are compiled once for each token (promises 2.4 and
// 3.4): one that is restricted to models may call those that match. One that is restricted to routes may name those that
// match, and what the configuration names in them is permitted with the route. One with both may call what either permits.

// Decides (who may call, and with what): May this caller use this model or route? By: `requireTarget`,
// `permittedTargets`, `isEnabled`. Rule: Asked for each candidate in `engine/plan/candidate.ts`.
import { GatewayError } from "../core/errors.ts";
import { modelNotFound } from "../core/refusals.ts";
import { compileGlob, type Glob } from "../core/text/glob.ts";
import type { AccessToken, TokenRestrictions } from "../core/identity.ts";
import { memoizePerObject } from "../core/memoization.ts";
import type { ScopeSettings, Snapshot } from "../core/snapshot.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import { normalizedPattern } from "../core/target.ts";

/** The most models, routes, tools or addresses to which one token can be restricted. */
export const MOST_RESTRICTIONS = 100;

/** What a restriction to models, routes or tools may look like. All of them are globs. */
export const RESTRICTIONS = {
  model: {
    // it names a provider, or begins with any text: otherwise it could match nothing that is called
    form: /^(?=\*|[^:/]*[:/])[\x21-\x7e]{1,256}$/,
    expected: "<provider>:<model_name>, with * for any text (*:<model_name> for any provider)",
  },
  route: { form: /^[A-Za-z0-9_.*-]{1,64}$/, expected: "a route's name, with * for any text" },
  tool: { form: /^[\x21-\x7e]{1,256}$/, expected: "<server_label>__<tool>, with * for any text" },
} as const;

/** `null` when the token is restricted neither to models nor to routes. */
export function restrictionsOf(token: AccessToken): TokenRestrictions | null {
  return token.models.length === 0 && token.routes.length === 0 ? null : compiled(token);
}

/** Returns whether the token permits the tool of a name; `null` when it is not restricted to tools. */
export function toolRestrictionOf(token: AccessToken): Glob | null {
  return token.tools.length === 0 ? null : compiledTools(token);
}

const compiledTools = memoizePerObject(({ tools }: AccessToken): Glob => {
  const globs = tools.map(compileGlob);
  return (name) => matches(globs, name);
});

interface Named {
  readonly name: string;
}

/**
 * Throws `route_not_found` or `model_not_found` with the message for what does not exist, so that the token does not
 * reveal what exists. `isPermittedByRoute` says that the configuration names the target in a route that the token may
 * name. `via` is the route by which the caller got here; `null` for a target that the caller named, which alone is named
 * in the error.
 */
export function requireTarget(
  restrictions: TokenRestrictions | null,
  route: Named,
  target: Named,
  isPermittedByRoute: boolean,
  via: string | null,
): void {
  if (restrictions === null || isPermittedByRoute) return;
  if (route.name !== DIRECT_ROUTE && !restrictions.permitsRoute(route.name)) throw noSuchRoute(via ?? route.name);
  if (!restrictions.permitsModel(target.name))
    throw modelNotFound(
      "model",
      via === null
        ? `There is no model ${JSON.stringify(target.name)} that this access token may call. GET /api/v1/models lists what it may call.`
        : `The route ${JSON.stringify(via)} leads to a model that this access token may not call. GET /api/v1/models lists what it may call.`,
    );
}

/** For routes that do not exist and for those that a restricted token may not name. */
export function noSuchRoute(name: string): GatewayError {
  return new GatewayError(
    "route_not_found",
    `There is no route ${JSON.stringify(name)} that this access token may call.`,
    { param: "route" },
  );
}

/** Returns the targets of a route that the token may call through it. */
export function permittedTargets<Target extends Named>(
  restrictions: TokenRestrictions | null,
  { name, targets }: Named & { readonly targets: readonly Target[] },
): readonly Target[] {
  if (restrictions === null || restrictions.permitsWholeRoute(name)) return targets;
  return restrictions.permitsRoute(name) ? targets.filter((target) => restrictions.permitsModel(target.name)) : [];
}

const compiled = memoizePerObject(({ models, routes }: AccessToken): TokenRestrictions => {
  const ofModels = models.map((pattern) => compileGlob(normalizedPattern(pattern)));
  const ofRoutes = routes.map(compileGlob);
  return {
    permitsRoute: (name) => ofRoutes.length === 0 || matches(ofRoutes, name),
    permitsWholeRoute: (name) => matches(ofRoutes, name),
    permitsModel: (name) => matches(ofModels, name),
  };
});

function matches(globs: readonly Glob[], text: string): boolean {
  for (const glob of globs) if (glob(text)) return true;
  return false;
}

type Settings = Pick<Snapshot, "tenantSettings" | "projectSettings">;

interface Place {
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

const globsOf = memoizePerObject((models: readonly string[]) =>
  models.map((pattern) => compileGlob(normalizedPattern(pattern))),
);

/** `name` is `provider:model`. */
export function isEnabled(
  { tenantSettings, projectSettings }: Settings,
  { tenantId, projectId }: Place,
  name: string,
): boolean {
  return (
    lists(tenantId === null ? undefined : tenantSettings.get(tenantId), name) &&
    lists(projectId === null ? undefined : projectSettings.get(projectId), name)
  );
}

/**
 * Throws `model_not_found`. `via` is the route by which the caller got to the model; `null` for one that the caller
 * named, which alone is named in the error.
 */
export function requireEnabled(settings: Settings, place: Place, name: string, via: string | null): void {
  if (!isEnabled(settings, place, name))
    throw modelNotFound(
      "model",
      via === null
        ? `The model ${JSON.stringify(name.slice(0, 300))} is not enabled here. GET /api/v1/models lists the enabled models.`
        : `The route ${JSON.stringify(via)} leads to a model that is not enabled here. GET /api/v1/models lists the enabled models.`,
    );
}

function lists(settings: ScopeSettings | undefined, name: string): boolean {
  return settings?.models === undefined || matches(globsOf(settings.models), name);
}
