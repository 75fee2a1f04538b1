// The stages of a route: its own targets, of which a request may name one that is attempted first.
import type { Route, RouteTarget } from "../../core/configured/route.ts";
import type { Origin, RouteStage, Serving } from "./candidate.ts";
import { FOR_THE_CALL, type Verdict } from "./eligibility.ts";
import { type Preparing, stageOf, verdictsOf } from "./stage.ts";

/**
 * A target that was requested in addition to the route is attempted first, and the others only as its fallbacks
 * (promise 1.2).
 */
export function routeStages(
  preparing: Preparing,
  serving: Serving,
  requested: RouteTarget | null,
  label: string,
): RouteStage[] {
  const { route, request, origin } = serving;
  const group = {};
  const verdicts = targetVerdicts(preparing, route, requested);
  const stage = (targets: readonly RouteTarget[], from: Origin): RouteStage =>
    stageOf(preparing, serving, { request, origin: from, route, targets, label, group, verdicts });
  if (requested === null) return [stage(route.targets, origin)];
  const others = route.targets.filter((target) => target !== requested);
  return [stage([requested], { ...origin, via: null }), ...(others.length === 0 ? [] : [stage(others, origin)])];
}

/**
 * Returns the verdicts on the targets of a route; `null` when it has no conditions. The request may name one of them,
 * to which its share does not apply.
 */
function targetVerdicts(
  preparing: Preparing,
  route: Route,
  requested: RouteTarget | null,
): ReadonlyMap<RouteTarget, Verdict> | null {
  if (route.isConditional !== true) return null;
  const verdicts = verdictsOf(preparing, route, route.targets, "targets");
  return requested !== null && verdicts.get(requested)!.isOutsideShare
    ? new Map(verdicts).set(requested, FOR_THE_CALL)
    : verdicts;
}
