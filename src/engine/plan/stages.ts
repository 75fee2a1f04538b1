// The stages of a call, in the form that the plan needs: the targets of its route or its one model, then its own
// fallbacks, then those of its route. Each candidate has the route that serves it, and everything that depends on a
// route (limits, policies, settings, retries, timeouts, the record, the answer) is read from there.
import type { ChatRequest, EntryAuthor } from "../../core/chat.ts";
import { type ErrorCode, GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import {
  DEFAULT_RETRIES,
  DIRECT_ROUTE,
  directRoute,
  type EntryCondition,
  isConditional,
  type Route,
  type RouteFallback,
  type RouteMirror,
  routeOfCopies,
  type RouteTarget,
} from "../../core/configured/route.ts";
import { cachesPrompts } from "../../core/snapshot.ts";
import { compileFallback } from "../../routing/compile-routes.ts";
import { contextWindowFallback, resolveRoute, splitModel } from "../../routing/resolve-route.ts";
import { atEntry, type Entry, requestForEntry } from "../fit/entry-request.ts";
import { requireNoHeaders } from "../fit/narrowed-headers.ts";
import { stickyKeyOf } from "./sticky-key.ts";
import { FOR_THE_CALL, type Verdict } from "./eligibility.ts";
import {
  type Caller,
  PlannedCandidate,
  type RouteCandidate,
  type RouteStage,
  type PlannedCall,
  type Origin,
  type Serving,
} from "./candidate.ts";

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
  readonly verdict: Verdict;
}

export interface PassedOver {
  readonly stage: RouteStage;
  readonly candidate: RouteCandidate;
}

