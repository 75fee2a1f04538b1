// One call from arrival to its record: its clock, its one abort signal, what is known of it so far. The record is published exactly once.
import { clientAddress } from "../auth/client-address.ts";
import { summedUsage } from "../accounting/summed-usage.ts";
import { LimitedCall } from "../admission/limited-call.ts";
import { Cancellation, type CancelSignal } from "../core/cancellation.ts";
import type { ChatRequest, Usage } from "../core/chat.ts";
import type { CallContent } from "../core/content.ts";
import { MAX_TIMER_MS } from "../core/clock.ts";
import { asGatewayError, GatewayError } from "../core/errors.ts";
import { newSpanId, newTraceId } from "../core/ids.ts";
import type { AccessToken, Principal } from "../core/identity.ts";
import { type Attempt, type CallRecord, MAX_END_USER } from "../core/record.ts";
import { type Snapshot, snapshotSeenBy } from "../core/snapshot.ts";
import type { Target } from "../core/target.ts";
import { unnamedFigures } from "../core/usage.ts";
import { beginTrace, parseTraceparent, type TraceHeaders, traceHeaders } from "../core/trace.ts";
import type { OpenEntry } from "../store/ledger.ts";
import { AttemptRecorder } from "./attempt-recorder.ts";
import { CallPolicies } from "./call-policies.ts";
import { Looking } from "./looking.ts";
import { ContentKeeper, isSampled } from "./content-keeper.ts";
import type { CallUnderWay, ChatContext } from "./context.ts";
import type { FittedRequest } from "./fit.ts";
import { corsHeaders, errorResponse } from "./reply-headers.ts";
import { nextTurn } from "../wire/turn.ts";

const CLIENT_ID_MAX = 200;
/** A client that tells its own time limit gets ours that much earlier, so that it sees our error and not a cut (decisions 7.2). */
const CLIENT_LIMIT_MARGIN_MS = 5000;

