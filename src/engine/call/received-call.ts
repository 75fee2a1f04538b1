// A call whose head has arrived: its clock, its record, its lifetime, and what is known of its client. The caller and
// the request are known later (call.ts).

// Decides (the request): Which trace id has a call, and whose trace does it continue? By: `arrivedCall`. Also:
// `core/record/trace.ts` (`beginTrace`). Rule: The gateway's own id is always new; with tracing on, a valid `traceparent` is
// continued.
// Decides (the request): Which headers does the gateway itself read? Also: `engine/handle.ts` (`requestedScope`). Rule:
// Those that present a token, those of the body, `origin`, `traceparent`, `x-request-id`, the timeout of the client's
// library, and some that begin with `x-gateway-`; a route or a condition may name others.
import { CallLimits } from "../../admission/call-limits.ts";
import { projectOf } from "../../auth/authorize.ts";
import { clientAddress } from "../../auth/client-address.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { ArrivedCall } from "../../core/record/empty-record.ts";
import { deviates } from "../../core/configured/client-deviations.ts";
import { asGatewayError, GatewayError } from "../../core/errors.ts";
import { newSpanId, newTraceId } from "../../core/ids.ts";
import type { AccessToken, Principal } from "../../core/identity.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import type { LimitOutcome } from "../../core/record/record.ts";
import { untilOver } from "../../core/concurrency/timeout.ts";
import { settingsOf, type Snapshot } from "../../core/snapshot.ts";
import { beginTrace, parseTraceparent } from "../../core/record/trace.ts";
import type { CalledOperation, ErrorForm } from "./called-operation.ts";
import { CallClock } from "./call-clock.ts";
import { CallLifetime } from "./call-lifetime.ts";
import { CallRecorder } from "./call-recorder.ts";
import type { ChatContext } from "./context.ts";
import { locatedError } from "./located-error.ts";
import type { LongBodyCaller } from "./read-body.ts";
import { corsHeaders, errorResponse, providerHeaders } from "./reply-headers.ts";

const CLIENT_ID_MAX = 200;

/** Whose limits apply. `projectId` is empty where the project is not known yet. */
type LimitedScopes = Pick<Principal, "tenantId" | "projectId" | "tokenId">;

/** The server that has the connection of a request, which is Bun's. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
  /** Begins the idle time of the connection anew. Absent where the request came within another one. */
  keepOpen?(request: Request): void;
}

export class ReceivedCall {
  readonly context: ChatContext;
  /**
   * The newest snapshot at the arrival of the call, or that of the call that it copies, before it is narrowed to what
   * the caller may see.
   */
  readonly snapshot: Snapshot;
  readonly clock: CallClock;
  readonly recorder: CallRecorder;
  readonly lifetime: CallLifetime;
  readonly cors: Readonly<Record<string, string>>;
  readonly headers: Headers;
  /** Returns the value of a member of the request's query, which is read when it is first needed. */
  readonly query: (name: string) => string | null;
  /** Returns the client's address, which is looked up when it is first needed; `null` when it is unknown. */
  readonly clientIp: () => string | null;
  /** Begins the idle time of the client's connection anew. */
  readonly keepOpen: () => void;
  readonly #operation: CalledOperation;
  /** `null` while no limits are known to apply. */
  #limits: CallLimits | null = null;
  /** `null` until the request was parsed. */
  #request: ChatRequest | null = null;

  constructor(
    operation: CalledOperation,
    context: ChatContext,
    http: Request,
    peers: Peers | null,
    answersOtherOrigins = true,
    snapshot = context.snapshot(),
  ) {
    const { headers } = http;
    this.#operation = operation;
    this.context = context;
    this.snapshot = snapshot;
    this.headers = headers;
    this.cors =
      !answersOtherOrigins || this.snapshot.corsOrigins.length === 0
        ? {}
        : corsHeaders(headers.get("origin"), this.snapshot.corsOrigins);
    this.clock = new CallClock(context.clock);
    this.recorder = new CallRecorder(arrivedCall(operation, context, headers, this.snapshot.version), this.clock);
    this.lifetime = new CallLifetime(context, this.recorder, this.clock);
    this.query = (name) => new URL(http.url).searchParams.get(name);
    this.clientIp = addressOf(http, peers, this.snapshot);
    this.keepOpen = () => peers?.keepOpen?.(http);
    // the listener is never removed, because a published call ignores it
    http.signal.addEventListener("abort", this.lifetime.cancel);
  }

  /** Starts the deadline of the whole operation. */
  parsed(request: ChatRequest): void {
    this.#request = request;
    this.recorder.parsed(request);
    this.lifetime.deadline.start({
      requestMs: request.options.timeoutMs,
      clientMs: clientLimitMs(this.headers),
      defaultMs: this.snapshot.limits.defaultTimeoutMs,
    });
  }

