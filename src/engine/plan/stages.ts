// The stages of a call, in the form that the plan needs: the targets of its route or its one model, then its own
// fallbacks, then those of its route. Each candidate has the route that serves it, and everything that depends on a
// route (limits, policies, settings, retries, timeouts, the record, the answer) is read from there.
import type { ChatRequest } from "../../core/chat.ts";
import type { Principal } from "../../core/identity.ts";
import { DIRECT_ROUTE, type Route, type RouteMirror, routeOfCopies } from "../../core/configured/route.ts";
import { MAX_REQUEST_FAULTS } from "../../routing/plan/plan.ts";
import { resolveRoute, splitModel } from "../../routing/resolve-route.ts";
import type { Origin, PlannedCall, RouteCandidate, RouteStage } from "./candidate.ts";
import type { EntryVerdict } from "./eligibility.ts";
import {
  routeStages,
  callerFallbacks,
  redirectStages,
  routeFallbacks,
  ServingRoute,
  type PassedOver,
  type Preparing,
  verdictsOf,
  wayInto,
} from "./route-stages.ts";
import { requireNoHeaders } from "../fit/caller-headers.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";

export interface Prepared {
  readonly stages: readonly RouteStage[];
  readonly contextWindowStage: (candidate: RouteCandidate) => RouteStage | null;
  readonly contentPolicyStages: (candidate: RouteCandidate) => readonly RouteStage[];
  /** The route of the first stage. */
  readonly route: Route;
  /** Candidates for which the call is left out by `when` or `share`, in the order in which their stages were made. */
  readonly passedOver: readonly PassedOver[];
  /** The copy of the call for the mirror of its route; `null` when the route has none. */
  readonly copy: PlannedCopy | null;
}

export interface PlannedCopy {
  readonly mirror: RouteMirror;
  /** The rules of the copy, with the target of the mirror alone. */
  readonly route: Route;
  /** Whether the call is among those that are copied. */
  readonly verdict: EntryVerdict;
}

/**
 * Throws `invalid_request`, `permission_required`, `route_not_found`, `model_not_found` or `model_not_in_route`; for a
 * direct call, also the errors for what its one target does not accept, unless the plan is tentative.
 */
export function prepare(
  sent: ChatRequest,
  principal: Principal,
  http: Headers,
  call: PlannedCall,
  isTentative = false,
): Prepared {
  requireNoHeaders(sent, principal.restrictions);
  const { route, requested } = resolveRoute(sent.options, call.snapshot, principal, principal.restrictions);
  const { preparing, serving } = begun(sent, principal, http, call, route);
  const stages = routeStages(preparing, serving, requested, labelOf(route));
  const { candidates } = stages[0]!;
  const first = candidates.find((one) => one.passedOver === null) ?? candidates[0];
  call.recorder.targeted(first!.target, route.name);
  if (!isTentative && (requested !== null || route.targets.length === 1)) requireTaken(first!, call);
  for (const model of sent.options.contextWindowFallbacks.values())
    splitModel(model, call.snapshot, "context_window_fallback_dict");
  stages.push(...callerFallbacks(preparing, serving), ...routeFallbacks(preparing, serving));
  if (principal.restrictions !== null) requireSomePermitted(stages);
  for (const name of call.meter.degradeTo) stages.push(...redirectStages(preparing, serving, name));
  return {
    stages,
    route,
    passedOver: preparing.passedOver,
    copy: route.mirror === undefined ? null : plannedCopy(preparing, route, route.mirror),
    contextWindowStage: contextWindowStageOf,
    contentPolicyStages: contentPolicyStagesOf,
  };
}

/** Begins the preparation of a call with the route that serves it first, and applies the time limit of that route. */
function begun(sent: ChatRequest, principal: Principal, http: Headers, call: PlannedCall, route: Route) {
  const origin: Origin = {
    params: [],
    redirect: null,
    passedOver: null,
    // the token may call whatever the route names
    covered: principal.restrictions?.permitsWholeRoute(route.name) === true,
    via: route.name === DIRECT_ROUTE ? null : route.name,
  };
  const entered = new Set([wayInto(route, origin)]);
  const preparing: Preparing = { sent, principal, http, call, entered, passedOver: [] };
  call.deadline.boundByRoute(route.timeouts.totalMs);
  return { preparing, serving: new ServingRoute(preparing, route, sent, origin) };
}

