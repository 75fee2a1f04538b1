// The stages of a route: its own targets, of which a request may name one that is attempted first; and those of fallbacks,
// which a request or its route names, or to which a budget redirects calls. A fallback may be another route, which takes
// the call over with fallbacks of its own.
import {
  type Route,
  type RouteTarget,
  DIRECT_ROUTE,
  isConditional,
  type RouteFallback,
  directRoute,
  DEFAULT_RETRIES,
  type EntryCondition,
} from "../../core/configured/route.ts";
import {
  type Caller,
  distinctionKey,
  type Origin,
  RouteCandidate,
  type RouteStage,
  type Serving,
  stickyKeyOf,
} from "./candidate.ts";
import { FOR_THE_CALL, type EntryVerdict } from "./eligibility.ts";
import type { ChatRequest, EntryAuthor } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { cachesPrompts } from "../../core/snapshot.ts";
import { compileFallback } from "../../routing/compile-routes.ts";
import { resolveRoute, contextWindowFallback, splitModel } from "../../routing/resolve-route.ts";
import { atEntry, type Entry, requestForEntry } from "../fit/entry-request.ts";

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
): ReadonlyMap<RouteTarget, EntryVerdict> | null {
  if (route.isConditional !== true) return null;
  const verdicts = verdictsOf(preparing, route, route.targets, "targets");
  return requested !== null && verdicts.get(requested)!.isOutsideShare
    ? new Map(verdicts).set(requested, FOR_THE_CALL)
    : verdicts;
}

export class ServingRoute implements Serving {
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
        { ...this.#preparing, entered: new Set([wayInto(route, origin)]) },
        this,
        fallback,
        route.contentPolicyFallbacks,
        origin,
      ),
    ));
  }
}

/** Returns the stages of the fallbacks that the request itself names, which its route does not cover. */
export function callerFallbacks(preparing: Preparing, serving: Serving): readonly RouteStage[] {
  const { fallbacks } = preparing.sent.options;
  return fallbacks.flatMap((fallback) => {
    try {
      return entryStages(preparing, serving, fallback, { ...serving.origin, covered: false }, "caller");
    } catch (thrown) {
      throw atEntry(thrown, fallback.path, fallback.params);
    }
  });
}

/**
 * Returns the stages to which a budget redirects calls. A name that does not exist is left out, because the caller is
 * not at fault.
 */
export function redirectStages(preparing: Preparing, serving: Serving, redirect: string): readonly RouteStage[] {
  try {
    return entryStages(
      { ...preparing, entered: new Set() },
      serving,
      compileFallback(redirect),
      { ...serving.origin, redirect },
      "configuration",
    );
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [];
    throw thrown;
  }
}

const NO_STAGES: readonly RouteStage[] = [];

export function routeFallbacks(preparing: Preparing, serving: Serving): readonly RouteStage[] {
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
  if (!isConditional(fallback)) return entryStages(preparing, serving, fallback, from, "configuration");
  const { route } = serving;
  const kind = list === route.fallbacks ? "fallbacks" : "content policy fallbacks";
  const why = verdictsOf(preparing, route, list, kind).get(fallback)!.passedOver;
  if (why === null) return entryStages(preparing, serving, fallback, from, "configuration");
  // a route that does not take over the call here may do so by a later fallback
  return entryStages(
    { ...preparing, entered: new Set(preparing.entered) },
    serving,
    fallback,
    { ...from, passedOver: from.passedOver ?? `the fallback is not for this call (${why})` },
    "configuration",
  );
}

/**
 * A fallback is either one model, which the same route continues to serve, or another route, which takes the call over.
 */
function entryStages(
  preparing: Preparing,
  serving: Serving,
  entry: Entry,
  from: Origin,
  author: EntryAuthor,
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
  const params = Object.keys(entry.params).length === 0 ? from.params : [...from.params, entry.params];
  const origin: Origin = { ...from, params, via };
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
  const { route, origin } = serving;
  if (route.name === DIRECT_ROUTE) return routeStages(preparing, serving, requested, route.targets[0]!.name);
  const way = wayInto(route, origin);
  if (preparing.entered.has(way)) return [];
  preparing.entered.add(way);
  return [...routeStages(preparing, serving, requested, `route ${route.name}`), ...routeFallbacks(preparing, serving)];
}

export function wayInto({ name }: Route, { covered, params }: Origin): string {
  return distinctionKey({ route: name, isCovered: covered, params });
}

function coveredBy({ name }: Route, origin: Origin, { restrictions }: Principal): Origin {
  return !origin.covered && restrictions?.permitsWholeRoute(name) === true ? { ...origin, covered: true } : origin;
}

/**
 * Returns the stage that follows when the request is longer than the context window of `target`: one model with a longer
 * one, which the request or its route names.
 */
function contextWindowStage(preparing: Preparing, serving: Serving, target: RouteTarget): RouteStage | null {
  const { route, request, origin } = serving;
  const requested = contextWindowFallback(preparing.sent.options.contextWindowFallbacks, target);
  const model = requested ?? contextWindowFallback(route.contextWindowFallbacks, target);
  if (model === null) return null;
  const [longer] = directRoute(splitModel(model, preparing.call.snapshot, "context_window_fallback_dict")).targets;
  return stageOf(preparing, serving, {
    request: requestForEntry(request, entryOf(model), requested === null ? "configuration" : "caller"),
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

/** What all stages of one call have in common. */
export interface Preparing extends Caller {
  readonly sent: ChatRequest;
  /**
   * The ways into the routes that serve the call. None is taken twice, because that would bring nothing new, and a chain
   * of routes may be a loop.
   */
  readonly entered: Set<string>;
  /** Stages that are made later add to it. */
  readonly passedOver: PassedOver[];
}

export interface PassedOver {
  readonly stage: RouteStage;
  readonly candidate: RouteCandidate;
}

interface StageParts {
  readonly request: ChatRequest;
  readonly origin: Origin;
  readonly route: Route;
  readonly targets: readonly RouteTarget[];
  readonly label: string;
  readonly group: object;
  /** Which of the targets are for this call; absent when all are. */
  readonly verdicts?: ReadonlyMap<RouteTarget, EntryVerdict> | null;
}

/** Makes one stage of a call: its candidates, and the rules of the route by which they are attempted. */
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
        new RouteCandidate(preparing, {
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

export function verdictsOf<T extends EntryCondition>(
  preparing: Preparing,
  route: Route,
  entries: readonly T[],
  kind: string,
): ReadonlyMap<T, EntryVerdict> {
  const { sent, principal, http, call } = preparing;
  const key = stickyKeyAt(route, preparing);
  return call.eligibilityOf(sent, principal, http).among(entries, `${kind} of ${route.name}`, key);
}

function stickyKeyAt(route: Route, { sent, principal, http, call }: Preparing): string | null {
  const key = stickyKeyOf(route, sent, http, cachesPrompts(route, principal.projectId, call.snapshot));
  return key === null || route.sticky === null ? key : (call.keyInPlace?.(route.sticky.by) ?? key);
}

/** Returns the rules of a route for a target that is not its own. */
function withOnlyTarget(route: Route, target: RouteTarget): Route {
  return { ...route, strategy: "priority", targets: [target], sticky: null };
}
