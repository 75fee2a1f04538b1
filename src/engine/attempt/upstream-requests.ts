// The upstream requests of one attempt: encode, check the address, sign, send, and turn an error response of the
// provider into an error of the catalogue.

// Decides (targets and attempts): What happens with a redirect of a provider? By: `refusal`. Also:
// `routing/plan/verdict.ts` (`isRedirect`). Rule: It is not followed; the next target is attempted.
import type { DecodeContext } from "../../providers/interface/encoded-request.ts";
import { MalformedAnswer, StreamError } from "../../providers/interface/upstream-failure.ts";
import { readErrorJson } from "../../providers/answers/error-body.ts";
import { isObject } from "../../core/json.ts";
import { checkAddress } from "../../wire/address-guard.ts";
import { arrivedBody, decodeUtf8, readBytes } from "../../wire/body-bytes.ts";
import { retryAfterMs } from "../../wire/retry-after.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { pause, startTimeout, untilOver, withCancellation } from "../../core/concurrency/timeout.ts";
import type { UpstreamRequest, UpstreamResponse, UpstreamBody } from "../../wire/upstream.ts";
import { GatewayError } from "../../core/errors.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import { CHOSEN_BY, connectionPartition } from "../../core/target.ts";
import type { TraceHeaders } from "../../core/record/trace.ts";
import type { CancelSignal } from "../../core/concurrency/cancellation.ts";
import type { AttemptRecorder } from "./attempt-recorder.ts";
import type { Call } from "../call/call.ts";
import { GrowingBytes } from "../../core/concurrency/shared-bytes.ts";
import type { EncodedForTarget } from "../long-bodies/long-body-worker.ts";
import { encodedFor, withLeftOut } from "./encode-attempt.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { passedHeaders, passedRefusal } from "../native/passed-response.ts";
import { endBesides, endingRequest, type OpenAttempt } from "./run-attempt.ts";
import { reportRefused } from "./resolve-credential.ts";
import { callsFor } from "../fit/fit.ts";
import { attemptError, failureError, redacted } from "./upstream-errors.ts";

export interface OpenAnswer {
  readonly response: UpstreamResponse;
  readonly decode: DecodeContext;
  readonly request: AttemptRecorder;
}

/** Error bodies are read only up to this size. */
const MAX_ERROR_BYTES = 256 * 1024;
/** The status of an error says most of it, and its body mostly comes with the head. */
const ERROR_BODY_MS = 2000;
const MAX_NATIVE_CODE = 200;

/** Sends one upstream request, or as many as the choices of the request need. */
export function sendRequests(attempt: OpenAttempt, call: Call): readonly Promise<OpenAnswer>[] {
  const { fitted, resolved } = attempt;
  // content is fetched once for all requests, and the request is encoded once, however often it is sent
  const encoding = attempt.cached?.encoded ?? encodedFor(fitted.request, attempt, call, null, attempt.prompt !== null);
  const calls = callsFor(fitted.request, resolved.provider, resolved.target.model);
  if (calls > 1) return Array.from({ length: calls }, (_, index) => sendOneOf(encoding, index, attempt, call));
  return [
    isPending(encoding)
      ? encoding.then((encoded) => sendRequest(encoded, attempt, call))
      : sendRequest(encoding, attempt, call),
  ];
}

/** Sends one of several equal requests. */
async function sendOneOf(
  encoding: MaybePromise<EncodedForTarget>,
  index: number,
  attempt: OpenAttempt,
  call: Call,
): Promise<OpenAnswer> {
  const encoded = await encoding;
  const { bytes, body } = encoded.request;
  // the kernel takes megabytes of each request at once, so that each is sent in a turn of its own, unless one has
  // failed by then
  if (index > 0 && (bytes ?? body).length > SENT_AT_ONCE) {
    await yieldToLoop();
    attempt.lifetime.signal.throwIfAborted();
  }
  return sendRequest(encoded, attempt, call);
}
/** In bytes or characters, for a request that is sent several times. */
const SENT_AT_ONCE = 65_536;

