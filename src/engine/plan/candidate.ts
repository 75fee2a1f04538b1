// One candidate of a call: a target with the route that serves it, whether this caller may call it, and the request as
// the target accepts it.

// Decides (targets and attempts): What do two routes share of one target? By: `broughtAccount`. Also:
// `routing/health/target-key.ts` (`accountInKey`), `health.ts` (`breakerOf`). Rule: Latency, queue and rest after a 429.
// Each attempt counts at the breakers of all routes, which open by the settings of their route; routes with equal settings
// share one. An address, a credential, settings or headers that a caller brings have a health of their own.
// Decides (targets and attempts): Which calls stay together? By: `stickyKeyOf`. Also: the headers of agents:
// `providers/agent-sessions.ts`. Rule: Those of the same sticky key; without one, and with `prompt_cache: auto`, those
// of the same session of a coding agent.
import { requireEnabled, requireTarget } from "../../auth/permitted-models.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { openingOf } from "../../core/request/conversation-figures.ts";
import { type Drain, drainOf } from "../../core/configured/drain.ts";
import { digestOf } from "../../core/text/digest.ts";
import { GatewayError, retryLater } from "../../core/errors.ts";
import type { PolicyTarget, GuardPolicy } from "../../core/configured/policy.ts";
import { endUserOf } from "../../core/record/end-user.ts";
import type { CallRecord, PolicyOutcome } from "../../core/record/record.ts";
import type { Principal } from "../../core/identity.ts";
import type { Route, RouteTarget, Sticky } from "../../core/configured/route.ts";
import { cachesPrompts } from "../../core/snapshot.ts";
import { fingerprint } from "../../credentials/fingerprint.ts";
import { accountInKey, type CallersAccount } from "../../routing/health/target-key.ts";
import { agentSession } from "../../providers/agent-sessions.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import type { Candidate, Stage } from "../../routing/plan/plan-steps.ts";
import type { Call } from "../call/call.ts";
import type { CallDeadline } from "../call/call-lifetime.ts";
import type { CallRecorder } from "../call/call-recorder.ts";
import type { ChatContext } from "../call/context.ts";
import { comparableCost } from "../metering/attempt-estimate.ts";
import type { CallMeter } from "../metering/call-meter.ts";
import type { CallPrices } from "../metering/call-prices.ts";
import { type Entry, requestForTarget } from "../fit/entry-request.ts";
import type { CallPolicies } from "../policies/call-policies.ts";
import type { Judgement } from "../policies/call-rules.ts";
import { type FitSettings, refuseOverwrittenGuards } from "../fit/fit.ts";
import { settingsFor } from "../fit/fit-settings.ts";
import type { CallObjects } from "../objects/call-objects.ts";
import { type AskedTarget, type ReadyTarget, readyTarget, wayAt } from "../fit/ready-target.ts";
import type { EntryVerdict } from "./eligibility.ts";
import { targetFor } from "./resolve-target.ts";

/** The parts of a call that matter for its stages. */
export type PlannedCall = Pick<Call, "snapshot" | "policies" | "eligibilityOf"> & {
  readonly context: Pick<ChatContext, "providers" | "carriers" | "clock" | "ignoresDrains">;
  readonly meter: Pick<CallMeter, "prices" | "degradeTo" | "isRedirectedTo">;
  readonly record: Pick<CallRecord, "operation"> & Partial<Pick<CallRecord, "mirrorOf">>;
  readonly objects: Pick<CallObjects, "references" | "placedAt" | "storedReasoning" | "vendorIdOf">;
  readonly deadline: Pick<CallDeadline, "boundByRoute">;
  readonly recorder: Pick<CallRecorder, "targeted" | "fitted">;
  /**
   * Returns what stands in place of a sticky key that no client has sent, because that part of the request is made up;
   * `null` for a key that is as it would be. Absent for calls of clients.
   */
  readonly keyInPlace?: (by: Sticky["by"]) => string | null;
};

export type RouteStage = Stage<RouteCandidate>;

/** How a target became a candidate. */
export interface Origin {
  /** The parameters of each entry that led here and has some. */
  readonly params: readonly Entry["params"][];
  /**
   * Whether the configuration of a route names the target. The route then covers it for a token that is restricted to
   * routes.
   */
  readonly covered: boolean;
  /** As in `RouteCandidate`. */
  readonly redirect: string | null;
  /** The route by which the caller got to the target; `null` for a target that the caller named. */
  readonly via: string | null;
  /** Why the entry that led here is not for this call; `null` when it is. */
  readonly passedOver: string | null;
}

