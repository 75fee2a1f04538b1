// One call from arrival to its record: its clock, its one abort signal, what is known of it so far. The record is published exactly once.
import { clientAddress } from "../auth/client-address.ts";
import { LimitedCall } from "../admission/limited-call.ts";
import { Cancellation, type CancelSignal } from "../core/cancellation.ts";
import type { ChatRequest } from "../core/chat.ts";
import type { CallContent } from "../core/content.ts";
import { asGatewayError, GatewayError } from "../core/errors.ts";
import { newSpanId, newTraceId } from "../core/ids.ts";
import type { AccessToken, Principal } from "../core/identity.ts";
import type { CallRecord, LimitTouch, PolicyTouch } from "../core/record.ts";
import { type Snapshot, snapshotSeenBy } from "../core/snapshot.ts";
import type { Target } from "../core/target.ts";
import { beginTrace, parseTraceparent, type TraceHeaders, traceHeaders } from "../core/trace.ts";
import type { OpenEntry } from "../store/ledger.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import { CallClock } from "./call-clock.ts";
import { CallDeadline } from "./call-deadline.ts";
import { CallPolicies } from "./call-policies.ts";
import { type ArrivedCall, CallRecorder } from "./call-recorder.ts";
import { Looking } from "./looking.ts";
import { ContentKeeper, isSampled } from "./content-keeper.ts";
import type { CallUnderWay, ChatContext } from "./context.ts";
import type { FittedRequest } from "./fit.ts";
import { corsHeaders, errorResponse } from "./reply-headers.ts";
import { nextTurn } from "../wire/turn.ts";

