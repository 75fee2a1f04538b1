// A call whose head has arrived: its clock, its record, its lifetime, and what is known of its client. The caller and
// the request are known later (call.ts).

// Decides (the request): Which trace id has a call, and whose trace does it continue? By: `arrivedCall`. Also:
// `core/trace.ts` (`beginTrace`). Rule: The gateway's own id is always new; with tracing on, a valid `traceparent` is
// continued.
// Decides (the request): Which headers does the gateway itself read? Also: `engine/handle.ts` (`requestedScope`).
import { clientAddress } from "../../auth/client-address.ts";
import type { ChatRequest } from "../../core/chat.ts";
import type { ArrivedCall } from "../../core/empty-record.ts";
import { deviates } from "../../core/client-deviations.ts";
import { asGatewayError } from "../../core/errors.ts";
import { newSpanId, newTraceId } from "../../core/ids.ts";
import { settingsOf, type Snapshot } from "../../core/snapshot.ts";
import { beginTrace, parseTraceparent } from "../../core/trace.ts";
import type { CalledOperation, ErrorForm } from "./called-operation.ts";
import { CallClock } from "./call-clock.ts";
import { CallLifetime } from "./call-lifetime.ts";
import { CallRecorder } from "./call-recorder.ts";
import type { ChatContext } from "./context.ts";
import { locatedError } from "./located-error.ts";
import { corsHeaders, errorResponse, providerHeaders } from "./reply-headers.ts";

const CLIENT_ID_MAX = 200;

/** The server that knows the peer of a request's connection, which is Bun's. */
export interface Peers {
  requestIP(request: Request): { readonly address: string } | null;
}

export class ReceivedCall {
  readonly context: ChatContext;
  /** The newest snapshot at the arrival of the call, before it is narrowed to what the caller may see. */
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
  readonly #operation: CalledOperation;
  /** `null` until the request was parsed. */
  #request: ChatRequest | null = null;

  constructor(
    operation: CalledOperation,
    context: ChatContext,
    http: Request,
    peers: Peers | null,
    answersOtherOrigins = true,
  ) {
    const { headers } = http;
    this.#operation = operation;
    this.context = context;
    this.snapshot = context.snapshot();
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

  /** The form of errors in the scopes of the caller, as far as they are known. */
  get #errors(): ErrorForm {
    const { errors } = this.#operation;
    if (errors.without === undefined) return errors;
    const { deviation, form } = errors.without;
    return deviates(deviation, settingsOf(this.recorder.record, this.snapshot)) ? errors : form;
  }

  /** Publishes the call as failed. Returns the error response for anything that was thrown. */
  fail(thrown: unknown): Response {
    const found = asGatewayError(thrown);
    const error = this.#request === null ? found : locatedError(found, this.#request);
    const { recorder, lifetime, clock } = this;
    const { record } = recorder;
    try {
      recorder.failed(error);
    } finally {
      lifetime.publish();
    }
    return errorResponse(this.#errors, error, record.traceId, clock.ownMs(), {
      ...this.cors,
      ...lifetime.meter?.headers(),
      ...providerHeaders(record),
      // if the client repeated the call, its tools would run once more
      ...(record.tools.length > 0 && { "x-should-retry": "false" }),
    });
  }
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
