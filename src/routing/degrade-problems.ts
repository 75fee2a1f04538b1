// Finds budgets that lead calls to a model or a route that does not exist.
import { budgetSchema } from "../admission/settings.ts";
import type { Finding } from "../config/problem.ts";
import { splitName } from "./compile-routes.ts";
import type { RouteEntries } from "./settings.ts";

/** `routes` are those that are visible where the budget applies. */
export function degradeProblems(
  document: unknown,
  providers: ReadonlySet<string>,
  routes: readonly RouteEntries[],
): readonly Finding[] {
  const parsed = budgetSchema.safeParse(document);
  if (!parsed.success) return [];
  return parsed.data.thresholds.flatMap((one, index) => {
    const to = typeof one === "number" ? undefined : one.degrade_to;
    if (to === undefined) return [];
    const path = ["thresholds", index, "degrade_to"];
    const isThere = to.startsWith("route:")
      ? routes.some((some) => Object.hasOwn(some, to.slice("route:".length)))
      : providers.has(splitName(to)?.providerId ?? "");
    return isThere
      ? []
      : [
          {
            path,
            message: to.startsWith("route:")
              ? "there is no route with this name"
              : "there is no provider with the id before the colon",
          },
        ];
  });
}
