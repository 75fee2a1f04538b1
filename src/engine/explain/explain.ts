// `x-gateway-explain: true` (promise 9.4): what the gateway would do with this call, and why. Nothing is sent to its
// provider, fetched, looked up or exchanged; tool servers are asked for their lists of tools, and guard services for their
// verdicts, because both decide what would be sent.
// docs/api.md describes the answer, field by field.

// Decides (who may call, and with what): Who may have a call explained? By: `asksToExplain`. Also: `engine/handle.ts`
// (`NEEDED_TO_EXPLAIN`), `engine/call/call-audit.ts`. Rule: A token with the permission `debug`, and the audit log has a
// row of it.
import { explainedAccount } from "../../admission/limit-errors.ts";
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Principal } from "../../core/identity.ts";
import { type JsonObject, describe } from "../../core/json.ts";
import type { Policy, Guard } from "../../core/configured/policy.ts";
import { DIRECT_ROUTE } from "../../core/configured/route.ts";
import { invalidRequest } from "../../core/refusals.ts";
import { counted } from "../../core/text/counted.ts";
import { targetName } from "../../core/target.ts";
import { answerHeaders } from "../answer/answer-frame.ts";
import { withLeftOut } from "../attempt/encode-attempt.ts";
import { cacheUseAt } from "../cache/cache-use.ts";
import type { Call } from "../call/call.ts";
import { withClientHead } from "../fit/caller-headers.ts";
import { estimateAttempt } from "../metering/attempt-estimate.ts";
import { withStandIns } from "./explained-content.ts";
import { reasonAgainst } from "../mirror/copy-call.ts";
import { noneEligible, type PlannedCopy, type Prepared } from "../plan/stages.ts";
import type { RouteCandidate, RouteStage } from "../plan/candidate.ts";
import { settingOrigins, settingsFor } from "../fit/fit-settings.ts";
import { encodedRequest, joinedTexts } from "../fit/fit-conversation.ts";
import { partsAt, type TaskPart } from "../fit/task-parts.ts";
import { addNamedSecrets, type Masker, openMasker, secretsOf } from "./masking.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { SessionServer, ToolSession } from "../tools/tool-session.ts";
import { explainedTarget, type PlannedTarget } from "./explained-target.ts";
import type { EncodedRequest } from "../../providers/interface/encoded-request.ts";

export const EXPLAIN_HEADER = "x-gateway-explain";
/** The most secrets to hide, because each is searched for in everything that is shown, in every spelling. */
const MAX_NAMED_SECRETS = 64;

/** Throws `invalid_request` for a value that is neither true nor false. */
export function asksToExplain(headers: Headers): boolean {
  // in full, as all headers that are read: a test compares them with docs/api.md
  return isOn(headers.get("x-gateway-explain"), EXPLAIN_HEADER);
}

/**
 * The thread that serves calls makes the explanation, in turns. The bound applies to one request, and to what all of
 * its targets would receive together.
 */
const MAX_EXPLAINED_BYTES = 2_097_152;

/** Throws `invalid_request`, because an explanation repeats what would be sent, once for each target. */
export function requireExplainable(body: Uint8Array): void {
  if (body.length > MAX_EXPLAINED_BYTES)
    throw invalidRequest(
      EXPLAIN_HEADER,
      `${EXPLAIN_HEADER} explains requests of at most ${MAX_EXPLAINED_BYTES} bytes; got ${body.length}. Send a shorter conversation: it is routed the same way.`,
    );
}

function requireFewTargets(targets: number, { source }: ChatRequest): void {
  if (targets > 1 && targets * source.text.length > MAX_EXPLAINED_BYTES)
    throw invalidRequest(
      EXPLAIN_HEADER,
      `${EXPLAIN_HEADER} repeats a request for each of its targets, at most ${MAX_EXPLAINED_BYTES} characters in all; this one has ${source.text.length} for ${targets} targets. Send a shorter conversation: it is routed the same way.`,
    );
}

/** A target to which the call would not be sent, and the reason. */
interface Passed {
  readonly refusal: GatewayError;
  readonly candidate: RouteCandidate;
  readonly why: string;
}

/**
 * Returns the explanation as the answer, even when a stream was requested. Throws the last refusal when no target
 * accepts the request.
 */