/** What tells two candidates for one target apart, or two ways into one route. */
interface Distinction {
  readonly route?: string;
  readonly isCovered?: boolean;
  readonly params?: Origin["params"];
  readonly isRedirect?: boolean;
  readonly isPassedOver?: boolean;
}

/** Returns the same text for equal distinctions whose members are written in the same order. */
export function distinctionKey(distinction: Distinction): string {
  return JSON.stringify(distinction);
}

/**
 * A route that serves the call, from the beginning or after it took the call over. Its name and its rules apply to
 * everything that the call reaches through it (promise 1.5).
 */
export interface Serving {
  readonly route: Route;
  /** The request as it came to the route. */
  readonly request: ChatRequest;
  readonly origin: Origin;
  contextWindowStage(target: RouteTarget): RouteStage | null;
  /** Returns the same list each time. */
  contentPolicyStages(): readonly RouteStage[];
}

/** What every candidate of one call shares. */
export interface Caller {
  readonly principal: Principal;
  readonly call: PlannedCall;
  /** The client's own HTTP headers. */
  readonly http: Headers;
}

export interface CandidateParts {
  readonly serving: Serving;
  readonly origin: Origin;
  readonly request: ChatRequest;
  /** The route whose rules apply to the candidate. */
  readonly route: Route;
  readonly target: RouteTarget;
  /** `null` when the route has no conditions for its targets. */
  readonly verdict: EntryVerdict | null;
}

export class RouteCandidate implements Candidate {
  readonly key: string;
  /** Under which the attempts in flight are counted: also those that only bring settings go to the account as configured. */
  readonly slotKey: string;
  readonly upstream: string;
  /** A tenant has set time limits for the target, which is not its own. */
  readonly hasLimitsOfTenant: boolean;
  readonly weight: number;
  readonly order: number;
  readonly costNanoUsd: number | null;
  readonly serving: Serving;
  /** The route that serves the candidate, whose rules apply. */
  readonly route: Route;
  readonly target: RouteTarget;
  /** The target to which budgets redirect calls, as they name it; `null` for one that was requested. */
  readonly redirect: string | null;
  /** Why `when` or `share` leaves this call out; `null` when the candidate is for it. */
  readonly passedOver: string | null;
  /** The share of calls that the call is in, in percent; `null` when the target has none. */
  readonly share: number | null;
  /** What else the target is called, as `<provider>:<name>`: rules that forbid or limit one of the names apply. */
  readonly otherNames: readonly string[];
  readonly #caller: Caller;
  readonly #request: ChatRequest;
  readonly #origin: Origin;
  readonly #deployment: string | null;
  readonly #otherModels: readonly string[];
  readonly #callers: CallersAccount | null;
  #variant: string | null = null;
  #rules: string | null = null;
  #judged: Judgement | null = null;
  #ready: ReadyTarget | null = null;

  constructor(caller: Caller, { serving, origin, request, route, target, verdict }: CandidateParts) {
    const { principal, call } = caller;
    this.#caller = caller;
    this.#request = request;
    this.#origin = origin;
    this.#deployment = deploymentOf(request, target);
    const sent = target.brought === undefined ? request : requestForTarget(request, target, route);
    this.#callers = broughtAccount(sent, this.#deployment, principal);
    const settings = call.snapshot.providers.get(target.providerId);
    const owner = settings?.owner;
    const account = owner === undefined && this.#callers === null ? "" : accountInKey(owner, this.#callers);
    this.key = `${target.name}${account}`;
    this.slotKey = this.#callers?.brought === "settings" ? `${target.name}${accountInKey(owner, null)}` : this.key;
    this.passedOver = origin.passedOver ?? verdict?.passedOver ?? null;
    this.share = verdict?.share ?? null;
    this.upstream = `${target.providerId}${account}`;
    this.hasLimitsOfTenant = owner === undefined && route.hasTimeoutsOfTenant === true;
    this.weight = target.weight;
    // the calls of a share go to its target before the others of its order
    this.order = this.share === null ? target.order : target.order - 0.5;
    this.serving = serving;
    this.route = route;
    this.target = target;
    this.redirect = origin.redirect;
    this.#otherModels = otherModels(this.#deployment, settings && call.context.providers.get(settings.family), target);
    const others = this.#otherModels;
    this.otherNames = others.length === 0 ? others : others.map((model) => `${target.providerId}:${model}`);
    this.costNanoUsd = route.strategy === "least_cost" ? costOf(this, call.meter.prices) : null;
  }

