// One stage of a call: its candidates, and the rules of the route by which they are attempted. Here is also what all stages
// of one call have in common.
import type { ChatRequest } from "../../core/chat.ts";
import { DEFAULT_RETRIES, type EntryCondition, type Route, type RouteTarget } from "../../core/configured/route.ts";
import { cachesPrompts } from "../../core/snapshot.ts";
import {
  type Caller,
  type Origin,
  PlannedCandidate,
  type RouteCandidate,
  type RouteStage,
  type Serving,
} from "./candidate.ts";
import type { Verdict } from "./eligibility.ts";
import { stickyKeyOf } from "./sticky-key.ts";

/** What all stages of one call have in common. */
export interface Preparing extends Caller {
  readonly sent: ChatRequest;
  /**
   * The routes that have taken over the call. No route does so twice, because that would bring nothing new, and a chain
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
  readonly verdicts?: ReadonlyMap<RouteTarget, Verdict> | null;
}

export function stageOf(
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

export function verdictsOf<T extends EntryCondition>(
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

/** Returns the rules of a route for a target that is not its own. */
export function withOnlyTarget(route: Route, target: RouteTarget): Route {
  return { ...route, strategy: "priority", targets: [target], sticky: null };
}
