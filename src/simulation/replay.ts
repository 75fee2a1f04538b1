// Plays recorded calls of a route again, against a configuration that may be another one than theirs: the engine of
// `dragoman simulate` with requests that are written from what the records say. No provider is called.
import type { CallPrices } from "../engine/metering/call-prices.ts";
import { everyStage, type Prepared } from "../engine/plan/stages.ts";
import type { RouteCandidate } from "../engine/plan/candidate.ts";
import type { ChatRequest } from "../core/chat.ts";
import { type ErrorCode, GatewayError } from "../core/errors.ts";
import type { CallCost } from "../core/record/record.ts";
import { DIRECT_ROUTE, isConditional, type Route } from "../core/configured/route.ts";
import { memoizePerObject } from "../core/memoization.ts";
import { withMembers } from "../core/request/request-source.ts";
import { snapshotSeenBy, type Snapshot } from "../core/snapshot.ts";
import { FORMS } from "../operations/forms.ts";
import { compileCondition } from "../policies/policy-rule.ts";
import { routesFor } from "../routing/resolve-route.ts";
import type { Target } from "../core/target.ts";
import type { RecordedCall } from "../store/calls/calls.ts";
import { chanceOf } from "./chance.ts";
import type { Fault } from "./faults.ts";
import type { ObservedTimes } from "./observed-times.ts";
import { notRecorded, recordedPrincipal, recordedRequest, type RecordedTokens } from "./recorded-facts.ts";
import { type CallTrace, runCalls } from "./run-calls.ts";
import {
  type CallPlace,
  candidateAt,
  preparedCall,
  type PreparedCall,
  pricesFor,
  type SimulatedCall,
  type SimulatedFacts,
  simulatedPrincipal,
} from "./simulated-call.ts";
import { createCourses } from "./upstream-course.ts";
import {
  MOST_WRITTEN,
  SIMULATED_OPERATIONS,
  type SimulatedOperation,
  withPrompt,
  writtenRequest,
} from "./written-request.ts";

/** Why a target or the whole gateway does not take a call. */
export interface Refusal {
  /** `null` where no target was found. */
  readonly target: string | null;
  readonly code: ErrorCode;
  readonly param: string | null;
  readonly message: string;
}

export interface ReplayedCall {
  /** The target that answers; `null` when none does. */
  readonly target: string | null;
  readonly code: ErrorCode | null;
  readonly attempts: number;
  readonly refusals: readonly Refusal[];
  /** The targets for whose models the prompt is too long. */
  readonly tooLongAt: readonly string[];
  readonly firstContentMs: number | null;
  readonly totalMs: number | null;
  /** `null` when it is not answered, its usage is not known, or there is no price. */
  readonly cost: CallCost | null;
}

export interface Replay {
  /** In the order of the recorded calls. */
  readonly calls: readonly ReplayedCall[];
  /** Every target that any of the calls can reach, in the order of the plan. */
  readonly targets: readonly string[];
  /** Calls on which a condition was asked that reads what records do not hold. */
  readonly unjudged: number;
}

export interface ReplayInput {
  /** The oldest first; each of them can be simulated. */
  readonly calls: readonly RecordedCall[];
  readonly tenantId: string;
  readonly tokens: RecordedTokens;
  readonly route: string;
  readonly snapshot: Snapshot;
  readonly faults: readonly Omit<Fault, "from_ms" | "to_ms">[];
  readonly times: ObservedTimes;
  readonly seed: number;
}

/** A call that ended before any attempt says nothing of its parameters. */
export const wasAttempted = ({ attempts }: RecordedCall): boolean => attempts.length > 0;
export function canBeSimulated({ operation }: RecordedCall): boolean {
  return (SIMULATED_OPERATIONS as readonly string[]).includes(operation);
}

interface Kind {
  readonly request: ChatRequest;
  readonly place: Omit<CallPlace, "facts">;
  /** `null` where a route that its calls may reach asks more of a call than its kind, so that each is prepared alone. */
  readonly prepared: PreparedCall | null;
  readonly prices: CallPrices;
}

/** What conditions wanted to know of one call that its record does not hold. */
interface Gaps {
  isUnjudged: boolean;
}

interface Playable extends SimulatedCall {
  readonly number: number;
  readonly recorded: RecordedCall;
  readonly kind: Kind;
  /** What the call shares with those of its kind, where it was not prepared alone. */
  readonly shared: Prepared;
  readonly gaps: Gaps;
  readonly random: () => number;
}