/** Who stands at the other end of a request's connection: Bun's server. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
}

export class Call {
  readonly context: ChatContext;
  snapshot: Snapshot;
  readonly record: CallRecord;
  readonly cors: Readonly<Record<string, string>>;
  readonly #http: Request;
  readonly #peers: Peers | null;
  #clientIp: string | null | undefined;
  readonly #startedMs: number;
  readonly #cancellation = new Cancellation();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timeoutMs = Number.POSITIVE_INFINITY;
  /** The request says no time of its own, and its route may. */
  #takesRouteTime = false;
  /** The client said itself how long it waits. */
  hasOwnTimeout = false;
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
  /** What earlier rounds of tools have used; null: nothing is known. */
  #usedBefore: { readonly usage: Usage; readonly isEstimated: boolean } | null = null;
  #usedInRound = false;
  #waitedMs = 0;
  #waitingSinceMs: number | null = null;
  /** Waits that go on; several choices wait side by side. */
  #waits = 0;
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
    this.#startedMs = context.clock.monotonic();
    const headers = http.headers;
    this.cors =
      this.snapshot.corsOrigins.length === 0 ? {} : corsHeaders(headers.get("origin"), this.snapshot.corsOrigins);
    const traceId = newTraceId();
    const trace =
      context.tracing === null
        ? null
        : beginTrace(
            { traceparent: headers.get("traceparent"), tracestate: headers.get("tracestate") },
            { traceId, spanId: newSpanId() },
            context.tracing,
          );
    this.record = {
      traceId,
      startedAtMs: context.clock.now(),
      clientRequestId: headers.get("x-request-id")?.slice(0, CLIENT_ID_MAX) ?? null,
      otelTraceId:
        trace === null
          ? (parseTraceparent(headers.get("traceparent"))?.traceId ?? null)
          : trace.parentSpanId === null
            ? null
            : trace.traceId,
      trace,
      snapshotVersion: this.snapshot.version,
      tokenId: null,
      tenantId: null,
      projectId: null,
      userId: null,
      endUser: null,
      modelAsked: null,
      route: null,
      provider: null,
      model: null,
      stream: false,
      explained: false,
      status: 0,
      code: null,
      errorDetail: null,
      fates: {},
      messages: null,
      attempts: [],
      rounds: 1,
      tools: [],
      finishReasons: [],
      nativeFinishReasons: [],
      finishInferred: false,
      providerModel: null,
      providerRequestId: null,
      usage: null,
      usageSource: null,
      unnamedUsage: null,
      cost: null,
      callerCost: null,
      limits: [],
      policies: [],
      warnings: [],
      cancelled: false,
      metadata: null,
      firstContentMs: null,
      totalMs: 0,
      ownMs: 0,
    };
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

  readonly authenticated = (token: AccessToken): void => {
    this.record.tokenId = token.id;
    this.record.tenantId = token.tenantId;
    // a personal token may reach several projects, and the request names one of them
    this.record.projectId = token.projectId;
    this.record.userId = token.userId;
  };

  /** Starts the clock of the whole operation, which counts from the arrival of the request. */
  parsed(request: ChatRequest): void {
    const { record } = this;
    record.endUser = (request.params.user ?? request.params.safety_identifier)?.slice(0, MAX_END_USER) ?? null;
    record.modelAsked = request.options.model;
    record.stream = request.params.stream === true;
    this.#endUser = request.params.user ?? request.params.safety_identifier ?? null;
    record.metadata = request.options.metadata;
    record.messages = statistics(request);
    const ownMs = request.options.timeoutMs ?? this.#clientLimitMs();
    this.hasOwnTimeout = ownMs !== null;
    this.#takesRouteTime = request.options.timeoutMs === null;
    const timeoutMs = ownMs ?? this.snapshot.limits.defaultTimeoutMs;
    this.#limitTo(timeoutMs);
  }

  /** The route's own bound of the whole operation, where the request said none (decisions 7.2). */
  bounded(totalMs: number | null, request: ChatRequest): void {
    if (totalMs !== null && request.options.timeoutMs === null && totalMs < this.#timeoutMs) this.#limitTo(totalMs);
  }

  /** Another route serves the call from now on: its own bound holds for what it does, within what is left. */
  handedOver(totalMs: number | null): void {
    if (totalMs !== null && this.#takesRouteTime && this.elapsedMs() + totalMs < this.#timeoutMs)
      this.#limitTo(this.elapsedMs() + totalMs);
  }

  #limitTo(timeoutMs: number): void {
    clearTimeout(this.#timer);
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(
      () => this.#cancellation.abort(this.outOfTime()),
      Math.min(Math.max(0, timeoutMs - this.elapsedMs()), MAX_TIMER_MS),
    );
  }

  outOfTime(): GatewayError {
    return new GatewayError(
      "upstream_timeout",
      `The call did not finish within its timeout of ${this.#timeoutMs / 1000} s.`,
    );
  }

  /** What is left of the whole operation's time. */
  leftMs(): number {
    return this.#timeoutMs - this.elapsedMs();
  }

  #clientLimitMs(): number | null {
    const seconds = Number(this.#http.headers.get("x-stainless-timeout") ?? Number.NaN);
    if (!(seconds > 0)) return null;
    return Math.min(
      Math.max(seconds * 1000 - CLIENT_LIMIT_MARGIN_MS, (seconds * 1000) / 2),
      this.snapshot.limits.defaultTimeoutMs,
    );
  }

  /** Whose conversation another thread holds, until the call is over. */
  holds(sent: ChatRequest): ChatRequest {
    if (this.#published) this.context.longRequests?.release(sent);
    else this.#held = sent;
    return sent;
  }

  /** What is said in the call is looked at, kept, or goes on in rounds of tools, all of which happens in this thread. */
  needsWhole({ options, toolImages, held }: ChatRequest, { tenantId, projectId }: Principal): boolean {
    const policies = this.snapshot.policies.of(tenantId, projectId);
    // a rule may ask for any member
    const isAsked = policies !== null && (policies.inputGuards.length > 0 || (held?.members.length ?? 0) > 0);
    return isAsked || options.toolServers.length > 0 || toolImages.size > 0 || this.snapshot.contentLogs.has(projectId);
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
      );
  }

  /** Asks what has to be asked once. Throws `policy_violation`. */
  policed(sent: ChatRequest, principal: Principal): void | Promise<void> {
    const own = this.snapshot.policies.of(principal.tenantId, principal.projectId);
    if (own === null) return;
    this.policies = new CallPolicies(own, {
      sent,
      principal,
      clientIp: () => this.clientIp() ?? "",
      now: () => this.record.startedAtMs,
      touches: this.record.policies,
      looking: new Looking(this.context.guards, { tenantId: principal.tenantId, signal: this.signal }),
    });
    return this.policies.admit();
  }

  authorized(principal: Principal): void {
    this.snapshot = snapshotSeenBy(this.snapshot, principal);
    this.record.projectId = principal.projectId;
    this.record.userId = principal.userId;
    this.mayDebug = principal.permissions.has("debug");
    this.mayPrice = principal.permissions.has("custom_price");
    const caller = this.snapshot.limitRules.forCaller(principal.tenantId, principal.projectId, principal.tokenId);
    if (caller !== null)
      this.limited = new LimitedCall({
        caller,
        user: this.#endUser,
        store: this.context.limits,
        onCharged: this.context.onCharged,
        onLost: () => this.#lostPlace(),
        touches: this.record.limits,
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

  /** What is tried first: what the record says of a call that got no further. */
  planned({ providerId, model }: { readonly providerId: string; readonly model: string }, route: string): void {
    Object.assign(this.record, { route, provider: providerId, model });
  }

  resolved(target: Target, route: string): void {
    this.record.route = route;
    this.record.provider = target.providerId;
    this.record.model = target.model;
  }

  fitted(fitted: FittedRequest): void {
    this.record.fates = fitted.fates;
    this.record.warnings = fitted.request.warnings;
  }

  explained(): void {
    this.record.explained = true;
    this.record.status = 200;
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
    this.resolved(resolved.target, route);
    this.fitted(fitted);
    this.#told(requests.at(-1)?.row);
  }

  /** What the provider has told of itself beside its answer. */
  #told(attempt: Readonly<Attempt> | undefined): void {
    this.record.providerModel = attempt?.toldModel ?? null;
    this.record.providerRequestId = attempt?.requestId ?? null;
  }

  /** Something is known of what the round under way has used. */
  get knowsUsage(): boolean {
    return this.#usedInRound;
  }

  /** What the round under way has used by now; the record has the sum of all. */
  noteUsage(usage: Usage, isEstimated: boolean): void {
    const before = this.#usedBefore;
    this.#usedInRound = true;
    const unnamed = unnamedFigures(usage);
    if (unnamed !== null) this.record.unnamedUsage = { ...this.record.unnamedUsage, ...unnamed };
    this.record.usage = before === null ? usage : summedUsage([before.usage, usage]);
    this.record.usageSource = isEstimated || before?.isEstimated === true ? "estimated" : "provider";
  }

  /** The round of tools is over, and another one begins. */
  nextRound(): void {
    const { usage, usageSource } = this.record;
    this.#usedBefore = usage === null ? null : { usage, isEstimated: usageSource === "estimated" };
    this.#usedInRound = false;
    this.record.rounds += 1;
  }

  /** Ends everything that is under way, because a part of it failed. */
  abandon(reason: unknown): void {
    this.#cancellation.abort(reason);
  }

  beginAttempt(target: Target): AttemptRecorder {
    const vendor = this.context.providers.get(target.family)?.vendor ?? target.family;
    const attempt: Attempt = {
      provider: target.providerId,
      vendor,
      model: target.model,
      round: this.record.rounds,
      startMs: this.elapsedMs(),
      spanId: this.newSpanId(),
      usage: null,
      usageSource: null,
      status: null,
      code: null,
      toldModel: null,
      requestId: null,
      nativeCode: null,
      retryAfterMs: null,
      headMs: null,
      firstContentMs: null,
      totalMs: null,
    };
    this.record.attempts.push(attempt);
    return new AttemptRecorder(attempt, () => this.elapsedMs());
  }

  /** Null: the call is not traced. */
  newSpanId(): string | null {
    return this.record.trace === null ? null : newSpanId();
  }

  /** What a provider or a tool server is told, so that its spans stand under ours; null: nothing. */
  traceHeaders(spanId: string | null): TraceHeaders | null {
    const { trace } = this.record;
    return trace === null || spanId === null || this.context.tracing?.propagate !== true
      ? null
      : traceHeaders(trace, spanId);
  }

  elapsedMs(): number {
    return this.context.clock.monotonic() - this.#startedMs;
  }

  /** Waits for the provider or the client; what is not waiting is the gateway's own time. */
  async waiting<T>(answer: Promise<T>): Promise<T> {
    this.waitBegins();
    try {
      return await answer;
    } finally {
      this.waitEnds();
    }
  }

  /** For loops that wait often: `waiting` without the promise around it. */
  waitBegins(): void {
    if (this.#waits++ === 0) this.#waitingSinceMs = this.context.clock.monotonic();
  }
  waitEnds(): void {
    if (this.#waits > 0) this.#waits -= 1;
    if (this.#waits > 0 || this.#waitingSinceMs === null) return;
    this.#waitedMs += this.context.clock.monotonic() - this.#waitingSinceMs;
    this.#waitingSinceMs = null;
  }

  /** Also right while a wait goes on: the head of a stream may go out during one. */
  ownMs(): number {
    const waitingMs = this.#waitingSinceMs === null ? 0 : this.context.clock.monotonic() - this.#waitingSinceMs;
    return Math.max(0, this.elapsedMs() - this.#waitedMs - waitingMs);
  }

  /** The client left: ends the upstream call at once. */
  cancel(): void {
    if (this.#published) return;
    this.record.cancelled = true;
    this.#cancellation.abort(new GatewayError("client_closed", "The client left before the answer was complete."));
  }

  /** The error answer for anything thrown; closes the call. */
  fail(thrown: unknown): Response {
    const error = asGatewayError(thrown);
    try {
      this.failed(error);
    } finally {
      this.publish();
    }
    // who repeats the call has its tools run once more
    const afterTools = this.record.tools.length > 0 ? { "x-should-retry": "false" } : null;
    return errorResponse(error, this.traceId, this.ownMs(), {
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

  failed(error: GatewayError): void {
    this.record.status = error.entry.status;
    this.record.code = error.code;
    this.record.errorDetail = error.detail;
    const { attempts } = this.record;
    this.#told(attempts.findLast(({ code }) => code === error.code) ?? attempts.at(-1));
  }

  publish(): void {
    if (this.#published) return;
    this.#published = true;
    for (const end of this.underWay) end();
    this.underWay.clear();
    if (this.#held !== null) this.context.longRequests?.release(this.#held);
    this.settleLimits();
    this.waitEnds();
    clearTimeout(this.#timer);
    this.record.totalMs = this.elapsedMs();
    this.record.ownMs = this.ownMs();
    for (const attempt of this.record.attempts) attempt.totalMs ??= this.record.totalMs;
    this.#written = this.context.ledger.close(this.#ledgerEntry, this.record);
    if (this.content !== null) return void this.#publishWithContent(this.content);
    this.#leave();
    this.context.observer.publish(this.record, null);
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
    this.context.observer.publish(this.record, content);
    this.#leave();
  }

  /** What the last byte of the answer has to wait for, once the call is published; null: nothing. */
  get written(): Promise<void> | null {
    return this.#written;
  }
}

function statistics(request: ChatRequest): CallRecord["messages"] {
  const { held } = request;
  if (held !== undefined)
    return {
      count: held.count,
      roles: { ...held.roles },
      blocks: [...request.blocks.keys()],
      bodyCharacters: held.bodyCharacters,
    };
  const roles: Record<string, number> = {};
  for (const message of request.messages) roles[message.role] = (roles[message.role] ?? 0) + 1;
  return {
    count: request.messages.length,
    roles,
    blocks: [...request.blocks.keys()],
    bodyCharacters: request.source.text.length,
  };
}
