// Turns a provider's non-streaming answer into the JSON answer of the client.
import { answerBody } from "./answer-body.ts";
import { estimatedUsage } from "../../accounting/estimate.ts";
import { promptTokens } from "../metering/attempt-estimate.ts";
import { usd } from "../../accounting/price.ts";
import type { ChatAnswer, Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import {
  allOf,
  besideFailure,
  closeRequest,
  type OpenAnswer,
  sendRequests,
  reportedModel,
} from "../attempt/upstream-requests.ts";
import type { AnswerForm, NativeAnswers } from "../answer-form.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "../call/call.ts";
import { collectedBytes } from "../call/collected-bytes.ts";
import type { Answered, AttemptWork, OpenAttempt } from "../attempt/run-attempt.ts";
import { joinedAnswer, type JoinedFigures } from "./joined-answer.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import { inOneTurn, inTurns } from "../../core/steps.ts";
import { jsonInTurns, unpackJson } from "../long-bodies/long-texts.ts";
import { checkAnswer, type CheckedBytes, passedAnswer, readAnswer, readingOf, TURNS_BYTES } from "./read-answer.ts";
import type { ObjectsWatch } from "../objects/call-objects.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import type { AnswerFigures, AnswerFrame, NonStreamingAnswer } from "./non-streaming-answer.ts";
import type {
  AnswerBytes,
  AnswerQuestion,
  AnswerWithBody,
  PackedBody,
  ReadAnswer,
  WrittenBody,
} from "../long-bodies/written-answer.ts";
import type { PassedBytes } from "./passed-body.ts";
import { sealingAt } from "../carriers/vendor-reasoning.ts";
import { completedThere, passedBody } from "../native/passed-answer.ts";
import { parseBoundedJson } from "../../wire/json.ts";
import { yieldToLoop } from "../../core/event-loop.ts";
import type { GuardPolicy } from "../../core/policy.ts";

/** A long answer consists of the bytes of its body. */
export type Reply = NonStreamingAnswer | (ReadAnswer & WrittenBody);

const ATTEMPTING = { isEmpty: (answer: AnswerFigures): boolean => answer.isEmpty, discard: () => {} };

export function nonStreaming(call: Call): AttemptWork<Reply> {
  return { ...ATTEMPTING, run: (attempt) => tryWhole(attempt, call) };
}

/** Makes an answer whose value is needed: that of one of several rounds, or one that has another form than the engine's. */
export function nonStreamingValue(call: Call): AttemptWork<AnswerValue> {
  return { ...ATTEMPTING, run: (attempt) => tryValue(attempt, call) };
}

export interface AnswerValue extends NonStreamingAnswer {
  /** The body that this one becomes, or becomes a part of, is written in several turns of the event loop. */
  readonly isLong: boolean;
}

/** Makes one attempt at a non-streaming answer. Rejects with GatewayError. */
function tryWhole(attempt: OpenAttempt, call: Call): Promise<Reply> {
  return tryAnswer(attempt, call, false).then(replyOf);
}

function replyOf(made: Made): Reply {
  if (!made.isThere) return made.answer;
  const { body, ...answer } = made.answer;
  return { ...answer, ...(body as WrittenBody) };
}

/** Makes one attempt at an answer whose value is needed. Throws GatewayError. */
async function tryValue(attempt: OpenAttempt, call: Call): Promise<AnswerValue> {
  const made = await tryAnswer(attempt, call, true);
  if (!made.isThere) return { ...made.answer, isLong: made.isLong };
  const { body, ...answer } = made.answer;
  return { ...answer, body: (await unpackJson((body as PackedBody).packed)) as JsonObject, isLong: true };
}

/** An answer, and whether the thread of long bodies has read it and written its body. */
type Made =
  | {
      readonly isThere: false;
      readonly answer: NonStreamingAnswer;
      /** Other calls get their turns between the steps of the work on this answer. */
      readonly isLong: boolean;
    }
  | { readonly isThere: true; readonly answer: AnswerWithBody };

async function tryAnswer(attempt: OpenAttempt, call: Call, asValue: boolean): Promise<Made> {
  const sent = sendRequests(attempt, call);
  if (sent.length > 1) return tryAnswers(sent, attempt, call, asValue);
  const open = await sent[0]!;
  try {
    const arriving = answerBytes(open, attempt, call);
    const bytes = isPending(arriving) ? await arriving : arriving;
    const { length } = bytes;
    if (attempt.objects !== null) await boundAnswer(bytes, attempt.objects, call);
    if (attempt.fitted.native !== undefined) return await madeNative(bytes, open, attempt, call);
    if (isReadThere(length, call)) return await madeThere([{ bytes, decode: open.decode }], attempt, call, asValue);
    const reading = readAnswer(bytes, open, attempt.resolved, call);
    const answer = isPending(reading) ? await reading : reading;
    const made = madeHere([answer], length, attempt, call, asValue);
    return isPending(made) ? await made : made;
  } catch (thrown) {
    throw closed(open, thrown, attempt, call);
  }
}

/** Binds what the answer hands out before the client can use it. */
async function boundAnswer(bytes: Uint8Array, objects: ObjectsWatch, call: Call): Promise<void> {
  objects.saw(decodeUtf8(bytes));
  await call.objects.save();
}

/** Makes the answer of a target that speaks the operation: it is read for its figures, and its text is passed on. */
async function madeNative(bytes: Uint8Array, open: OpenAnswer, attempt: OpenAttempt, call: Call): Promise<Made> {
  if (isReadThere(bytes.length, call)) return madeNativeThere({ bytes, decode: open.decode }, attempt, call);
  const isLong = bytes.length >= TURNS_BYTES;
  if (isLong) await yieldToLoop();
  const { answer, passed } = passedAnswer(bytes, open, attempt.resolved);
  if (isLong) await yieldToLoop();
  const made = await madeHere([answer], bytes.length, attempt, call, true);
  return made.isThere ? made : { ...made, answer: { ...made.answer, passed } };
}

/** Makes the thread of long bodies read such an answer. */
async function madeNativeThere(answer: AnswerBytes, attempt: OpenAttempt, call: Call): Promise<Made> {
  const tenantId = call.record.tenantId ?? "";
  const { passed, ...read } = await call.context.longAnswers!.pass(questionOf([answer], attempt, call, true), tenantId);
  noteMade(read, read.model, attempt, call);
  // the value of the answer is in the other thread alone
  return { isThere: false, isLong: true, answer: { ...read, body: {}, passed } };
}

/** Makes one answer of several upstream requests, each of which is read as it arrives. */
async function tryAnswers(
  sent: readonly Promise<OpenAnswer>[],
  attempt: OpenAttempt,
  call: Call,
  asValue: boolean,
): Promise<Made> {
  const open = await allOf(sent, attempt);
  const checked = await allChecked(open, attempt, call);
  const length = checked.reduce((sum, { bytes }) => sum + bytes.length, 0);
  try {
    if (isReadThere(length, call)) return await madeThere(checked, attempt, call, asValue);
    // answers that are short together were all read in this thread
    const answers = checked.map(({ answer }) => answer!);
    return await madeHere(answers, length, attempt, call, asValue);
  } catch (thrown) {
    throw closed(open[0]!, thrown, attempt, call);
  }
}

/** Whether answers of this many bytes together are so long that the thread of long bodies reads them. */
function isReadThere(length: number, { context: { longAnswers } }: Call): boolean {
  return longAnswers !== null && length >= LONG_BODY_BYTES;
}

function madeHere(
  answers: readonly ChatAnswer[],
  length: number,
  attempt: OpenAttempt,
  call: Call,
  asValue: boolean,
): MaybePromise<Made> {
  const { fitted, outputGuards } = attempt;
  const frame = frameOf(attempt, call, asValue);
  const answer = joinedAnswer(answers, frame, (generated) => estimatedUsage(promptTokens(fitted.request), generated));
  noteMade(answer, answers[0]!["model"], attempt, call);
  const made = { isThere: false, answer, isLong: length >= TURNS_BYTES } as const;
  return outputGuards.length === 0 ? made : underGuards(made, outputGuards, call);
}

async function underGuards(
  { answer, isLong }: Made & { readonly isThere: false },
  guards: readonly GuardPolicy[],
  call: Call,
): Promise<Made> {
  const shown = await guarded(answer, call, () => call.policies!.answered(answer, guards, isLong));
  if (isLong) await yieldToLoop();
  return { isThere: false, answer: shown, isLong };
}

/** Makes the thread of long bodies read the answers and write the body; the body of a round comes back as a value. */
async function madeThere(
  answers: readonly AnswerBytes[],
  attempt: OpenAttempt,
  call: Call,
  asValue: boolean,
): Promise<Made> {
  const { outputGuards } = attempt;
  const longAnswers = call.context.longAnswers!;
  const question = questionOf(answers, attempt, call, asValue);
  const tenantId = call.record.tenantId ?? "";
  if (outputGuards.length === 0) {
    const answer = await longAnswers.write(question, tenantId);
    noteMade(answer, answer.model, attempt, call);
    return { isThere: true, answer };
  }
  const answer = await longAnswers.gather(question, outputGuards, tenantId);
  try {
    noteMade(answer, answer.model, attempt, call);
  } catch (thrown) {
    answer.release();
    throw thrown;
  }
  const body = await guarded(answer, call, () => call.policies!.answeredThere(answer, outputGuards));
  return { isThere: true, answer: { ...answer, body } };
}

function questionOf(
  answers: readonly AnswerBytes[],
  attempt: OpenAttempt,
  call: Call,
  asValue: boolean,
): AnswerQuestion {
  const { fitted, resolved } = attempt;
  return {
    ...readingOf(resolved),
    answers: answers.map(({ bytes, decode }) => ({ bytes, decode })),
    frame: frameOf(attempt, call, asValue),
    promptTokens: promptTokens(fitted.request),
    asValue,
    keeps: call.content?.room ?? null,
  };
}

/**
 * The tool calls of a round take the deprecated form of functions only after those that the gateway runs were removed.
 */
function frameOf(attempt: OpenAttempt, call: Call, asValue: boolean): AnswerFrame {
  const frame = answerFrame(attempt, call);
  return asValue ? { ...frame, legacyFunctions: false } : frame;
}

/** Accepts the answers, which were read, and records the usage of the attempt and the model that answered, as the provider reports it. */
function noteMade(
  { parts, usageEstimated, isEmpty }: JoinedFigures,
  model: unknown,
  { resolved, requests, meter, bodies }: OpenAttempt,
  call: Call,
): void {
  for (const body of bodies) body.accept();
  const reported = reportedModel(model, resolved);
  for (const request of requests) request.answeredBy(reported);
  const isUsed = parts.length > 1 || !usageEstimated || !isEmpty;
  meter.readFrom((index) => (isUsed ? parts[index]! : null));
  // after the client has disconnected, the answer is read only for its usage
  call.signal.throwIfAborted();
}

/** Records the usage of an answer even if a guard blocks it, because it was generated. Throws `policy_violation`. */
async function guarded<T>(answer: AnswerFigures, call: Call, look: () => MaybePromise<T>): Promise<T> {
  try {
    return await look();
  } catch (thrown) {
    call.recorder.used(answer.usage, answer.usageEstimated);
    throw thrown;
  }
}

/**
 * Checks all answers. The first failure ends the other requests; the usage of the answers that were read before it is
 * known.
 */
async function allChecked(
  answers: readonly OpenAnswer[],
  attempt: OpenAttempt,
  call: Call,
): Promise<readonly CheckedBytes[]> {
  const usages = new Map<number, Usage | null>();
  attempt.meter.readFrom((index) => {
    const usage = usages.get(index) ?? null;
    return usage === null ? null : { usage, isEstimated: false };
  });
  const checked = async (open: OpenAnswer): Promise<CheckedBytes> => {
    try {
      const bytes = await answerBytes(open, attempt, call);
      if (attempt.objects !== null) await boundAnswer(bytes, attempt.objects, call);
      const read = await checkAnswer(bytes, open, attempt.resolved, call);
      usages.set(attempt.requests.indexOf(open.request), read.usage);
      return read;
    } catch (thrown) {
      throw closed(open, thrown, attempt, call);
    }
  };
  try {
    return await Promise.all(answers.map(checked));
  } catch (thrown) {
    for (const { response } of answers) response.body.cancel();
    attempt.lifetime.end(besideFailure());
    throw thrown;
  }
}

export function answerBytes({ response }: OpenAnswer, { lifetime }: OpenAttempt, call: Call): MaybePromise<Uint8Array> {
  return collectedBytes(response.body, call, lifetime.readsOn);
}

/** Closes an upstream request when the work on its answer fails. Returns the error with which the call fails. */
export function closed({ response, request }: OpenAnswer, thrown: unknown, attempt: OpenAttempt, call: Call): unknown {
  response.body.cancel();
  // after the client has disconnected, that is the reason for the end of the attempt, whatever became of its answer
  return closeRequest(request, call.signal.aborted ? call.signal.reason : thrown, attempt, call);
}

export function replyNonStreaming(
  answered: Answered<Reply | AnswerValue>,
  call: Call,
  form: AnswerForm,
): MaybePromise<Response> {
  recordNonStreaming(answered, call);
  const { answer, attempt } = answered;
  if (!answer.isEmpty) attempt.cached?.keep();
  const settled = (): void => attempt.settle("success");
  if ("passed" in answer && answer.passed !== undefined) {
    if ("bytes" in answer.passed) return sendPassedThere(answer.passed, attempt, call, form.native!, settled);
    call.content?.answered(answer.body);
    const isRepeated = attempt.cached?.isRepeated === true;
    const body = passedBody(answer.passed, form.native!, sealingAt(attempt, call), isRepeated);
    return sendBody(body, attempt, call, settled);
  }
  if ("isLong" in answer && answer.isLong) return sendLong(answer.body, attempt, call, form, settled);
  if (!("bytes" in answer)) return sendNonStreaming(answer.body, attempt, call, form, settled);
  if (answer.kept !== null) call.content?.answered(parseBoundedJson(answer.kept) as JsonObject);
  return sendBody(answer.bytes, attempt, call, settled);
}

/** Records what an answer says and used, and charges it. */
export function recordNonStreaming({ answer, attempt }: Answered<AnswerFigures>, call: Call): void {
  call.won(attempt);
  call.recorder.finished(answer);
  attempt.meter.charge({ usage: answer.usage, isEstimated: answer.usageEstimated });
  for (const request of attempt.requests) request.answered();
}

/** Sends a long answer in the form of the operation, which the thread of long bodies completes. */
async function sendPassedThere(
  passed: PassedBytes,
  attempt: OpenAttempt,
  call: Call,
  native: NativeAnswers,
  settle: () => void,
): Promise<Response> {
  const sealing = sealingAt(attempt, call);
  const { bytes, value } = await completedThere(passed, native, sealing, attempt.cached?.isRepeated === true, call);
  if (call.signal.aborted) {
    attempt.settle("cancelled");
    throw call.signal.reason;
  }
  if (passed.kept !== null) call.content?.answered(parseBoundedJson(passed.kept) as JsonObject);
  if (value !== null) native.keep?.(value, sealing);
  return sendBody(bytes, attempt, call, settle);
}

/** Sends a long answer, which is written in several turns of the event loop. */
export async function sendLong(
  answer: JsonObject,
  attempt: OpenAttempt,
  call: Call,
  form: AnswerForm,
  settle?: () => void,
): Promise<Response> {
  const bytes = await jsonInTurns(await inTurns(form.body(answer), call.context.clock));
  if (call.signal.aborted) {
    attempt.settle("cancelled");
    throw call.signal.reason;
  }
  call.content?.answered(answer);
  return sendBody(bytes, attempt, call, settle);
}

/** The head of the response names the target of `attempt`. */
export function sendNonStreaming(
  answer: JsonObject,
  attempt: OpenAttempt,
  call: Call,
  form: AnswerForm,
  settle?: () => void,
): Response {
  call.content?.answered(answer);
  return sendBody(JSON.stringify(inOneTurn(form.body(answer))), attempt, call, settle);
}

export function sendBody(
  body: string | Uint8Array,
  attempt: OpenAttempt,
  call: Call,
  settle: () => void = () => {},
): Response {
  const { record, recorder } = call;
  if (record.usageSource === "estimated") recorder.warned("usage_estimated");
  recorder.firstContent();
  recorder.succeeded();
  // the head reports what remains of the limits after this call is settled
  settle();
  call.meter.settle();
  const headers = {
    ...attempt.passedHeaders,
    ...answerHeaders(call, attempt.fitted, attempt.resolved.target, "application/json"),
  };
  if (call.showsCost && record.cost !== null) headers["x-gateway-cost-usd"] = usd(record.cost.nanoUsd);
  call.lifetime.publish();
  return new Response(answerBody(body), { headers });
}