/** Returns the provider's response once its head reports success. Throws GatewayError. */
export async function sendRequest(encoded: EncodedForTarget, attempt: OpenAttempt, call: Call): Promise<OpenAnswer> {
  const {
    resolved: { target },
    cached,
    lifetime,
  } = attempt;
  attempt.fitted = withLeftOut(attempt.fitted, encoded);
  attempt.meter.sending();
  if (cached?.sends !== false) call.sendsTo(target);
  attempt.prompt?.sending(encoded.prompt ?? null);
  const recorder = call.beginAttempt(target);
  attempt.requests.push(recorder);
  try {
    const decode: DecodeContext = {
      model: target.model,
      memo: encoded.memo,
      ...(attempt.fitted.request.form.rawPrompts !== undefined && { isRaw: true }),
    };
    const exchangedBy = (signal: CancelSignal): Promise<UpstreamResponse> =>
      exchanged(encoded.request, decode, {
        attempt,
        call,
        recorder,
        signal,
        onSent: (isSent) => recorder.accepted(isSent),
      });
    const response = await (cached === null ? exchangedBy(lifetime.signal) : cached.respond(exchangedBy, recorder));
    if (cached?.sends === false) lifetime.hasSharedHead = true;
    attempt.bodies.push(response.body);
    return { response, decode, request: recorder };
  } catch (thrown) {
    throw closeRequest(recorder, thrown, attempt, call);
  }
}

/** What an upstream request is sent for, with its follow-ups. */
interface Sending {
  readonly attempt: OpenAttempt;
  readonly call: Call;
  readonly recorder: AttemptRecorder;
  readonly signal: CancelSignal;
  /** As in `UpstreamCall`. */
  readonly onSent: (isSent: boolean) => void;
}

/** Sends the request, and what has to follow it. Rejects with the error that a status other than success means. */
function exchanged(request: UpstreamRequest, decode: DecodeContext, sending: Sending): Promise<UpstreamResponse> {
  const { attempt, call, signal } = sending;
  const { resolved, cached } = attempt;
  const send: SendChecked = (next) => sendChecked(next, sending);
  const first = send(request);
  if (resolved.provider.followUp === undefined) return first;
  // nothing has been answered yet that would be read on after the client has left
  const pauseSignal = cached === null ? call.signal : signal;
  return first.then((response) => followedAnswer(response, decode, pauseSignal, send, sending));
}

/** Throws the error that a status other than success means. */
async function sendChecked(request: UpstreamRequest, sending: Sending): Promise<UpstreamResponse> {
  const { attempt, call, recorder } = sending;
  const { clock } = call;
  let response: UpstreamResponse;
  clock.waitBegins();
  try {
    response = await signAndSend(request, sending);
  } finally {
    clock.waitEnds();
  }
  const isSuccess = response.status >= 200 && response.status <= 299;
  const isFirst = recorder.responded(response.status, reportedRequestId(response, attempt.resolved));
  // a request that follows up an accepted one does not change that
  if (isFirst) recorder.accepted(isSuccess);
  if (isSuccess && attempt.fitted.native !== undefined) attempt.passedHeaders = passedHeaders(response, attempt);
  if (!isSuccess) throw await refusal(response, sending);
  return response;
}

/** Returns the provider's own id of the request; `null` for a value that is not a plain token or contains a key. */
function reportedRequestId(response: UpstreamResponse, { provider, target }: Resolved): string | null {
  for (const name of provider.requestIds) {
    const id = response.header(name);
    if (id !== null && id !== undefined) return REQUEST_ID.test(id) && redacted(id, target) === id ? id : null;
  }
  return null;
}
const REQUEST_ID = /^[\x21-\x7e]{1,128}$/;

/** Returns the model that answered, as the provider reports it, if it can be sent in a header. */
export function reportedModel(model: unknown, { target }: Resolved): string | null {
  return typeof model === "string" && MODEL_NAME.test(model) && redacted(model, target) === model ? model : null;
}
const MODEL_NAME = /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/;

function signAndSend(request: UpstreamRequest, sending: Sending): Promise<UpstreamResponse> {
  const { attempt, call } = sending;
  const { provider, target } = attempt.resolved;
  // a long request was signed where it was encoded
  const signing =
    request.bytes !== undefined
      ? request
      : provider.sign(request, target.credential, { nowMs: call.context.clock.now(), settings: target.settings });
  return isPending(signing) || target.guardedField !== null
    ? sendGuarded(signing, sending)
    : sendSigned(signing, undefined, sending);
}

/** Checks the address of the request, where that is needed, before it is sent. */
async function sendGuarded(signing: MaybePromise<UpstreamRequest>, sending: Sending): Promise<UpstreamResponse> {
  const { attempt, call } = sending;
  const signed = await signing;
  const { guardedField: param } = attempt.resolved.target;
  if (param === null) return sendSigned(signed, undefined, sending);
  const { allowPrivateAddresses: allowPrivate } = call.snapshot;
  const subject = param === CHOSEN_BY ? `the provider that \`${CHOSEN_BY}\` names` : undefined;
  const { pinnedAddress } = await untilOver(checkAddress(signed.url, { allowPrivate, param, subject }), sending.signal);
  return sendSigned(signed, pinnedAddress, sending);
}