export async function replyExplained(
  prepare: (request: ChatRequest) => Prepared,
  sent: ChatRequest,
  principal: Principal,
  http: Headers,
  call: Call,
  session: ToolSession | null,
): Promise<Response> {
  const prepared = prepare(session?.request ?? sent);
  const { stages, copy } = prepared;
  const candidates = stages.flatMap((stage, place) =>
    stage.candidates
      .toSorted((a, b) => a.order - b.order || b.weight - a.weight)
      .map((candidate) => ({ candidate, stage, place })),
  );
  requireFewTargets(candidates.length, sent);
  const planned: (PlannedTarget | Passed)[] = [];
  for (const { candidate, stage, place } of candidates) {
    await yieldToLoop();
    planned.push(await plannedAt(candidate, stage, place, principal, call));
  }
  // only a budget sends a call to the targets that it redirects to
  const first = planned.find(
    (one, at): one is PlannedTarget => one.refusal === null && candidates[at]!.candidate.redirect === null,
  );
  if (first === undefined)
    throw refusalOf(
      planned.filter((one) => one.refusal !== null),
      prepared,
    );
  const secrets = new Set<string>();
  for (const one of planned) {
    await yieldToLoop();
    if (one.refusal === null) for (const secret of knownSecrets(one, http, call)) secrets.add(secret);
  }
  const masker = openMasker(secrets);
  const explained = await explanation(first, planned, masker, call, {
    session,
    mirror:
      copy === null
        ? null
        : explainedCopy(copy, reasonAgainst(copy, { call, request: sent, principal }, first.resolved.target)),
  });
  await yieldToLoop();
  const body = JSON.stringify(explained, null, 2);
  call.recorder.succeeded();
  const headers = answerHeaders(call, first.fitted, null, "application/json");
  call.lifetime.publish();
  return new Response(body, { headers });
}

/** What the call would end with: the last refusal of a target that is for it. */
function refusalOf(passed: readonly Passed[], prepared: Prepared): GatewayError {
  const tried = passed.filter(({ candidate }) => candidate.isOffered);
  return noneEligible(prepared) ?? (tried.at(-1) ?? passed.at(-1)!).refusal;
}

function knownSecrets(
  { fitted: { request }, resolved }: PlannedTarget,
  http: Headers,
  { snapshot }: Call,
): readonly string[] {
  const stored = [...snapshot.providers.values()].flatMap(({ credentials }) => credentials);
  const brought = [...request.options.credentials.values()].map((credential) => credential.stored);
  const named = new Set<string>();
  const { extra, params, messages, written } = request;
  // a target that speaks the operation is sent what the client wrote
  const wrote = written === undefined ? [] : [written.body, written.added];
  addNamedSecrets([extra, params as ChatParams as JsonObject, ...messages, ...wrote], named);
  if (named.size > MAX_NAMED_SECRETS)
    throw invalidRequest(
      EXPLAIN_HEADER,
      `An explanation can mask at most ${MAX_NAMED_SECRETS} values whose names suggest a secret; got ${named.size}.`,
    );
  const serverHeaders = request.options.toolServers.flatMap(({ headers }) =>
    Object.values(headers).flatMap((value) => value.split(" ")),
  );
  return [
    ...serverHeaders,
    ...[...resolved.credentials, ...brought, ...stored].flatMap(secretsOf),
    ...(http.get("authorization")?.split(" ") ?? []).slice(1),
    ...named,
  ];
}

async function plannedAt(
  candidate: RouteCandidate,
  stage: RouteStage,
  place: number,
  principal: Principal,
  call: Call,
): Promise<PlannedTarget | Passed> {
  const why = reasonFor(candidate, stage, place);
  try {
    candidate.permit();
    const ready = candidate.ready();
    const { provider, target } = ready.resolved;
    const { request, fetches } = withStandIns(ready.fitted.request, provider, target.model);
    const called = withClientHead(target, provider, request, call.clientHead);
    const written = (part: TaskPart | null): EncodedRequest => encodedRequest(request, provider, called, part);
    const [first = null, ...further] = partsAt(request, provider, target.model);
    const encoded = written(first);
    const joined = call.policies === null ? [] : joinedTexts(request, provider, target);
    if (joined.length > 0) await call.policies!.requests.requireNothingJoined(joined, candidate.policyTarget);
    return {
      refusal: null,
      why,
      ...ready,
      fitted: withLeftOut(ready.fitted, encoded),
      fetches,
      encoded,
      further: further.map((part) => () => written(part)),
      route: candidate.route,
      otherNames: candidate.otherNames,
      cache: cacheUseAt(candidate.route, ready.fitted, ready.resolved, call),
      principal,
    };
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown;
    return { refusal: thrown, candidate, why };
  }
}

function reasonFor(
  { route, target: { order, weight }, share, redirect, passedOver: why }: RouteCandidate,
  { label, strategy, candidates }: RouteStage,
  place: number,
): string {
  if (route.name === DIRECT_ROUTE && place === 0 && candidates.length === 1)
    return "The request names this model and no route, so it is the only target.";
  const before =
    (redirect !== null
      ? "Attempted only where a budget redirects the call to it. "
      : place === 0
        ? ""
        : "Attempted if all targets before it have failed. ") +
    (share === null ? "" : `The call is in its share of ${share} %. `);
  const all = candidates.length;
  if (why !== null) return `One of ${counted(all, "target")} of ${label}, which this call passes over: ${why}.`;
  const left = candidates.filter((one) => one.passedOver === null).length;
  if (all === 1) return `${before}The only target of ${label}.`;
  if (left === 1) return `${before}The only one of ${all} targets of ${label} that is for this call.`;
  const among =
    left === all ? `${all} targets of ${label}` : `the ${left} of ${all} targets of ${label} that are for this call`;
  return `${before}One of ${among}, chosen by ${strategy}: order ${order}, weight ${weight}.`;
}

