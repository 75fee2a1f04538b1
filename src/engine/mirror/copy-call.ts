// Copies a call to the mirror of its route (promise 16.1). The copy begins when the call sends its first request, in a
// later turn of the event loop. It is a call of its own, with a record, a time limit and an end of its own: no limit
// counts it, it runs no tools, nothing is kept of it for later calls, here or at its vendor, and its answer is read and
// discarded.

// Decides (targets and attempts): Which calls are copied to a mirror, and what do copies not have? By: `preparation`,
// `reasonAgainst`, `requestOfCopy`. Also: `copies.ts` (`OpenCopies`), `engine/plan/stages.ts` (`prepareCopy`). Rule: Those
// for which `when` and `share` are true, of which something is sent, and against which there is no reason, while the mirror
// has room. A copy has one attempt, and nothing of what the client asks for its own call.
import { isDeepStrictEqual } from "node:util";
import { isEnabled } from "../../auth/permitted-models.ts";
import { GatewayError } from "../../core/errors.ts";
import type { ChatRequest } from "../../core/chat.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { NO_LIMITS } from "../../core/configured/limit.ts";
import type { Principal } from "../../core/identity.ts";
import type { RouteTarget } from "../../core/configured/route.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import type { Target } from "../../core/target.ts";
import { Call } from "../call/call.ts";
import type { ChatContext, Copies } from "../call/context.ts";
import { ReceivedCall } from "../call/received-call.ts";
import { isLong } from "../long-bodies/long-body-thread.ts";
import type { Operation, ReadyCall } from "../operation.ts";
import { NOTHING_BROUGHT, targetFor } from "../plan/resolve-target.ts";
import { reachOf } from "../plan/reach.ts";
import { routeKey } from "../plan/route-key.ts";
import { type PlannedCopy, prepare, prepareCopy } from "../plan/stages.ts";

/** The call that is copied. */
interface CopiedCall {
  readonly operation: Operation;
  readonly received: ReceivedCall;
  readonly call: Call;
  readonly request: ChatRequest;
  readonly principal: Principal;
  readonly http: Request;
}

/** The most bytes of an answer that are read, and of answers of copies that are collected at the same time. */
const MOST_ANSWER_BYTES = 8_388_608;
const MOST_HELD_BYTES = 67_108_864;

/** Returns what prepares the requests of a call, which is copied where its route has a mirror. */
export function preparation(copied: CopiedCall): ReadyCall["prepare"] {
  const { call, principal, http } = copied;
  return (request, isTentative) => {
    const prepared = prepare(request, principal, http.headers, call, isTentative);
    if (prepared.copy !== null) copyWhenSent(prepared.copy, copied);
    return prepared;
  };
}

/** Copies the call once something of it is sent, if it is among those that the mirror copies. */
function copyWhenSent(planned: PlannedCopy, copied: CopiedCall): void {
  const { mirror, verdict } = planned;
  const { call, principal } = copied;
  const { copies } = call.context;
  if (copies === null || (verdict.passedOver !== null && !verdict.hasFailed)) return;
  call.copiedBy((target) => {
    const against = reasonAgainst(planned, copied, target);
    const leave = against === null ? copies.begin(principal.tenantId, routeKey(planned.route, call), mirror) : null;
    const dropped = against ?? (leave === null ? "too many copies are in flight" : null);
    const traceId = leave === null ? null : begin(planned, copied, copies, leave);
    call.recorder.copied({ route: planned.route.name, target: mirror.target.name, traceId, dropped });
  });
}

/** What decides whether a call is copied, beside its plan. */
interface JudgedCall extends Pick<CopiedCall, "request" | "principal"> {
  readonly call: {
    readonly snapshot: Snapshot;
    readonly context: Pick<ChatContext, "providers">;
    readonly lifetime: Pick<Call["lifetime"], "isDetached">;
    readonly objects: Pick<Call["objects"], "references">;
  };
}

/** Returns why a call that goes to `target` first is not copied; `null` when it is, as far as the mirror has room. */
export function reasonAgainst(
  { mirror, route, verdict }: PlannedCopy,
  { call, request, principal }: JudgedCall,
  target: Target,
): string | null {
  if (verdict.passedOver !== null) return verdict.passedOver;
  const { restrictions } = principal;
  const { form, options, params } = request;
  const { lifetime, objects, snapshot } = call;
  if (
    restrictions !== null &&
    !restrictions.permitsWholeRoute(route.name) &&
    !restrictions.permitsModel(mirror.target.name)
  )
    return "the token may not call the target of the mirror";
  if (!isEnabled(snapshot, principal, mirror.target.name))
    return "the target of the mirror is not enabled for the call";
  // most vendors refuse a count, and none generates anything, so that the two could not be compared
  if (form.counts === true) return "only a count of its tokens is asked for";
  if (options.toolServers.length > 0) return "the call has tool servers";
  if (target.credential?.fromCaller === true || options.credentials.size > 0 || options.baseUrl !== null)
    return "the call has a key or an address of the caller";
  // at another target of this provider it would take the place of the mirror's own
  if (params.deployment_id !== undefined) return "the call names a deployment";
  if (lifetime.isDetached) return "the call runs in the background";
  if (objects.references.length > 0) return "the call refers to something at its vendor";
  if (isLong(request)) return "the request is too long";
  const isKept = snapshot.contentLogs.has(principal.projectId);
  return isKept || mirror.toOtherVendors || isSamePlace(target, mirror.target, call)
    ? null
    : "its content is not kept, and the mirror is at another vendor";
}