function sendSigned(
  signed: UpstreamRequest,
  pinnedAddress: string | undefined,
  { attempt, call, recorder, signal, onSent }: Sending,
): Promise<UpstreamResponse> {
  const {
    resolved: { target },
    lifetime,
  } = attempt;
  const { connectTimeoutMs, firstByteTimeoutMs, betweenBytesTimeoutMs } = lifetime.limits;
  const partition = connectionPartition(target.sharesConnections ? null : call.record.tenantId, target.credential);
  return call.context.upstream.send(traced(signed, call.traceHeaders(recorder.row.spanId)), {
    connectTimeoutMs,
    firstByteTimeoutMs,
    betweenBytesTimeoutMs,
    signal,
    pinnedAddress,
    partition,
    onSent,
  });
}

/**
 * Adds the headers after signing, because they are not part of the signature. A header of that name that the caller set
 * for the provider is kept.
 */
function traced(request: UpstreamRequest, trace: TraceHeaders | null): UpstreamRequest {
  return trace === null || "traceparent" in request.headers
    ? request
    : { ...request, headers: { ...request.headers, ...trace } };
}

async function refusal(
  response: UpstreamResponse,
  { attempt, call, recorder, signal }: Sending,
): Promise<GatewayError> {
  const { resolved, fitted } = attempt;
  const { provider, target } = resolved;
  const context = {
    provider,
    target,
    status: response.status,
    retryAfterMs: retryAfterMs((name) => response.header(name), call.context.clock.now(), target.family),
    isNative: fitted.native !== undefined,
  };
  if (response.status >= 300 && response.status < 400) {
    response.body.cancel();
    return new GatewayError(
      "upstream_invalid_response",
      `${provider.label} answered with a redirect (${response.status}), which is not followed; set base_url to the final address.`,
    );
  }
  const { body, isLate } = await call.clock.waiting(errorBody(response.body));
  const isJson = /json/i.test(response.header("content-type") ?? "") && isObject(readErrorJson(body));
  if (isJson && !isLate) response.body.accept();
  else response.body.cancel();
  signal.throwIfAborted();
  const failure = provider.classifyError({ status: response.status, body });
  const askedMs = context.retryAfterMs ?? failure.retryAfterMs ?? null;
  reportRefused(failure, askedMs, attempt, call);
  recorder.refused(
    failure.nativeCode === null ? null : redacted(failure.nativeCode, target).slice(0, MAX_NATIVE_CODE),
    askedMs,
  );
  const error = failureError(failure, context);
  return fitted.native === undefined ? error : passedRefusal(error, response.status, body, fitted.native, target);
}

/** Reads the body of an error, or what of it comes in time: another target may answer the call meanwhile. Never rejects. */
async function errorBody(
  answer: Pick<UpstreamBody, "read">,
): Promise<{ readonly body: string; readonly isLate: boolean }> {
  let isLate = false;
  let stopTimer = (): void => {};
  const late = new Promise<null>((resolve) => {
    stopTimer = startTimeout(ERROR_BODY_MS, () => {
      isLate = true;
      resolve(null);
    });
  });
  try {
    const bytes = await readBytes({ read: () => Promise.race([answer.read(), late]) }, MAX_ERROR_BYTES, () => {});
    return { body: decodeUtf8(bytes), isLate };
  } catch {
    return { body: "", isLate: true };
  } finally {
    stopTimer();
  }
}

/**
 * Records that an attempt failed after its requests were sent, whichever of them failed. Returns the error with which
 * the call fails.
 */
export function closeAttempt(thrown: unknown, attempt: OpenAttempt, call: Call): unknown {
  const request = endingRequest(attempt);
  if (request === undefined) return thrown;
  const error = closeRequest(request, thrown, attempt, call);
  endBesides(attempt, call);
  return error;
}

/** Records that an upstream request failed, at whatever time. Returns the error with which the call fails. */
export function closeRequest(recorder: AttemptRecorder, thrown: unknown, attempt: OpenAttempt, call: Call): unknown {
  const { resolved, meter, fitted } = attempt;
  attempt.failing ??= recorder;
  attempt.cached?.failed(thrown, call.signal.aborted);
  if (thrown instanceof StreamError || thrown instanceof MalformedAnswer) meter.failedWith(recorder, thrown.counted);
  if (thrown instanceof StreamError) {
    // the provider's own error before anything was generated counts as a refusal, whatever the head of its response was
    if (!meter.hasUsage(recorder)) recorder.accepted(false);
    const askedMs = thrown.failure.retryAfterMs ?? null;
    reportRefused(thrown.failure, askedMs, attempt, call);
    recorder.retryAfter(askedMs);
  }
  const isNative = fitted.native !== undefined;
  const error = attemptError(thrown, { ...resolved, retryAfterMs: null, status: null, isNative });
  recorder.ended();
  recorder.failed(error instanceof GatewayError ? error.code : "internal_error");
  return error;
}

