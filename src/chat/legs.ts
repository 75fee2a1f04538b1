// What a request may be answered by, in the form that the plan wants: the targets of its route or its one model, then its fallbacks, then those of its route.
import { demandEnabled } from "../auth/enabled-models.ts";
import { demandTarget } from "../auth/narrowing.ts";
import type { GuardPolicy } from "../auth/guarded-text.ts";
import type { ChatRequest } from "../core/chat.ts";
import { GatewayError } from "../core/errors.ts";
import type { PolicyTarget } from "../core/policy.ts";
import type { PolicyTouch } from "../core/record.ts";
import type { Principal } from "../core/identity.ts";
import { DEFAULT_RETRIES, DIRECT_ROUTE, directRoute, type Route, type RouteTarget, type Sticky } from "../core/route.ts";
import { fingerprint } from "../credentials/fingerprint.ts";
import { compileFallback } from "../routing/compile-routes.ts";
import type { Candidate, Leg } from "../routing/plan.ts";
import { contextWindowFallback, resolveRoute, splitModel } from "../routing/resolve-route.ts";
import type { Call } from "./call.ts";
import type { PricedCall } from "./call-price.ts";
import type { ChatContext } from "./context.ts";
import { comparableCost } from "./cost-estimate.ts";
import { atEntry, type Entry, requestForEntry, requestForTarget } from "./entry-request.ts";
import type { CallPolicies } from "./call-policies.ts";
import { fitRequest, type FitSettings, type FittedRequest } from "./fit.ts";
import { settingsFor } from "./fit-settings.ts";
import { withheldLogprobs } from "./guard-answer.ts";
import { demandNoHeaders } from "./narrowed-headers.ts";
import { type Resolved, targetFor } from "./resolve.ts";

/** What goes to a target: made once, when it is looked at first. */
export interface Ready {
  /** Without the credential. */
  readonly resolved: Resolved;
  readonly fitted: FittedRequest;
  /** What looks at the answer. */
  readonly outputGuards: readonly GuardPolicy[];
}

export interface RouteCandidate extends Candidate {
  readonly route: Route;
  readonly target: RouteTarget;
  /** Where a budget sends calls in place of what they asked for, in its own words; null: it is what was asked for. */
  readonly insteadOf: string | null;
  /** `<provider>:<name>` of the deployment that the request has called in the model's place; null: none. */
  readonly deployed: string | null;
  /** It was passed over before, because no budget had sent the call there yet. */
  readonly isAgain: boolean;
  /** Throws GatewayError where this caller may not call this target (decisions 3.4). */
  permit(): void;
  /** What policies have said of this target so far. */
  spoken(): readonly PolicyTouch[];
  /** The client's own request in the form that this target takes. Throws GatewayError where it cannot take it. */
  ready(): Ready;
}

export type RouteLeg = Leg<RouteCandidate>;

export interface Prepared {
  readonly legs: readonly RouteLeg[];
  readonly contextLeg: (candidate: RouteCandidate) => RouteLeg | null;
  readonly contentPolicyLegs: readonly RouteLeg[];
  /** Of the first leg. */
  readonly route: Route;
}

/** All of a call that matters to what may answer it. */
export type PlannedCall = PricedCall & Pick<Call, "bounded" | "planned" | "fitted" | "policies"> & { readonly context: Pick<ChatContext, "providers"> };

/** What the legs of one call have in common. */
interface Preparing {
  readonly sent: ChatRequest;
  readonly principal: Principal;
  readonly http: Headers;
  readonly call: PlannedCall;
  /** Parameters of the entry that is looked at. */
  readonly variant: string;
  /** What the configuration names in a route that covers it for a token that is narrowed by routes. */
  readonly covered: boolean;
  readonly insteadOf: string | null;
  readonly isAgain: boolean;
}

