// Prepares a simulated call for the engine: a request that has passed the gateway's own parser becomes the stages that
// the same request would have there.
import type { CallPolicies } from "../engine/policies/call-policies.ts";
import { reasoningCarriers } from "../engine/carriers/reasoning-carrier.ts";
import { CallPrices } from "../engine/metering/call-prices.ts";
import { LONG_BODY_BYTES } from "../engine/long-bodies/long-body-thread.ts";
import { reasonAgainst } from "../engine/mirror/copy-call.ts";
import type { PlannedCall, RouteCandidate } from "../engine/plan/candidate.ts";
import { Eligibility, type EligibilitySource } from "../engine/plan/eligibility.ts";
import { routeKey } from "../engine/plan/route-key.ts";
import { everyStage, prepare, type Prepared } from "../engine/plan/stages.ts";
import type { ChatRequest } from "../core/chat.ts";
import { systemClock } from "../core/clock.ts";
import type { Route, Sticky } from "../core/configured/route.ts";
import type { Principal } from "../core/identity.ts";
import type { JsonObject } from "../core/json.ts";
import type { RecordedOperation } from "../core/operation.ts";
import type { Snapshot } from "../core/snapshot.ts";
import { providers } from "../providers/registry.ts";

/** One call of a simulation. Calls that are alike share what was prepared. */
export interface SimulatedCall {
  readonly atMs: number;
  /** The route or model that the call asked for. */
  readonly asked: string;
  readonly tenant: string;
  readonly isStream: boolean;
  readonly prepared: Prepared;
  readonly timeoutMs: number;
  readonly hasOwnTimeout: boolean;
  /** Whether the mirror of the route gets a copy, where the call is sent to this target first. */
  isCopiedFrom(target: string): boolean;
  /** Under which the hedges of a route are counted. */
  routeKey(route: Route): string;
}

export interface CallPlace {
  readonly operation: RecordedOperation;
  readonly snapshot: Snapshot;
  readonly principal: Principal;
  readonly prices: CallPrices;
  /** `null` when no policy is asked. */
  readonly policies: CallPolicies | null;
  /** What the conditions and shares of routes read of the call beside its request. */
  readonly facts: SimulatedFacts;
}

export interface SimulatedFacts {
  readonly traceId: string;
  readonly headers: Headers;
  readonly timeMs: number;
  /** The sticky keys that are made up, so that the trace id stands in their place: each call is a conversation of its own. */
  readonly madeUp?: ReadonlySet<Sticky["by"]>;
  /** What conditions read of a recorded call, of which the request has no more than the size; the request, if left out. */
  readonly recorded?: Pick<EligibilitySource, "sent" | "principal">;
}

export interface PreparedCall extends Pick<
  SimulatedCall,
  "prepared" | "timeoutMs" | "hasOwnTimeout" | "isCopiedFrom" | "routeKey"
> {
  /** A share of its routes divides the calls by their trace ids. */
  readonly isDividedByTrace: boolean;
  /** Where the call goes depends on its trace id in place of a sticky key. */
  readonly keepsToTrace: boolean;
}

export function pricesFor(snapshot: Snapshot, { tenantId, projectId }: Principal): CallPrices {
  return new CallPrices({ snapshot, clock: systemClock, tenantId, projectId, mayPrice: false });
}

/** Throws GatewayError where the request cannot be planned. */
export function preparedCall(
  request: ChatRequest,
  { operation, snapshot, principal, prices, policies, facts }: CallPlace,
): PreparedCall {
  const askedMs = request.options.timeoutMs;
  const eligibility = new Eligibility({
    ...(facts.recorded ?? { sent: request, principal }),
    http: facts.headers,
    operation,
    clientIp: () => "",
    now: () => facts.timeMs,
    conditionHeaders: snapshot.conditionHeaders,
    traceId: facts.traceId,
  });
  let timeoutMs = askedMs ?? snapshot.limits.defaultTimeoutMs;
  let keepsToTrace = false;
  const call: PlannedCall = {
    snapshot,
    // a drain says nothing about the route
    context: { providers, carriers: reasoningCarriers(() => []), clock: systemClock, ignoresDrains: true },
    meter: { prices, degradeTo: [], isRedirectedTo: () => false },
    record: { operation },
    policies,
    // what a vendor knows is not simulated
    objects: { references: [], placedAt: (resolved) => resolved, storedReasoning: () => [], vendorIdOf: () => null },
    deadline: {
      boundByRoute: (totalMs) => {
        if (totalMs !== null && askedMs === null) timeoutMs = totalMs;
      },
    },
    recorder: { targeted: () => {}, fitted: () => {} },
    eligibilityOf: () => eligibility,
    keyInPlace(by) {
      if (facts.madeUp?.has(by) !== true) return null;
      keepsToTrace = true;
      return facts.traceId;
    },
  };
  const prepared = prepare(request, principal, facts.headers, call);
  const { copy } = prepared;
  const copied = { call: { ...call, lifetime: { isDetached: false } }, request: asReceived(request), principal };
  return {
    prepared,
    timeoutMs,
    hasOwnTimeout: askedMs !== null,
    isCopiedFrom(name) {
      const at = copy === null ? null : candidateAt(prepared, name);
      return at !== null && reasonAgainst(copy!, copied, at.ready().resolved.target) === null;
    },
    routeKey: (route) => routeKey(route, { snapshot, record: principal }),
    isDividedByTrace: eligibility.isDividedByTrace,
    keepsToTrace,
  };
}

export function candidateAt(prepared: Prepared, name: string): RouteCandidate | null {
  for (const { candidates } of everyStage(prepared))
    for (const candidate of candidates) if (candidate.target.name === name) return candidate;
  return null;
}

/** The gateway gives only long bodies to another thread. */
function asReceived(request: ChatRequest): ChatRequest {
  const { held, ...short } = request;
  return held === undefined || held.bodyCharacters + request.source.text.length >= LONG_BODY_BYTES ? request : short;
}

export function withMetadata(request: ChatRequest, metadata: JsonObject | null): ChatRequest {
  return metadata === null ? request : { ...request, options: { ...request.options, metadata } };
}

/** Who makes simulated calls: the rights of a project's usual token. */
export function simulatedPrincipal(place: Pick<Principal, "tenantId" | "projectId">): Principal {
  return {
    tokenId: "simulated",
    tokenKind: "project",
    ...place,
    userId: null,
    role: "developer",
    permissions: new Set(),
    restrictions: null,
  };
}