/**
 * The least wait before every follow-up request except the first, so that a provider that keeps asking for follow-ups
 * cannot keep the gateway busy.
 */
const LEAST_WAIT_MS = 200;

/** Sends a request, and throws the error that a status other than success means. */
type SendChecked = (request: UpstreamRequest) => Promise<UpstreamResponse>;

/**
 * Makes further upstream requests where an answer calls for them, for example a job that has to be polled, or the stream
 * of a prediction that was created. The provider's implementation decides which; the call's own timeouts bound them all.
 * Returns the last response; its body can be read like that of a first response. An event stream is returned unread. A
 * job is ended where its answer is not read to the end.
 */
async function followedAnswer(
  made: UpstreamResponse,
  decode: DecodeContext,
  signal: CancelSignal,
  send: SendChecked,
  sending: Sending,
): Promise<UpstreamResponse> {
  const { attempt, call } = sending;
  let response = made;
  let ending: UpstreamRequest | null = null;
  try {
    for (let first = true; ; first = false) {
      const { status, body } = response;
      const header = (name: string): string | null => response.header(name);
      if (/^text\/event-stream/i.test(header("content-type") ?? ""))
        return ending === null ? response : { status, header, body: bodyOfJob(body, ending, sending) };
      const bytes = await collectedBytes(body, call);
      const next = attempt.resolved.provider.followUp!(decodeUtf8(bytes), decode);
      if (next === null) return { status, header, body: arrivedBody(bytes, body) };
      body.accept();
      ending = next.ending ?? null;
      const waitMs = first ? next.waitMs : Math.max(next.waitMs, LEAST_WAIT_MS);
      if (waitMs > 0) await call.clock.waiting(pause(waitMs, signal));
      response = await send(next.request);
    }
  } catch (thrown) {
    if (ending !== null) void endJob(ending, sending);
    throw thrown;
  }
}

/** Returns the body of a stream. If the body is cancelled before it was accepted, the job that makes the stream is ended. */
function bodyOfJob(body: UpstreamBody, ending: UpstreamRequest, sending: Sending): UpstreamBody {
  let isOver = false;
  return {
    read: () => body.read(),
    bytes: (maxBytes, shouldContinue) => body.bytes(maxBytes, shouldContinue),
    text: (maxBytes, shouldContinue) => body.text(maxBytes, shouldContinue),
    accept() {
      isOver = true;
      body.accept();
    },
    cancel() {
      body.cancel();
      if (!isOver) void endJob(ending, sending);
      isOver = true;
    },
  };
}

/** How long the request that ends a job may take. */
const ENDING_MS = 10_000;

/** Asks the provider to end a job whose answer is no longer needed. Never rejects. */
async function endJob(request: UpstreamRequest, sending: Sending): Promise<void> {
  // what the attempt is charged for does not depend on this request
  const end = async (signal: CancelSignal): Promise<void> =>
    (await signAndSend(request, { ...sending, signal, onSent: () => {} })).body.cancel();
  const late = (): Error => new Error("The provider did not end the job in time.");
  // where that fails, the call is over, and the job ends by itself
  await withCancellation(end, ENDING_MS, late).catch(() => {});
}

/**
 * Reads an answer of a provider to its end. What has come of it counts until then against the memory that bodies may
 * hold (promise 5.8). `readsOn` may end the reading early. Throws what the body throws, or `gateway_overloaded`.
 */
export function collectedBytes(
  body: Pick<UpstreamBody, "bytes">,
  { lifetime, snapshot, clock }: Call,
  readsOn: (bytes: number) => boolean = () => true,
): MaybePromise<Uint8Array> {
  const counted = new GrowingBytes((bytes) => lifetime.hold(bytes, snapshot.limits));
  const reading = body.bytes(snapshot.limits.maxAnswerBytes, (bytes) => {
    counted.grownTo(bytes);
    return readsOn(bytes);
  });
  if (isPending(reading)) return clock.waiting(reading).finally(() => lifetime.release(counted.held));
  lifetime.release(counted.held);
  return reading;
}