export function replay(input: ReplayInput): Replay {
  const { calls, seed, times, snapshot } = input;
  const kinds = new Map<string, Kind | Refusal>();
  const playable: Playable[] = [];
  const results: ReplayedCall[] = [];
  const startMs = calls[0]?.timeMs ?? 0;
  calls.forEach((recorded, number) => {
    const kind = kinds.getOrInsertComputed(kindKey(recorded), () => kindOf(recorded, input));
    const call = "code" in kind ? kind : playableCall(recorded, { number, kind, startMs, ...input });
    if ("code" in call) results[number] = refusedCall(call);
    else playable.push(call);
  });
  const courses = createCourses({
    timesOf: (target, call) => times.at(target, (call as Playable).recorded, (call as Playable).number),
    isTooLong: (call, target) => isTooLong((call as Playable).recorded, target),
    faults: input.faults.map((fault) => ({ ...fault, from_ms: 0, to_ms: Number.POSITIVE_INFINITY })),
    random: (call) => (call as Playable).random(),
  });
  const { calls: traces } = runCalls({
    calls: playable,
    courses,
    limits: snapshot.limits,
    randomOf: (number) => chanceOf(seed + playable[number]!.number),
  });
  traces.forEach((trace, index) => {
    results[playable[index]!.number] = replayedCall(trace, playable[index]!);
  });
  return { calls: results, targets: targetsOf(playable), unjudged: playable.filter(isUnjudged).length };
}

/** Calls with equal keys are prepared once. */
function kindKey(call: RecordedCall): string {
  const { operation, projectId, stream, parameters, messages } = call;
  return JSON.stringify([operation, projectId, stream, parameters, messages?.blocks, sizeOf(call), modelOf(call)]);
}

/** Rounded up to a power of two, so that few prompts have to be written. */
function sizeOf(call: RecordedCall): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, promptTokens(call))));
}
const CHARACTERS_OF_A_TOKEN = 4;

function promptTokens({ usage, messages }: RecordedCall): number {
  return usage?.prompt_tokens ?? Math.ceil((messages?.bodyCharacters ?? 0) / CHARACTERS_OF_A_TOKEN);
}

/** What a target has answered is not too long for it, whatever is known of its model. */
function isTooLong(
  call: RecordedCall,
  { providerId, model, facts: { contextTokens } }: Pick<Target, "providerId" | "model" | "facts">,
): boolean {
  const isAnswered = call.code === null && call.provider === providerId && call.model === model;
  return contextTokens !== null && !isAnswered && promptTokens(call) > contextTokens;
}

/** The target of the route that the call asked for. */
function modelOf({ modelAsked }: RecordedCall): string | undefined {
  return modelAsked !== null && /[:/]/.test(modelAsked) ? modelAsked : undefined;
}

function kindOf(call: RecordedCall, { tenantId, route, snapshot }: ReplayInput): Kind | Refusal {
  const operation = call.operation as SimulatedOperation;
  const principal = simulatedPrincipal({ tenantId, projectId: call.projectId ?? "" });
  const seen = snapshotSeenBy(snapshot, principal);
  const prices = pricesFor(seen, principal);
  const asked = modelOf(call);
  const text = writtenRequest({
    operation,
    ...(route !== DIRECT_ROUTE && { route }),
    ...(asked !== undefined && { model: asked }),
    stream: call.stream,
    promptTokens: Math.min(sizeOf(call), MOST_WRITTEN),
    parameters: call.parameters,
    blocks: call.messages?.blocks ?? [],
  });
  const place = { operation, snapshot: seen, principal, prices, policies: null };
  return orRefusal(route, place, () => {
    const request = withPrompt(FORMS.get(operation)!.parse(text, snapshot.limits.body), operation, sizeOf(call));
    const prepared = [...routesFor(seen, principal).values()].some(hasConditions)
      ? null
      : preparedCall(request, { ...place, facts: factsOf(call) });
    return { request, place, prepared, prices };
  });
}

/** Returns what `prepare` does, or why the call is refused before anything of it is planned. */
function orRefusal<T>(route: string, { snapshot, principal }: Kind["place"], prepare: () => T): T | Refusal {
  try {
    return prepare();
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    // a route with one target refuses what that target does not take
    const targets = routesFor(snapshot, principal).get(route)?.targets ?? [];
    const { code, param, message } = thrown;
    return { target: targets.length === 1 ? targets[0]!.name : null, code, param, message };
  }
}

function hasConditions({ isConditional: ofTargets, fallbacks, contentPolicyFallbacks }: Route): boolean {
  return ofTargets === true || fallbacks.some(isConditional) || contentPolicyFallbacks.some(isConditional);
}

/**
 * Whether what the record cannot tell decides where the call goes: a condition on headers or the address is asked as if
 * neither had been sent, and any other fails.
 */
function isUnjudged({ prepared: { stages }, gaps }: Playable): boolean {
  if (gaps.isUnjudged) return true;
  return stages.some(({ candidates }) =>
    candidates.some(({ serving, route }) => [serving.route, route].some(asksMore)),
  );
}

const asksMore = memoizePerObject(({ targets, fallbacks, contentPolicyFallbacks }: Route): boolean =>
  [...targets, ...fallbacks, ...contentPolicyFallbacks].some(({ when }) => {
    if (when === undefined) return false;
    const { mentions } = compileCondition(when);
    return mentions.has("headers") || mentions.has("client");
  }),
);