const CLIENT_ID_MAX = 200;
/** Who stands at the other end of a request's connection: Bun's server. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
}

export class Call {
  readonly context: ChatContext;
  snapshot: Snapshot;
  /** What is known of the call so far. */
  readonly record: CallRecord;
  readonly recorder: CallRecorder;
  readonly clock: CallClock;
  readonly deadline: CallDeadline;
  readonly cors: Readonly<Record<string, string>>;
  readonly #http: Request;
  readonly #peers: Peers | null;
  #clientIp: string | null | undefined;
  readonly #cancellation = new Cancellation();
  /** The caller has the permission `debug`. */
  mayDebug = false;
  /** The caller has the permission `custom_price`. */
  mayPrice = false;
  /** Null: none apply. */
  policies: CallPolicies | null = null;
  /** The answer is to say what it cost. */
  tellsCost = false;
  /** Null: what is said in the call is not kept. */
  content: ContentKeeper | null = null;
  /** Null: no limit applies to the caller. */
  limited: LimitedCall | null = null;
  /** Attempts that have not ended: each says what is charged of it, should the call end first. */
  readonly underWay = new Set<() => void>();
  #endUser: string | null = null;
  /** Null: no other thread holds its conversation. */
  #held: ChatRequest | null = null;
  /** The tenant among whose calls it counts; null: it does not count now. */
  #place: CallUnderWay | null = null;
  #published = false;
  #ledgerEntry: OpenEntry | null = null;
  #written: Promise<void> | null = null;

  constructor(context: ChatContext, http: Request, peers: Peers | null) {
    this.context = context;
    this.snapshot = context.snapshot();
    this.#http = http;
    this.#peers = peers;
    this.clock = new CallClock(context.clock);
    this.deadline = new CallDeadline(this.clock, (reason) => this.#cancellation.abort(reason));
    const headers = http.headers;
    this.cors =
      this.snapshot.corsOrigins.length === 0 ? {} : corsHeaders(headers.get("origin"), this.snapshot.corsOrigins);
    this.recorder = new CallRecorder(arrivedCall(context, headers, this.snapshot.version), this.clock);
    this.record = this.recorder.record;
    // never taken off again: a call that is published no longer listens to it
    http.signal.addEventListener("abort", this.#clientLeft);
  }

  readonly #clientLeft = (): void => this.cancel();

  get signal(): CancelSignal {
    return this.#cancellation;
  }
  get traceId(): string {
    return this.record.traceId;
  }

  /** Counts among the calls under way, and among those of the token's tenant. Throws `shutting_down`, `stale_snapshot`, `gateway_overloaded`. */
  enter({ tenantId }: AccessToken): void {
    const place: CallUnderWay = { tenantId, abandon: (reason) => this.abandon(reason) };
    this.context.traffic.enter(place, this.snapshot.limits);
    this.#place = place;
  }

  /** Gives its place among the calls under way back, once. */
  #leave(): void {
    if (this.#place !== null) this.context.traffic.leave(this.#place);
    this.#place = null;
  }

  /** The address of who calls, looked up when it is asked for first; null: unknown. */
  readonly clientIp = (): string | null => {
    if (this.#clientIp === undefined)
      this.#clientIp = clientAddress(
        this.#peers?.requestIP(this.#http)?.address ?? null,
        this.#http.headers,
        this.snapshot.proxyTrust,
      );
    return this.#clientIp;
  };

  /** One of the client's own HTTP headers, by lower-case name. */
  readonly clientHeader = (name: string): string | null => this.#http.headers.get(name);

  /** Starts the deadline of the whole operation. */
  parsed(request: ChatRequest): void {
    this.recorder.parsed(request);
    this.#endUser = request.params.user ?? request.params.safety_identifier ?? null;
    this.deadline.start({
      requestMs: request.options.timeoutMs,
      clientMs: clientLimitMs(this.#http.headers),
      defaultMs: this.snapshot.limits.defaultTimeoutMs,
    });
  }

  /** Whose conversation another thread holds, until the call is over and what is kept of it is ready. */
  holds(sent: ChatRequest): ChatRequest {
    if (this.#published) this.context.longRequests?.release(sent);
    else this.#held = sent;
    return sent;
  }

  /** From here on what is said is collected, where the project keeps it. */
  listens(sent: ChatRequest, { tenantId, projectId }: Principal): void {
    const { contentLogs } = this.snapshot;
    if (contentLogs.size === 0) return;
    const rules = contentLogs.get(projectId);
    if (rules !== undefined && isSampled(this.traceId, rules.sample))
      this.content = new ContentKeeper(
        rules,
        this.snapshot.policies.of(tenantId, projectId),
        sent,
        new Looking(this.context.guards, { tenantId, signal: null }),
        this.context.longRequests,
      );
  }

  /** Asks what has to be asked once. Throws `policy_violation`. */
  policed(sent: ChatRequest, principal: Principal): void | Promise<void> {
    const own = this.snapshot.policies.of(principal.tenantId, principal.projectId);
    if (own === null) return;
    const outcomes: PolicyTouch[] = [];
    this.recorder.policedBy(outcomes);
    this.policies = new CallPolicies(own, {
      sent,
      principal,
      clientIp: () => this.clientIp() ?? "",
      now: () => this.record.startedAtMs,
      touches: outcomes,
      looking: new Looking(this.context.guards, { tenantId: principal.tenantId, signal: this.signal }),
      longRequests: this.context.longRequests,
    });
    return this.policies.admit();
  }

  authorized(principal: Principal): void {
    this.snapshot = snapshotSeenBy(this.snapshot, principal);
    this.recorder.authorized(principal);
    this.mayDebug = principal.permissions.has("debug");
    this.mayPrice = principal.permissions.has("custom_price");
    const caller = this.snapshot.limitRules.forCaller(principal.tenantId, principal.projectId, principal.tokenId);
    if (caller === null) return;
    const outcomes: LimitTouch[] = [];
    this.recorder.limitedBy(outcomes);
    this.limited = new LimitedCall({
      caller,
      user: this.#endUser,
      store: this.context.limits,
      onCharged: this.context.onCharged,
      onLost: () => this.#lostPlace(),
      touches: outcomes,
    });
  }

  /** The store of the limits has not heard of this replica for too long, and gave the call's place to others (decisions 4.2). */
  #lostPlace(): void {
    this.#cancellation.abort(
      new GatewayError(
        "limit_store_unavailable",
        "The store of the limits could not be reached while the call ran, and its place under a concurrency limit is lost.",
      ),
    );
  }

  /** An attempt may run: from the first one on the call is charged, whatever becomes of this process. Throws `ledger_unavailable`. */
  admitted(): void {
    const { ledger } = this.context;
    if (this.#ledgerEntry === null) {
      this.#ledgerEntry = ledger.open(this.record);
      this.context.integrations?.admitted?.(this.record);
    } else if (this.limited !== null) ledger.reopen(this.#ledgerEntry, this.record);
    this.limited?.recorded();
  }

  /** Who answers in the end, and what became of the parameters there. */
  won({
    resolved,
    route,
    fitted,
    requests,
  }: {
    readonly resolved: { readonly target: Target };
    readonly route: string;
    readonly fitted: FittedRequest;
    readonly requests: readonly AttemptRecorder[];
  }): void {
    this.recorder.targeted(resolved.target, route);
    this.recorder.fitted(fitted);
    this.recorder.answeredBy(requests.at(-1)?.row);
  }

  /** Ends everything that is under way, because a part of it failed. */
  abandon(reason: unknown): void {
    this.#cancellation.abort(reason);
  }

  beginAttempt({ providerId, family, model }: Target): AttemptRecorder {
    const vendor = this.context.providers.get(family)?.vendor ?? family;
    return this.recorder.beginAttempt(providerId, vendor, model);
  }

  /** What a provider or a tool server is told, so that its spans stand under ours; null: nothing. */
  traceHeaders(spanId: string | null): TraceHeaders | null {
    const { trace } = this.record;
    return trace === null || spanId === null || this.context.tracing?.propagate !== true
      ? null
      : traceHeaders(trace, spanId);
  }

  /** The client left: ends the upstream call at once. */
  cancel(): void {
    if (this.#published) return;
    this.recorder.cancelled();
    this.#cancellation.abort(new GatewayError("client_closed", "The client left before the answer was complete."));
  }

  /** The error answer for anything thrown; closes the call. */
  fail(thrown: unknown): Response {
    const error = asGatewayError(thrown);
    try {
      this.recorder.failed(error);
    } finally {
      this.publish();
    }
    // who repeats the call has its tools run once more
    const afterTools = this.record.tools.length > 0 ? { "x-should-retry": "false" } : null;
    return errorResponse(error, this.traceId, this.clock.ownMs(), {
      ...this.cors,
      ...this.rateHeaders(),
      ...this.providerHeaders(),
      ...afterTools,
    });
  }

  /** What the head of every answer says of the limits that applied (decisions 4.4). */
  rateHeaders(): Readonly<Record<string, string>> | null {
    return this.limited?.headers(this.context.clock.now()) ?? null;
  }

  /** What the provider has told of itself, on answers and errors (decisions 9.8). */
  providerHeaders(): Readonly<Record<string, string>> {
    const { providerModel, providerRequestId } = this.record;
    return {
      ...(providerModel !== null && { "x-gateway-provider-model": providerModel }),
      ...(providerRequestId !== null && { "x-gateway-provider-request-id": providerRequestId }),
    };
  }

  /** Nothing more is used: what was set aside and not used is given back. */
  settleLimits(): void {
    this.limited?.close();
  }

  publish(): void {
    if (this.#published) return;
    this.#published = true;
    for (const end of this.underWay) end();
    this.underWay.clear();
    // what is kept of it is made ready behind the end
    if (this.content === null) this.#letGo();
    this.settleLimits();
    this.clock.waitEnds();
    this.deadline.stop();
    this.recorder.close();
    this.#written = this.context.ledger.close(this.#ledgerEntry, this.record);
    if (this.content !== null) return void this.#publishWithContent(this.content);
    this.#leave();
    this.context.observer.publish(this.record, null);
  }

  /** Of the conversation that another thread holds. */
  #letGo(): void {
    if (this.#held !== null) this.context.longRequests?.release(this.#held);
  }

  /** What was said is made ready behind the answer, which does not wait for it; a process that goes down does. Never rejects. */
  async #publishWithContent(keeper: ContentKeeper): Promise<void> {
    await nextTurn();
    let content: CallContent | null = null;
    try {
      content = await keeper.content(this.record.startedAtMs);
    } catch (fault) {
      this.context.onContentLost?.(this.traceId, fault);
    }
    this.#letGo();
    this.context.observer.publish(this.record, content);
    this.#leave();
  }

  /** What the last byte of the answer has to wait for, once the call is published; null: nothing. */
  get written(): Promise<void> | null {
    return this.#written;
  }
}

function arrivedCall(context: ChatContext, headers: Headers, snapshotVersion: number): ArrivedCall {
  const traceId = newTraceId();
  const traceparent = headers.get("traceparent");
  const trace =
    context.tracing === null
      ? null
      : beginTrace(
          { traceparent, tracestate: headers.get("tracestate") },
          { traceId, spanId: newSpanId() },
          context.tracing,
        );
  const callersTraceId =
    trace === null
      ? (parseTraceparent(traceparent)?.traceId ?? null)
      : trace.parentSpanId === null
        ? null
        : trace.traceId;
  return {
    traceId,
    startedAtMs: context.clock.now(),
    clientRequestId: headers.get("x-request-id")?.slice(0, CLIENT_ID_MAX) ?? null,
    otelTraceId: callersTraceId,
    trace,
    snapshotVersion,
  };
}

/** How long the client library waits, in milliseconds; null: it does not say. */
function clientLimitMs(headers: Headers): number | null {
  const seconds = Number(headers.get("x-stainless-timeout") ?? Number.NaN);
  return seconds > 0 ? seconds * 1000 : null;
}