/** Throws `invalid_request`, `permission_required`, `route_not_found`, `model_not_found`, `model_not_in_route`; and for a direct call what its one target cannot take. */
export function prepare(sent: ChatRequest, principal: Principal, http: Headers, call: PlannedCall, degradeTo: readonly string[] = []): Prepared {
  demandNoHeaders(sent, principal.narrowing);
  const requested: Preparing = { sent, principal, http, call, variant: "", covered: false, insteadOf: null, isAgain: false };
  const { route, asked } = resolveRoute(sent.options, call.snapshot, principal);
  const preparing = coveredBy(route, requested);
  call.bounded(route.timeouts.totalMs, sent);
  const legs = routeLegs(preparing, sent, route, asked, route.name === DIRECT_ROUTE ? (route.targets.length > 1 ? "model_list" : "direct") : `route ${route.name}`);
  const [first] = legs[0]!.candidates;
  call.planned(first!.target, route.name);
  // a call that names its target fails for what that cannot take, before anything else is looked at
  if ((asked !== null || route.targets.length === 1) && isPermitted(first!)) call.fitted(first!.ready().fitted);
  for (const model of sent.options.contextWindowFallbacks.values()) splitModel(model, call.snapshot, "context_window_fallback_dict");
  for (const fallback of sent.options.fallbacks) legs.push(...atPath(fallback.path, fallback, () => entryLegs(requested, fallback)));
  // a route that the token may not name leads nowhere, whatever it would fall back to
  if (principal.narrowing?.permitsRoute(route.name) !== false) for (const fallback of route.fallbacks) legs.push(...entryLegs(preparing, fallback));
  if (principal.narrowing !== null) demandSomePermitted(legs);
  for (const name of degradeTo) legs.push(...insteadLegs(preparing, name, false));
  // the budget that refuses at one of them may name one that was passed over
  for (const name of degradeTo.slice(0, -1)) legs.push(...insteadLegs(preparing, name, true));
  return {
    legs,
    route,
    contextLeg: (candidate) => contextLeg(preparing, route, candidate),
    contentPolicyLegs: route.contentPolicyFallbacks.flatMap((fallback) => entryLegs(preparing, fallback)),
  };
}

/** Where a budget sends calls; what it names and is not there is left out, for it is no fault of the caller's. */
function insteadLegs(preparing: Preparing, name: string, isAgain: boolean): readonly RouteLeg[] {
  try {
    return entryLegs({ ...preparing, insteadOf: name, isAgain }, compileFallback(name));
  } catch (thrown) {
    if (thrown instanceof GatewayError) return [];
    throw thrown;
  }
}

function coveredBy({ name }: Route, preparing: Preparing): Preparing {
  return !preparing.covered && preparing.principal.narrowing?.coversRoute(name) === true ? { ...preparing, covered: true } : preparing;
}