function labelOf({ name, targets }: Route): string {
  return name === DIRECT_ROUTE ? (targets.length > 1 ? "model_list" : "direct") : `route ${name}`;
}

function plannedCopy(preparing: Preparing, route: Route, mirror: RouteMirror): PlannedCopy {
  const verdict = verdictsOf(preparing, route, [mirror], "the mirror").get(mirror)!;
  return { mirror, route: routeOfCopies(route), verdict };
}

/** Plans the copy of a call, which has one target. `route` is that of the planned copy. */
export function prepareCopy(
  sent: ChatRequest,
  principal: Principal,
  http: Headers,
  call: PlannedCall,
  route: Route,
): Prepared {
  const { preparing, serving } = begun(sent, principal, http, call, route);
  call.recorder.targeted(route.targets[0]!, route.name);
  return {
    stages: routeStages(preparing, serving, null, `the mirror of route ${route.name}`),
    route,
    passedOver: preparing.passedOver,
    copy: null,
    contextWindowStage: contextWindowStageOf,
    contentPolicyStages: contentPolicyStagesOf,
  };
}

function contextWindowStageOf({ serving, target }: RouteCandidate): RouteStage | null {
  return serving.contextWindowStage(target);
}

function contentPolicyStagesOf({ serving }: RouteCandidate): readonly RouteStage[] {
  return serving.contentPolicyStages();
}

/**
 * Yields all stages that a call may reach, the nearest first: a fallback may have fallbacks of its own. Lists and maps may
 * lead round in a circle, with other parameters each time. Therefore the parameters with which a target is reached count
 * only as far as one plan goes; later rounds of tools go on from there, and what they may reach is looked at once.
 */
export function* everyStage(prepared: Prepared): Generator<RouteStage> {
  const seen = new Set<string>();
  const leadOn = (candidate: RouteCandidate, isWithinPlan: boolean): readonly RouteStage[] => {
    if (candidate.passedOver !== null) return [];
    const { serving, route, target, variant, rules } = candidate;
    const place = `${serving.route.name} ${route.name} ${target.name}`;
    const way = `${place} ${variant} ${rules}`;
    if (seen.has(isWithinPlan ? way : place)) return [];
    seen.add(place).add(way);
    const longer = prepared.contextWindowStage(candidate);
    return [...prepared.contentPolicyStages(candidate), ...(longer === null ? [] : [longer])];
  };
  let reached = prepared.stages;
  for (let faults = 1; reached.length > 0; faults += 1) {
    yield* reached;
    const isWithinPlan = faults < MAX_REQUEST_FAULTS;
    reached = reached.flatMap(({ candidates }) => candidates.flatMap((one) => leadOn(one, isWithinPlan)));
  }
}

/**
 * Throws the last refusal when this caller may call none of the targets that are meant for this call. That is no upstream
 * failure, after which another target would be attempted. `noneEligible` reports that no target is meant for the call.
 */
function requireSomePermitted(stages: readonly RouteStage[]): void {
  const candidates = stages.flatMap((stage) => stage.candidates).filter(({ passedOver }) => passedOver === null);
  if (!candidates.some(isPermitted)) candidates.at(-1)?.permit();
}

function isPermitted(candidate: RouteCandidate): boolean {
  try {
    candidate.permit();
    return true;
  } catch (thrown) {
    if (thrown instanceof GatewayError) return false;
    throw thrown;
  }
}

/**
 * A call that names its target fails at once when that target does not accept the request. A target that the caller may
 * not call, or not in this way, is skipped like any other (promise 3.4).
 */
function requireTaken(candidate: RouteCandidate, { recorder }: PlannedCall): void {
  if (!isPermitted(candidate)) return;
  try {
    recorder.fitted(candidate.ready().fitted);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || !OF_THE_CALLER.has(thrown.code)) throw thrown;
  }
}

const OF_THE_CALLER: ReadonlySet<ErrorCode> = new Set(["permission_required", "policy_violation"]);

/** Returns the error of a call for which no target is meant; `null` when one is. */
export function noneEligible({ stages, passedOver }: Pick<Prepared, "stages" | "passedOver">): GatewayError | null {
  if (passedOver.length === 0) return null;
  const isLeftOut = ({ candidates }: RouteStage): boolean =>
    candidates.every((candidate) => candidate.passedOver !== null || candidate.redirect !== null);
  return stages.every(isLeftOut)
    ? new GatewayError("target_not_eligible", "No target of the route is for this call.", { param: "route" })
    : null;
}