/**
 * Whether the copy goes where the call goes: to the same address, with the same region, project and so on, perhaps with
 * another key. A call may have brought settings of its own, which its copy has not.
 */
function isSamePlace(
  { family, baseUrl, settings }: Target,
  { providerId, model }: RouteTarget,
  { snapshot, context }: JudgedCall["call"],
): boolean {
  try {
    const { target } = targetFor(providerId, model, NOTHING_BROUGHT, snapshot, context.providers);
    return family === target.family && baseUrl === target.baseUrl && isDeepStrictEqual(settings, target.settings);
  } catch (thrown) {
    if (thrown instanceof GatewayError) return false;
    throw thrown;
  }
}

/** Returns the trace id of the copy. */
function begin(
  planned: PlannedCopy,
  { operation, received, call, request, principal, http }: CopiedCall,
  copies: Copies,
  leave: () => void,
): string {
  const headers = headersOfCopy(http.headers);
  const copy = new ReceivedCall(
    operation,
    contextOfCopies(received.context, copies),
    new Request(http.url, { headers }),
    { requestIP: () => addressOf(received) },
    false,
    snapshotOfCopies(received.snapshot),
  );
  const { tokenId, tenantId, projectId, userId } = principal;
  copy.recorder.authenticated({ id: tokenId, tenantId, projectId, userId });
  copy.recorder.mirrors(call.traceId);
  void runCopy(copy, planned, { operation, received, call, request, principal, http }, headers).finally(leave);
  return copy.recorder.record.traceId;
}

/** Never rejects. */
async function runCopy(
  copy: ReceivedCall,
  { route }: PlannedCopy,
  { operation, call, request, principal }: CopiedCall,
  headers: Headers,
): Promise<void> {
  await yieldToLoop();
  const { lifetime } = copy;
  try {
    lifetime.enter(principal.tenantId, copy.snapshot.limits);
    const sent = requestOfCopy(request, call);
    copy.parsed(sent);
    const made = new Call(copy, sent, principal, { isExplained: false, showsCost: false });
    await made.policies?.admit(() => reachOf((planned) => prepareCopy(sent, principal, headers, planned, route), made));
    const answer = await operation.reply({
      call: made,
      request: sent,
      principal,
      headers,
      prepare: (next) => prepareCopy(next, principal, headers, made, route),
      fail: (thrown) => void copy.fail(thrown),
      explains: false,
    });
    await discard(answer, copy);
  } catch (thrown) {
    copy.fail(thrown);
  }
  await lifetime.written;
}

/** Reads an answer to its end, as a client would, but not further than its bound. A stream records its own failure. */
async function discard({ body }: Response, { lifetime }: ReceivedCall): Promise<void> {
  if (body === null) return;
  let bytes = 0;
  try {
    for await (const part of body as ReadableStream<Uint8Array>) {
      bytes += part.length;
      if (bytes > MOST_ANSWER_BYTES) lifetime.abandon(tooLong());
    }
  } catch (thrown) {
    lifetime.abandon(thrown);
  }
}

function tooLong(): GatewayError {
  return new GatewayError(
    "upstream_invalid_response",
    `The answer to a copy of a call is longer than ${MOST_ANSWER_BYTES} bytes.`,
  );
}

/** The request as any target may get it, without what the client asks of the gateway for its own call. */
function requestOfCopy(request: ChatRequest, { policies }: Call): ChatRequest {
  const guarded =
    policies === null ? request : policies.requests.written(policies.requests.translated(request, null), null);
  return {
    ...guarded,
    options: {
      ...guarded.options,
      timeoutMs: null,
      headers: {},
      settings: {},
      ownPrice: null,
      cache: null,
      numRetries: null,
      fallbacks: [],
      contextWindowFallbacks: new Map(),
    },
  };
}

/** The client's ids and the time that it waits are those of its own call. */
function headersOfCopy(sent: Headers): Headers {
  const headers = new Headers(sent);
  for (const name of ["traceparent", "tracestate", "x-request-id", "x-stainless-timeout"]) headers.delete(name);
  return headers;
}

function addressOf({ clientIp }: ReceivedCall): { readonly address: string } | null {
  const address = clientIp();
  return address === null ? null : { address };
}

function contextOfCopies(context: ChatContext, copies: Copies): ChatContext {
  return {
    ...context,
    // a key that the mirror refuses, perhaps for its model alone, or tells to wait stays in use for the calls of clients
    credentials: { ...context.credentials, refused: () => {}, limited: () => {} },
    routing: copies.routing,
    traffic: copies,
    copies: null,
    integrations: null,
    tracing: null,
    cache: null,
    kept: null,
    durable: null,
    background: null,
    notes: null,
    objects: null,
  };
}

/** No limit and no budget counts a copy. */
const snapshotOfCopies = memoizePerObject((snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  limitRules: NO_LIMITS,
  limits: {
    ...snapshot.limits,
    maxAnswerBytes: Math.min(snapshot.limits.maxAnswerBytes, MOST_ANSWER_BYTES),
    maxHeldBytes: MOST_HELD_BYTES,
  },
}));