  /** Made only when something failed or was refused, as `rules` is. */
  get variant(): string {
    return (this.#variant ??= distinctionKey({
      params: this.#origin.params,
      // a target that was refused when it was requested may run when a budget redirects the call to it
      isRedirect: this.redirect !== null,
      // the same target may stand elsewhere without the condition
      isPassedOver: this.passedOver !== null,
    }));
  }

  get rules(): string {
    return (this.#rules ??= distinctionKey({ route: this.route.name, isCovered: this.#origin.covered }));
  }

  get isOffered(): boolean {
    return (
      this.passedOver === null && (this.redirect === null || this.#caller.call.meter.isRedirectedTo(this.redirect))
    );
  }

  /** Whether the caller sends nothing that changes where, or as whom, the target is called. */
  get isAsConfigured(): boolean {
    return this.#callers === null;
  }

  isCallable(): boolean {
    try {
      this.permit();
      this.ready();
      return true;
    } catch (thrown) {
      if (thrown instanceof GatewayError) return false;
      throw thrown;
    }
  }

  /** Throws GatewayError where this caller may not call this target (promise 3.4), or calls are kept from it. */
  permit(): void {
    const { principal, call } = this.#caller;
    const { route, target } = this;
    const { covered, via } = this.#origin;
    requireEnabled(call.snapshot, principal, target.name, via);
    requireTarget(principal.restrictions, route, target, covered, via);
    if (this.passedOver !== null) throw notEligible(this.passedOver);
    if (this.#deployment !== null) {
      const deployed = `${target.providerId}:${this.#deployment}`;
      requireEnabled(call.snapshot, principal, deployed, null);
      requireTarget(principal.restrictions, route, { name: deployed }, false, null);
    }
    if (call.snapshot.drains.size > 0 && call.context.ignoresDrains !== true) this.#requireUndrained();
    if (call.policies === null) return;
    this.#judged ??= judgedAt(call.policies, this.policyTarget, requestForTarget(this.#request, target, route));
    if (this.#judged.refusal !== null) throw this.#judged.refusal;
  }

  /** The outcomes of policies for this target so far. */
  policyOutcomes(): readonly PolicyOutcome[] {
    return this.#judged?.outcomes ?? NO_OUTCOMES;
  }

  /**
   * Returns the client's own request in the form that this target accepts. Throws GatewayError where it cannot accept
   * it.
   */
  ready(): ReadyTarget {
    return (this.#ready ??= this.#made());
  }

  #made(): ReadyTarget {
    const asked = this.#asked();
    const { brought, params } = this.target;
    if (brought === undefined) refuseOverwrittenGuards(this.#request, params, asked.resolved.provider);
    return readyTarget(asked);
  }

  /** Whether the target is sent what the client wrote, if it accepts it. */
  isNative(): boolean {
    return wayAt(this.#asked()).kind === "native";
  }

  /**
   * What the calls of one conversation have in common, where its prompt is cached and it therefore stays with one
   * credential; null for any other call.
   */
  cachedConversation(): string | null {
    const { principal, call, http } = this.#caller;
    return cachesPrompts(this.route, principal.projectId, call.snapshot)
      ? stickyKeyOf(this.serving.route, this.#request, http, true)
      : null;
  }

  /** Throws `target_drained`. */
  #requireUndrained(): void {
    const { principal, call } = this.#caller;
    const nowMs = call.context.clock.now();
    for (const model of [this.target.model, ...this.#otherModels]) {
      const place = { provider: this.target.providerId, model };
      const drain = drainOf(call.snapshot.drains, principal.tenantId, place, nowMs);
      if (drain !== null) throw drained(drain, nowMs);
    }
  }

  /** The target as policies see it. */
  get policyTarget(): PolicyTarget {
    const { target, route } = this;
    return { provider: target.providerId, model: target.model, otherModels: this.#otherModels, route: route.name };
  }

  #asked(): AskedTarget {
    const { principal, http, call } = this.#caller;
    const { snapshot, policies, context, objects } = call;
    const { route, target } = this;
    const { policyTarget } = this;
    const unguarded = requestForTarget(this.#request, target, route);
    const request = policies === null ? unguarded : policies.requests.translated(unguarded, policyTarget);
    const entry = snapshot.providers.get(target.providerId)!;
    return {
      principal,
      http,
      operation: call.record.operation,
      policies,
      carriers: context.carriers,
      objects,
      policyTarget,
      request,
      outputGuards: policies === null ? NO_GUARDS : policies.answers.of(policyTarget),
      resolved: targetFor(target.providerId, target.model, request.options, snapshot, context.providers),
      entry,
      settings: settingsAt(
        target,
        settingsFor(request.options, principal, snapshot, route),
        cachesPrompts(route, principal.projectId, snapshot),
        // the client of a call gets no id of its copy, with which what is stored could be used or deleted
        entry.vendorStore === true && (call.record.mirrorOf ?? null) === null,
      ),
    };
  }
}

function settingsAt({ drop }: RouteTarget, settings: FitSettings, isCaching: boolean, mayStore: boolean): FitSettings {
  return {
    ...settings,
    ...(isCaching && { cachesPrompts: true as const }),
    ...(drop !== undefined && { drop }),
    ...(!mayStore && { storesNothing: true as const }),
  };
}

/**
 * Returns the deployment that the request calls instead of the model (promise 1.7). Both are checked, because a
 * provider without deployments calls the model.
 */
function deploymentOf({ params }: ChatRequest, { brought, model }: RouteTarget): string | null {
  const named = brought?.params["deployment_id"] ?? params.deployment_id;
  return typeof named === "string" && named !== model ? named : null;
}

/**
 * Returns the other names of what the target calls: the deployment that the request names, and the name by which rules know
 * the model and the deployment (`ownName` of the provider).
 */
function otherModels(
  deployment: string | null,
  provider: Provider | undefined,
  { model }: RouteTarget,
): readonly string[] {
  const named = deployment ?? model;
  const ownName = (name: string): string => provider?.ownName?.(name) ?? name;
  const own = ownName(model);
  if (named === model && own === model) return NO_NAMES;
  return [...new Set([named, own, ownName(named)])].filter((name) => name !== model);
}

/** The condition itself is for those who may read the route. */
function notEligible(why: string): GatewayError {
  return new GatewayError("target_not_eligible", `This target is passed over: ${why}.`);
}

/** The rules are evaluated for each name of the target. The first refusal counts. */
function judgedAt({ rules }: CallPolicies, target: PolicyTarget, request: ChatRequest): Judgement {
  const judged = rules.at(target, request);
  if (judged.refusal !== null) return judged;
  const others = (target.otherModels ?? NO_NAMES).map((model) => rules.at({ ...target, model }, request));
  return others.find(({ refusal }) => refusal !== null) ?? judged;
}

function drained({ provider, model, untilMs, note }: Drain, nowMs: number): GatewayError {
  const what = model === null ? provider : `${provider}:${model}`;
  return retryLater(
    "target_drained",
    `${JSON.stringify(what)} is drained until ${new Date(untilMs).toISOString()}${note === null ? "" : ` (${note})`}: it gets no calls until then.`,
    Math.ceil((untilMs - nowMs) / 1000),
  );
}

const NO_GUARDS: readonly GuardPolicy[] = [];
const NO_OUTCOMES: readonly PolicyOutcome[] = [];
const NO_NAMES: readonly string[] = [];

/**
 * Returns what the caller brings, which has health and retries of its own: a wrong key, an unreachable address or a region
 * that does not exist says nothing about the target as it is configured. `null` for a call that brings nothing.
 */
function broughtAccount(
  { options: { baseUrl, credentials, settings, headers } }: ChatRequest,
  deployment: string | null,
  { tokenId }: Principal,
): CallersAccount | null {
  const [fields, names] = [Object.entries(settings), Object.keys(headers)];
  const bringsSettings = deployment !== null || fields.length > 0 || names.length > 0;
  if (baseUrl === null && credentials.size === 0 && !bringsSettings) return null;
  // two keys of one account are two targets, because one of them may have reached its limit
  const keys = [...credentials.values()].map(({ stored }) => fingerprint(stored));
  const brought = baseUrl !== null ? "address" : keys.length > 0 ? "credential" : "settings";
  // the values of headers may differ with each call
  return { tokenId, brought, digest: digestOf([baseUrl, deployment, fields, names, keys]) };
}

/** Returns null for a target that does not accept the request, because its cost is unknown. */
function costOf(candidate: RouteCandidate, prices: CallPrices): number | null {
  try {
    const { fitted, resolved } = candidate.ready();
    return comparableCost(fitted.request, resolved, prices);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return null;
    throw thrown;
  }
}

/**
 * Returns what the calls of one conversation have in common, by which they stay at one target (promises 7.5 and 16.2); null
 * for a call that the strategy alone sends to one. Calls whose header or name of a user is empty have nothing in common.
 */
export function stickyKeyOf(
  { sticky }: Pick<Route, "sticky">,
  request: ChatRequest,
  http: Headers,
  isCached: boolean,
): string | null {
  const key = sticky === null ? "" : stickyKey(sticky, request, http);
  if (key !== "") return key;
  return isCached ? agentSession(http) : null;
}

/** Returns an empty text for a call without a key. */
function stickyKey(sticky: Sticky, request: ChatRequest, http: Headers): string {
  if (sticky.by === "user") return endUserOf(request.params) ?? "";
  return sticky.by === "header" ? (http.get(sticky.name) ?? "") : openingOf(request);
}