/** Throws the last refusal where no target is left, whatever the targets' health is. */
function demandSomePermitted(legs: readonly RouteLeg[]): void {
  const candidates = legs.flatMap((leg) => leg.candidates);
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

function atPath<T>(path: string, { params }: Entry, make: () => T): T {
  try {
    return make();
  } catch (thrown) {
    throw atEntry(thrown, path, params);
  }
}

/** A target that was asked for beside the route is tried first, the others only as its fallbacks (decisions 1.2). */
function routeLegs(preparing: Preparing, request: ChatRequest, route: Route, asked: RouteTarget | null, label: string): RouteLeg[] {
  if (asked === null) return [legOf(preparing, request, route, route.targets, label)];
  const others = route.targets.filter((target) => target !== asked);
  return [legOf(preparing, request, route, [asked], label), ...(others.length === 0 ? [] : [legOf(preparing, request, route, others, label)])];
}

/** A fallback is a request: of a route, with that route's strategy, or of one model. Its own fallbacks are not followed. */
function entryLegs(preparing: Preparing, entry: Entry): RouteLeg[] {
  const request = requestForEntry(preparing.sent, entry);
  const { route, asked } = resolveRoute({ route: entry.route, model: entry.model, modelList: null }, preparing.call.snapshot, preparing.principal);
  const own = { ...coveredBy(route, preparing), variant: Object.keys(entry.params).length === 0 ? "" : JSON.stringify(entry.params) };
  return routeLegs(own, request, route, asked, route.name === DIRECT_ROUTE ? route.targets[0]!.name : `route ${route.name}`);
}

function contextLeg(preparing: Preparing, route: Route, { target }: RouteCandidate): RouteLeg | null {
  const { sent, call } = preparing;
  const asked = contextWindowFallback(sent.options.contextWindowFallbacks, target);
  const model = asked ?? contextWindowFallback(route.contextWindowFallbacks, target);
  if (model === null) return null;
  const own = directRoute(splitModel(model, call.snapshot, "context_window_fallback_dict"));
  // the caller's own map names models as a request does
  return legOf(asked === null ? preparing : { ...preparing, covered: false }, requestForEntry(sent, entryOf(model)), own, own.targets, own.targets[0]!.name);
}

function entryOf(model: string): Entry {
  return { model, route: null, params: {} };
}

function legOf(preparing: Preparing, request: ChatRequest, route: Route, targets: readonly RouteTarget[], label: string): RouteLeg {
  const { sent, http } = preparing;
  return {
    label,
    strategy: route.strategy,
    candidates: targets.map((target) => candidateOf(preparing, request, route, target)),
    breaker: route.breaker,
    onExhausted: route.onExhausted,
    retries: request.options.numRetries ?? route.retries ?? DEFAULT_RETRIES,
    stickyKey: route.sticky === null ? null : stickyKey(route.sticky, sent, http),
  };
}

function candidateOf({ principal, call, variant, covered, insteadOf, isAgain }: Preparing, request: ChatRequest, route: Route, target: RouteTarget): RouteCandidate {
  let ready: Ready | null = null;
  const { policies } = call;
  const place: PolicyTarget = { provider: target.providerId, model: target.model, route: route.name };
  let judged: ReturnType<CallPolicies["at"]> | null = null;
  const deployment = deploymentOf(request, target);
  const deployed = deployment === null ? null : `${target.providerId}:${deployment}`;
  const permit = (): void => {
    demandEnabled(call.snapshot, principal, target.name);
    demandTarget(principal.narrowing, route, target, covered);
    if (deployed !== null) {
      demandEnabled(call.snapshot, principal, deployed);
      demandTarget(principal.narrowing, route, { name: deployed }, false);
    }
    if (policies === null) return;
    judged ??= judgedAt(policies, place, deployment, requestForTarget(request, target, route));
    if (judged.refusal !== null) throw judged.refusal;
  };
  const prepared = (): Ready => {
    if (ready !== null) return ready;
    const asked = requestForTarget(request, target, route);
    const own = policies === null ? asked : policies.input(asked, place);
    const outputGuards = policies === null ? NO_GUARDS : policies.output(place);
    const resolved = targetFor(target.providerId, target.model, own.options, call.snapshot, call.context.providers);
    const fitted = fitRequest(own, resolved.provider, resolved.target, settingsAt(target, settingsFor(own.options, principal, call.snapshot, route)), principal);
    ready = { resolved, fitted: withheldLogprobs(fitted, outputGuards), outputGuards };
    return ready;
  };
  return {
    key: healthKey(target, request, route, principal, call.snapshot.providers.get(target.providerId)?.owner),
    // what was refused when it was asked for may run when a budget sends the call there
    variant: insteadOf === null ? variant : `${isAgain ? "again" : "instead"} ${variant}`,
    upstream: target.providerId,
    weight: target.weight,
    order: target.order,
    costNanoUsd: route.strategy === "least_cost" ? costOf(prepared, call) : null,
    route,
    target,
    insteadOf,
    deployed,
    isAgain,
    permit,
    spoken: () => judged?.touches ?? NO_TOUCHES,
    ready: prepared,
  };
}

function settingsAt({ drop }: RouteTarget, settings: FitSettings): FitSettings {
  return drop === undefined ? settings : { ...settings, drop };
}

/** What the request has called in the model's place (decisions 1.7). Both are judged: a provider that takes no deployment calls the model. */
function deploymentOf({ params }: ChatRequest, { brought, model }: RouteTarget): string | null {
  const named = brought?.params["deployment_id"] ?? params.deployment_id;
  return typeof named === "string" && named !== model ? named : null;
}

function judgedAt(policies: CallPolicies, place: PolicyTarget, deployment: string | null, request: ChatRequest): ReturnType<CallPolicies["at"]> {
  const judged = policies.at(place, request);
  if (deployment === null || judged.refusal !== null) return judged;
  const deployed = policies.at({ ...place, model: deployment }, request);
  return deployed.refusal === null ? judged : deployed;
}

const NO_GUARDS: readonly GuardPolicy[] = [];
const NO_TOUCHES: readonly PolicyTouch[] = [];

/** What a caller brings has a health of its own: a wrong key or a dead address of somebody's says nothing about the operator's. */
function healthKey(target: RouteTarget, request: ChatRequest, route: Route, { tokenId }: Principal, owner: string | undefined): string {
  const { baseUrl, credentials } = (target.brought === undefined ? request : requestForTarget(request, target, route)).options;
  if (target.brought === undefined && baseUrl === null && credentials.size === 0) return owner === undefined ? target.name : `${target.name} of ${owner}`;
  // two keys of one account are two targets: one may be out of its limit
  const keys = [...credentials.values()].map(({ stored }) => ` with ${fingerprint(stored).slice(0, 12)}`);
  return `${target.name} of ${tokenId}${baseUrl === null ? "" : ` at ${baseUrl}`}${keys.join("")}`;
}

/** A target that cannot take the request costs nothing that is known. */
function costOf(ready: () => Ready, call: PricedCall): number | null {
  try {
    const { fitted, resolved } = ready();
    return comparableCost(fitted.request, resolved, call);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return null;
    throw thrown;
  }
}

/** So much of a conversation's beginning that vendors' caches of prompts hit. */
const STICKY_CHARACTERS = 2_048;

function stickyKey(sticky: Sticky, { params, messages }: ChatRequest, http: Headers): string | null {
  if (sticky.by === "user") return params.user ?? params.safety_identifier ?? null;
  return sticky.by === "header" ? http.get(sticky.name) : JSON.stringify(messages.slice(0, 2)).slice(0, STICKY_CHARACTERS);
}