  /** Returns the limits of the call, always the same, for this caller from now on; `null` when none applies to the caller. */
  applyLimits({ tenantId, projectId, tokenId }: LimitedScopes, user: string | null): CallLimits | null {
    const { context, recorder, lifetime, snapshot } = this;
    const { operation, traceId } = recorder.record;
    const caller = snapshot.limitRules.forCaller(tenantId, projectId, tokenId, operation);
    if (caller === null) return null;
    if (this.#limits !== null) {
      this.#limits.setCaller({ caller, user });
      return this.#limits;
    }
    const outcomes: LimitOutcome[] = [];
    recorder.limitedBy(outcomes);
    this.#limits = new CallLimits({
      caller,
      user,
      store: context.limits,
      clock: context.clock,
      traceId,
      onCharged: context.onCharged,
      onLost: () => lifetime.abandon(lostPlace()),
      outcomes,
    });
    lifetime.limitedBy(this.#limits);
    return this.#limits;
  }

  /** No limit refuses an explanation. */
  longBodyOf(token: AccessToken, explains: boolean): LongBodyCaller {
    return { holder: this.lifetime, admit: () => (explains ? undefined : this.#admitUnread(token)) };
  }

  /**
   * Asks the limits that apply whatever the body says, before a long body is read (promise 5.8). Throws the error of the
   * one that refuses.
   */
  #admitUnread(token: AccessToken): MaybePromise<void> {
    const projectId = projectOf(token, this.snapshot);
    const limits = this.applyLimits({ tenantId: token.tenantId, projectId: projectId ?? "", tokenId: token.id }, null);
    if (limits === null) return;
    const asked = limits.admitUnread();
    const refuse = (refusal: GatewayError | null): void => {
      if (refusal === null) return;
      if (projectId !== null) this.recorder.authorized({ projectId, userId: token.userId });
      throw refusal;
    };
    return isPending(asked) ? this.clock.waiting(untilOver(asked, this.lifetime.signal)).then(refuse) : refuse(asked);
  }

  /** The form of errors in the scopes of the caller, as far as they are known. */
  get #errors(): ErrorForm {
    const { errors } = this.#operation;
    if (errors.without === undefined) return errors;
    const { deviation, form } = errors.without;
    return deviates(deviation, settingsOf(this.recorder.record, this.snapshot)) ? errors : form;
  }

  /** Returns the error for anything that was thrown, with the path in what the client wrote. */
  readonly located = (thrown: unknown): GatewayError => {
    const found = asGatewayError(thrown);
    return this.#request === null ? found : locatedError(found, this.#request);
  };

  /** Publishes the call as failed. Returns the error response for anything that was thrown. */
  fail(thrown: unknown): Response {
    const error = this.located(thrown);
    const { recorder, lifetime, clock } = this;
    const { record } = recorder;
    recorder.failed(error);
    lifetime.publish();
    return errorResponse(this.#errors, error, record.traceId, clock.ownMs(), {
      ...this.cors,
      ...this.#limits?.headers(),
      ...providerHeaders(record),
      // if the client repeated the call, its tools would run once more
      ...(record.tools.length > 0 && { "x-should-retry": "false" }),
    });
  }
}

/**
 * The error of a call whose place the limit store gave to others, because it received no message from this replica for
 * too long (promise 4.2).
 */
function lostPlace(): GatewayError {
  return new GatewayError(
    "limit_store_unavailable",
    "The call lost its slot under a concurrency limit, because the limit store could not be reached while it ran.",
  );
}

function addressOf(http: Request, peers: Peers | null, { proxyTrust }: Snapshot): () => string | null {
  let address: string | null | undefined;
  return () => (address ??= clientAddress(peers?.requestIP(http)?.address ?? null, http.headers, proxyTrust));
}

function arrivedCall(
  { name }: CalledOperation,
  context: ChatContext,
  headers: Headers,
  snapshotVersion: number,
): ArrivedCall {
  const startedAtMs = context.clock.now();
  const traceId = newTraceId(startedAtMs);
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
    startedAtMs,
    clientRequestId: headers.get("x-request-id")?.slice(0, CLIENT_ID_MAX) ?? null,
    otelTraceId: callersTraceId,
    trace,
    snapshotVersion,
    operation: name,
  };
}

/** Returns how long the client library waits, in milliseconds; `null` when it does not say. */
function clientLimitMs(headers: Headers): number | null {
  const seconds = Number(headers.get("x-stainless-timeout") ?? Number.NaN);
  return seconds > 0 ? seconds * 1000 : null;
}