const MADE_UP: NonNullable<SimulatedFacts["madeUp"]> = new Set(["prompt"]);

/** Headers and prompts are not recorded. */
function factsOf({ traceId, timeMs }: RecordedCall): SimulatedFacts {
  return { traceId, headers: new Headers(), timeMs, madeUp: MADE_UP };
}

/** The call with what conditions and shares may ask of it beside its kind, as far as it is recorded. */
function preparedAlone(
  call: RecordedCall,
  { request, place }: Kind,
  { tenantId, tokens }: Pick<ReplayInput, "tenantId" | "tokens">,
  gaps: Gaps,
): PreparedCall {
  const { endUser } = call;
  const own = endUser === null ? request : withMembers(request, { params: { ...request.params, user: endUser } });
  const unknown = (what: string): never => {
    gaps.isUnjudged = true;
    return notRecorded(what);
  };
  const recorded = {
    sent: recordedRequest(call, request.params, unknown),
    principal: recordedPrincipal(call, tenantId, tokens, unknown),
  };
  return preparedCall(own, { ...place, facts: { ...factsOf(call), recorded } });
}

const UNANSWERED = { target: null, attempts: 0, tooLongAt: [], firstContentMs: null, totalMs: null, cost: null };

function refusedCall(refusal: Refusal): ReplayedCall {
  return { ...UNANSWERED, code: refusal.code, refusals: [refusal] };
}

interface Playing extends ReplayInput {
  readonly number: number;
  readonly kind: Kind;
  readonly startMs: number;
}

function playableCall(
  recorded: RecordedCall,
  { number, kind, startMs, tenantId, tokens, route, seed }: Playing,
): Playable | Refusal {
  const gaps: Gaps = { isUnjudged: false };
  const made =
    kind.prepared ?? orRefusal(route, kind.place, () => preparedAlone(recorded, kind, { tenantId, tokens }, gaps));
  if ("code" in made) return made;
  const { prepared, timeoutMs, hasOwnTimeout, isCopiedFrom, routeKey } = made;
  return {
    atMs: recorded.timeMs - startMs,
    asked: route,
    tenant: tenantId,
    isStream: recorded.stream,
    prepared: withStickyKeys(prepared, recorded),
    timeoutMs,
    hasOwnTimeout,
    isCopiedFrom,
    routeKey,
    number,
    recorded,
    kind,
    shared: prepared,
    gaps,
    random: chanceOf(~(seed + number)),
  };
}

/**
 * What keeps calls together is taken from the record. Prompts and headers are not recorded: each call is then taken for
 * a conversation of its own.
 */
function withStickyKeys(prepared: Prepared, { endUser, traceId }: RecordedCall): Prepared {
  if (prepared.stages.every(({ candidates }) => candidates.every(({ route }) => route.sticky === null)))
    return prepared;
  const stages = prepared.stages.map((stage) => {
    const sticky = stage.candidates[0]?.route.sticky ?? null;
    return sticky === null ? stage : { ...stage, stickyKey: sticky.by === "user" ? endUser : traceId };
  });
  return { ...prepared, stages };
}

function replayedCall(
  { attempts, winner, code, endedMs, call }: CallTrace,
  { kind, shared, recorded }: Playable,
): ReplayedCall {
  const refusals = attempts.flatMap(({ target, ending, code: why, refusal }): readonly Refusal[] =>
    ending === "refused" && refusal !== null
      ? [{ target, code: why!, param: refusal.param, message: refusal.message }]
      : [],
  );
  const sent = attempts.filter(({ ending }) => ending !== "refused" && ending !== "shed");
  const answered = code === null ? winner : null;
  const candidate = answered === null ? null : candidateAt(shared, answered.target);
  return {
    target: answered?.target ?? null,
    code,
    attempts: sent.length,
    refusals,
    tooLongAt: sent.flatMap(({ target, code: why }) => (why === "context_length_exceeded" ? [target] : [])),
    firstContentMs: answered?.contentMs == null ? null : answered.contentMs - call.atMs,
    totalMs: answered === null ? null : endedMs - call.atMs,
    cost: candidate === null ? null : costAt(candidate, kind, recorded),
  };
}

/** What the recorded usage costs at this target. */
function costAt(candidate: RouteCandidate, { prices }: Kind, { usage }: RecordedCall): CallCost | null {
  if (usage === null) return null;
  const { fitted, resolved } = candidate.ready();
  return prices.cost(usage, fitted.request, resolved);
}

function targetsOf(playable: readonly Playable[]): readonly string[] {
  const plans = new Set(playable.map(({ shared }) => shared));
  const names = [...plans].flatMap((prepared) =>
    [...everyStage(prepared)].flatMap(({ candidates }) => candidates.map(({ target }) => target.name)),
  );
  return [...new Set(names)];
}
