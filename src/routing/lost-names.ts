// Finds limits, budgets and policies that name a provider, a model or a route that does not exist.
import type { BudgetDocument } from "../admission/settings.ts";
import type { Finding } from "../config/problem.ts";
import { DIRECT_ROUTE } from "../core/configured/route.ts";
import { normalizedPattern } from "../core/target.ts";
import { splitName } from "./compile-routes.ts";
import type { RouteEntries } from "./settings.ts";

const NO_ROUTE = "there is no route with this name";
const NO_PROVIDER_OF_MODEL = "there is no provider with the id before the colon";

interface ScopeNames {
  readonly route?: string | undefined;
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

/** Names because of which a scope fits no call. `routes` are those that are visible where it applies. */
export function scopeProblems(
  { route, provider, model }: ScopeNames,
  providers: ReadonlySet<string>,
  routes: readonly RouteEntries[],
): readonly Finding[] {
  const found: Finding[] = [];
  const requireName = (
    member: string,
    name: string | undefined,
    exists: (name: string) => boolean,
    message: string,
  ) => {
    if (name !== undefined && !name.includes("*") && !exists(name)) found.push({ path: ["scope", member], message });
  };
  const isProvider = (id: string): boolean => providers.has(id);
  requireName("route", route, (name) => name === DIRECT_ROUTE || hasRoute(routes, name), NO_ROUTE);
  requireName("provider", provider, isProvider, "there is no provider with this id");
  requireName("model", model && normalizedPattern(model).split(":")[0], isProvider, NO_PROVIDER_OF_MODEL);
  return found;
}

function hasRoute(routes: readonly RouteEntries[], name: string): boolean {
  return routes.some((some) => Object.hasOwn(some, name));
}

/** Models and routes to which a budget leads calls. `routes` are those that are visible where the budget applies. */
export function degradeProblems(
  thresholds: BudgetDocument["thresholds"],
  providers: ReadonlySet<string>,
  routes: readonly RouteEntries[],
): readonly Finding[] {
  return thresholds.flatMap((one, index) => {
    const to = typeof one === "number" ? undefined : one.degrade_to;
    if (to === undefined) return [];
    const path = ["thresholds", index, "degrade_to"];
    if (to.startsWith("route:"))
      return hasRoute(routes, to.slice("route:".length)) ? [] : [{ path, message: NO_ROUTE }];
    return providers.has(splitName(to)?.providerId ?? "") ? [] : [{ path, message: NO_PROVIDER_OF_MODEL }];
  });
}