/** What else a call needs; `null` where it needs none. */
interface Beside {
  readonly session: ToolSession | null;
  readonly mirror: JsonObject | null;
}

async function explanation(
  planned: PlannedTarget,
  all: readonly (PlannedTarget | Passed)[],
  masker: Masker,
  call: Call,
  { session, mirror }: Beside,
): Promise<JsonObject> {
  const {
    principal,
    route,
    fitted: { request },
  } = planned;
  const settings = settingsFor(request.options, principal, call.snapshot, route);
  const origins = settingOrigins(request.options, principal, call.snapshot, route);
  return {
    object: "gateway.explanation",
    x_gateway_trace_id: call.traceId,
    operation: call.record.operation,
    model: masker.text(request.options.model ?? ""),
    route: call.record.route,
    stream: request.params.stream === true,
    caller: {
      tenant: principal.tenantId,
      project: principal.projectId,
      user: principal.userId,
      token: principal.tokenId,
      role: principal.role,
      permissions: [...principal.permissions].toSorted(),
    },
    settings: {
      drop_params: { value: settings.dropParams, from: origins.dropParams },
      disable_stop_sequence_limit: { value: settings.disableStopSequenceLimit, from: origins.disableStopSequenceLimit },
    },
    targets: await explainedTargets(all, masker, call),
    ...(mirror !== null && { mirror }),
    ...(session !== null && { tool_servers: session.servers.map((server) => explainedToolServer(server, masker)) }),
    limits: await explainedLimits(planned, call),
    policies: (call.policies?.all ?? []).map(explainedPolicy),
    configuration: call.snapshot.version,
  };
}

function explainedCopy({ mirror: { target } }: PlannedCopy, why: string | null): JsonObject {
  return { target: target.name, copies: why === null, why };
}

/** Explains one target after another: together they would be one long piece of work that delays other calls. */
async function explainedTargets(
  all: readonly (PlannedTarget | Passed)[],
  masker: Masker,
  call: Call,
): Promise<readonly JsonObject[]> {
  const explained: JsonObject[] = [];
  for (const [index, one] of all.entries())
    explained.push(
      one.refusal === null ? await explainedTarget(one, index + 1, masker, call) : passedOver(one, index + 1, call),
    );
  return explained;
}

/** The tools are listed, but none is run. */
function explainedToolServer({ label, isRegistered, failure, tools }: SessionServer, masker: Masker): JsonObject {
  return {
    server_label: label,
    from: isRegistered ? "configuration" : "request",
    failure,
    tools: tools.map(({ tool, name, needsApproval }) => ({
      name: masker.text(tool),
      function: name,
      require_approval: needsApproval ? "always" : "never",
    })),
  };
}

/** Returns the limits that apply at the first target, and what a call would reserve. */
async function explainedLimits(
  { fitted, resolved, route, otherNames }: PlannedTarget,
  call: Call,
): Promise<readonly JsonObject[]> {
  const { meter, context } = call;
  const { target } = resolved;
  const reservationEstimate = estimateAttempt(fitted.request, resolved, meter.prices);
  const accounts = meter.accountsAt({
    route: route.name,
    provider: target.providerId,
    model: targetName(target),
    otherNames,
  });
  return Promise.all(
    accounts.map(async (account) =>
      explainedAccount(account, await context.limits.status(account), reservationEstimate),
    ),
  );
}

/** Shows what the policy is for, but not its rule, which only its author may see. */
function explainedPolicy(policy: Policy): JsonObject {
  const { name, mode, kind, perTarget } = policy;
  return {
    name,
    mode,
    kind,
    asked: perTarget ? "at each target" : "once",
    ...(policy.kind === "guard" && { on: searchedBy(policy.guard), action: policy.guard.action }),
  };
}

function searchedBy({ onInput, onOutput }: Guard): "both" | "input" | "output" {
  return onInput && onOutput ? "both" : onInput ? "input" : "output";
}

/** What a route leads to is not told to a token that may not name the route. */
function passedOver({ refusal, candidate, why }: Passed, order: number, call: Call): JsonObject {
  const { code, message, param } = call.located(refusal);
  const target = code === "route_not_found" ? null : candidate.target.name;
  return { order, target, why, passed_over: { code, message, param } };
}

/**
 * Reads a request header that switches something on. Returns false when the header was not sent. Throws
 * `invalid_request` for a value that is neither true nor false.
 */
export function isOn(sent: string | null, header: string): boolean {
  if (sent === null || sent === "false") return false;
  if (sent === "true") return true;
  throw invalidRequest(header, `The header ${header} must be true or false; got ${describe(sent)}.`);
}