/** What all stages of one call have in common. */
interface Preparing extends Caller {
  readonly sent: ChatRequest;
  /**
   * The routes that have taken over the call. No route does so twice, because that would bring nothing new, and a chain
   * of routes may be a loop.
   */
  readonly entered: Set<string>;
  /** Stages that are made later add to it. */
  readonly passedOver: PassedOver[];
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
  degradeTo: readonly string[] = [],
  isTentative = false,
): Prepared {
  requireNoHeaders(sent, principal.restrictions);
  const { route, requested } = resolveRoute(sent.options, call.snapshot, principal, principal.restrictions);
  const passedOver: PassedOver[] = [];
  const preparing: Preparing = { sent, principal, http, call, entered: new Set([route.name]), passedOver };
  const isCovered = principal.restrictions?.permitsWholeRoute(route.name) === true;
  const via = route.name === DIRECT_ROUTE ? null : route.name;
  const serving = new ServingRoute(preparing, route, sent, {
    variant: "",
    covered: isCovered,
    redirect: null,
    via,
    passedOver: null,
  });
  call.deadline.boundByRoute(route.timeouts.totalMs);
  const stages = routeStages(
    preparing,
    serving,
    requested,
    route.name === DIRECT_ROUTE ? (route.targets.length > 1 ? "model_list" : "direct") : `route ${route.name}`,
  );
  const { candidates } = stages[0]!;
  const first = candidates.find((one) => one.passedOver === null) ?? candidates[0];
  call.recorder.targeted(first!.target, route.name);
  if (!isTentative && (requested !== null || route.targets.length === 1)) requireTaken(first!, call);
  for (const model of sent.options.contextWindowFallbacks.values())
    splitModel(model, call.snapshot, "context_window_fallback_dict");
  // the route does not cover what a request itself names
  for (const fallback of sent.options.fallbacks)
    stages.push(
      ...atPath(fallback.path, fallback, () =>
        entryStages(preparing, serving, fallback, { ...serving.origin, covered: false }, "caller"),
      ),
    );
  stages.push(...routeFallbacks(preparing, serving));
  if (principal.restrictions !== null) requireSomePermitted(stages);
  for (const name of degradeTo) stages.push(...redirectStages(preparing, serving, name));
  return {
    stages,
    route,
    passedOver,
    copy: route.mirror === undefined ? null : plannedCopy(preparing, route, route.mirror),
    contextWindowStage: contextWindowStageOf,
    contentPolicyStages: contentPolicyStagesOf,
  };
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
  const preparing: Preparing = { sent, principal, http, call, entered: new Set([route.name]), passedOver: [] };
  const serving = new ServingRoute(preparing, route, sent, {
    variant: "",
    covered: true,
    redirect: null,
    via: route.name,
    passedOver: null,
  });
  call.deadline.boundByRoute(route.timeouts.totalMs);
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

class ServingRoute implements Serving {
  readonly route: Route;
  readonly request: ChatRequest;
  readonly origin: Origin;
  readonly #preparing: Preparing;
  #policyStages: readonly RouteStage[] | null = null;

  constructor(preparing: Preparing, route: Route, request: ChatRequest, origin: Origin) {
    this.route = route;
    this.request = request;
    this.origin = origin;
    this.#preparing = preparing;
  }

  contextWindowStage(target: RouteTarget): RouteStage | null {
    return contextWindowStage(this.#preparing, this, target);
  }

  contentPolicyStages(): readonly RouteStage[] {
    const { route, origin } = this;
    return (this.#policyStages ??= route.contentPolicyFallbacks.flatMap((fallback) =>
      fallbackStages(
        { ...this.#preparing, entered: new Set([route.name]) },
        this,
        fallback,
        route.contentPolicyFallbacks,
        origin,
      ),
    ));
  }
}

/** Yields all stages that a call may reach, including those of its fallback lists. */
export function* everyStage(prepared: Prepared): Generator<RouteStage> {
  yield* prepared.stages;
  for (const { candidates } of prepared.stages)
    for (const candidate of candidates) {
      yield* prepared.contentPolicyStages(candidate);
      const stage = prepared.contextWindowStage(candidate);
      if (stage !== null) yield stage;
    }
}

/**
 * Returns the stages to which a budget redirects calls. A name that does not exist is left out, because the caller is
 * not at fault.
 */
function redirectStages(preparing: Preparing, serving: Serving, redirect: string): readonly RouteStage[] {
  try {
    return entryStages({ ...preparing, entered: new Set() }, serving, compileFallback(redirect), {
      ...serving.origin,
      redirect,
    });
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [];
    throw thrown;
  }
}

/** Throws the last refusal when no target is permitted, whatever the health of the targets is. */
function requireSomePermitted(stages: readonly RouteStage[]): void {
  const candidates = stages.flatMap((stage) => stage.candidates);
  if (!candidates.some(isPermitted)) candidates.at(-1)!.permit();
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

function atPath<T>(path: string, { params }: Entry, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    throw atEntry(thrown, path, params);
  }
}

/**
 * A target that was requested in addition to the route is attempted first, and the others only as its fallbacks
 * (promise 1.2).
 */
function routeStages(
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

const NO_STAGES: readonly RouteStage[] = [];

function routeFallbacks(preparing: Preparing, serving: Serving): readonly RouteStage[] {
  const { route, origin } = serving;
  // a route that the token may not name has no fallbacks, whatever they would be
  if (
    route.fallbacks.length === 0 ||
    !(origin.covered || preparing.principal.restrictions?.permitsRoute(route.name) !== false)
  )
    return NO_STAGES;
  return route.fallbacks.flatMap((fallback) => fallbackStages(preparing, serving, fallback, route.fallbacks, origin));
}

/** `list` is the one of the route in which the fallback stands. */
function fallbackStages(
  preparing: Preparing,
  serving: Serving,
  fallback: RouteFallback,
  list: readonly RouteFallback[],
  from: Origin,
): readonly RouteStage[] {
  if (!isConditional(fallback)) return entryStages(preparing, serving, fallback, from);
  const { route } = serving;
  const kind = list === route.fallbacks ? "fallbacks" : "content policy fallbacks";
  const why = verdictsOf(preparing, route, list, kind).get(fallback)!.passedOver;
  if (why === null) return entryStages(preparing, serving, fallback, from);
  // a route that does not take over the call here may do so by a later fallback
  return entryStages({ ...preparing, entered: new Set(preparing.entered) }, serving, fallback, {
    ...from,
    passedOver: from.passedOver ?? `the fallback is not for this call (${why})`,
  });
}

function verdictsOf<T extends EntryCondition>(
  preparing: Preparing,
  route: Route,
  entries: readonly T[],
  kind: string,
): ReadonlyMap<T, Verdict> {
  const { sent, principal, http, call } = preparing;
  const key = stickyKeyAt(route, preparing);
  return call.eligibilityOf(sent, principal, http).among(entries, `${kind} of ${route.name}`, key);
}

function stickyKeyAt(route: Route, { sent, principal, http, call }: Preparing): string | null {
  return stickyKeyOf(route, sent, http, cachesPrompts(route, principal.projectId, call.snapshot));
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

/** Returns the error of a call for which no target is meant; `null` when one is. */
export function noneEligible({ stages, passedOver }: Prepared): GatewayError | null {
  if (passedOver.length === 0) return null;
  const isLeftOut = ({ candidates }: RouteStage): boolean =>
    candidates.every((candidate) => candidate.passedOver !== null || candidate.redirect !== null);
  return stages.every(isLeftOut)
    ? new GatewayError("target_not_eligible", "No target of the route is for this call.", { param: "route" })
    : null;
}

/**
 * A fallback is either one model, which the same route continues to serve, or another route, which takes the call over.
 */
function entryStages(
  preparing: Preparing,
  serving: Serving,
  entry: Entry,
  from: Origin,
  author: EntryAuthor = "configuration",
): RouteStage[] {
  const {
    call: { snapshot },
    principal,
  } = preparing;
  const request = requestForEntry(serving.request, entry, author);
  const { route, requested } = resolveRoute(
    // the configuration names routes as such, and everything else in it is a model
    { route: entry.route ?? (author === "caller" ? null : DIRECT_ROUTE), model: entry.model, modelList: null },
    snapshot,
    principal,
    author === "caller" ? principal.restrictions : null,
  );
  const via = author === "configuration" ? from.via : route.name === DIRECT_ROUTE ? null : route.name;
  const variant = Object.keys(entry.params).length === 0 ? from.variant : from.variant + JSON.stringify(entry.params);
  const origin: Origin = { ...from, variant, via };
  if (route.name !== DIRECT_ROUTE || entry.route !== null)
    return takeoverStages(
      preparing,
      new ServingRoute(preparing, route, request, coveredBy(route, origin, principal)),
      requested,
    );
  return [
    stageOf(preparing, serving, {
      request,
      origin,
      route: withOnlyTarget(serving.route, route.targets[0]!),
      targets: route.targets,
      label: route.targets[0]!.name,
      group: {},
    }),
  ];
}

/** Returns the stages of a route that takes the call over, followed by its own fallbacks. */
function takeoverStages(preparing: Preparing, serving: Serving, requested: RouteTarget | null): RouteStage[] {
  const {
    route,
    origin: { variant, covered },
  } = serving;
  if (route.name === DIRECT_ROUTE) return routeStages(preparing, serving, requested, route.targets[0]!.name);
  const place = variant === "" && !covered ? route.name : `${route.name} ${covered ? "covered" : ""} ${variant}`;
  if (preparing.entered.has(place)) return [];
  preparing.entered.add(place);
  return [...routeStages(preparing, serving, requested, `route ${route.name}`), ...routeFallbacks(preparing, serving)];
}

function coveredBy({ name }: Route, origin: Origin, { restrictions }: Principal): Origin {
  return !origin.covered && restrictions?.permitsWholeRoute(name) === true ? { ...origin, covered: true } : origin;
}

/** Returns the rules of a route for a target that is not its own. */
function withOnlyTarget(route: Route, target: RouteTarget): Route {
  return { ...route, strategy: "priority", targets: [target], sticky: null };
}

function contextWindowStage(preparing: Preparing, serving: Serving, target: RouteTarget): RouteStage | null {
  const { route, request, origin } = serving;
  const requested = contextWindowFallback(preparing.sent.options.contextWindowFallbacks, target);
  const model = requested ?? contextWindowFallback(route.contextWindowFallbacks, target);
  if (model === null) return null;
  const [longer] = directRoute(splitModel(model, preparing.call.snapshot, "context_window_fallback_dict")).targets;
  return stageOf(preparing, serving, {
    request: requestForEntry(request, entryOf(model)),
    // the caller's own map names models just as a request does
    origin: requested === null ? origin : { ...origin, covered: false, via: null },
    route: withOnlyTarget(route, longer!),
    targets: [longer!],
    label: longer!.name,
    group: {},
  });
}

function entryOf(model: string): Entry {
  return { model, route: null, params: {} };
}

interface StageParts {
  readonly request: ChatRequest;
  readonly origin: Origin;
  readonly route: Route;
  readonly targets: readonly RouteTarget[];
  readonly label: string;
  readonly group: object;
  /** Which of the targets are for this call; absent when all are. */
  readonly verdicts?: ReadonlyMap<RouteTarget, Verdict> | null;
}

function stageOf(
  preparing: Preparing,
  serving: Serving,
  { request, origin, route, targets, label, group, verdicts = null }: StageParts,
): RouteStage {
  const { passedOver } = preparing;
  const stage: RouteStage = {
    label,
    group,
    strategy: route.strategy,
    candidates: targets.map(
      (target) =>
        new PlannedCandidate(preparing, {
          serving,
          origin,
          request,
          route,
          target,
          verdict: verdicts?.get(target) ?? null,
        }),
    ),
    breaker: route.breaker,
    onExhausted: route.onExhausted,
    retries: request.options.numRetries ?? route.retries ?? DEFAULT_RETRIES,
    retryTimeouts: route.retryTimeouts,
    stickyKey: stickyKeyAt(route, preparing),
  };
  if (verdicts !== null || origin.passedOver !== null)
    for (const candidate of stage.candidates) if (candidate.passedOver !== null) passedOver.push({ stage, candidate });
  return stage;
}
