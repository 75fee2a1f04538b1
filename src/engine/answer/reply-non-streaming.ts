// Turns a provider's non-streaming answer into the JSON answer of the client.
import { estimatedUsage } from "../../accounting/estimate.ts";
import { promptTokens } from "../metering/attempt-estimate.ts";
import { usd } from "../../accounting/price.ts";
import type { ChatAnswer } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import { isPending, type MaybePromise } from "../../core/maybe-promise.ts";
import {
  closeRequest,
  type OpenAnswer,
  sendRequests,
  reportedModel,
  collectedBytes,
} from "../attempt/upstream-requests.ts";
import type { AnswerForm, NativeAnswers } from "../answer-form.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "../call/call.ts";
import type { AttemptUsage } from "../call/call-recorder.ts";
import type { Answered, AttemptWork, OpenAttempt } from "../attempt/run-attempt.ts";
import { inOneTurn, inTurns } from "../../core/concurrency/steps.ts";
import { jsonInTurns, textInTurns } from "../long-bodies/written-in-turns.ts";
import { readAnswer, requireChoices } from "./read-answer.ts";
import type { ObjectsWatch } from "../objects/call-objects.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import {
  type AnswerFigures,
  type NonStreamingAnswer,
  type PassedText,
  joinedAnswer,
  type JoinedFigures,
} from "./non-streaming-answer.ts";
import { sealingAt, type Sealing } from "../carriers/vendor-reasoning.ts";
import { strictUsage } from "../../providers/answers/strict-usage.ts";
import { TURNS_BYTES, yieldToLoop } from "../../core/concurrency/event-loop.ts";
import type { GuardPolicy } from "../../core/configured/policy.ts";
import { withEdits } from "../../core/request/json-edit.ts";
import { editedJson } from "../../wire/json/json-edit.ts";
import { searchedAnswer } from "../guards/guard-answer.ts";

/** Other calls get their turns between the steps of the work on a long answer. */
export interface WholeAnswer extends NonStreamingAnswer {
  readonly isLong: boolean;
}

/** `isRound`: the answer is one of several rounds of tools. */
export function nonStreaming(call: Call, isRound = false): AttemptWork<WholeAnswer> {
  return { run: (attempt) => tryAnswer(attempt, call, isRound), isEmpty: ({ isEmpty }) => isEmpty, discard: () => {} };
}

/** Makes one attempt at a non-streaming answer. Rejects with GatewayError. */
async function tryAnswer(attempt: OpenAttempt, call: Call, isRound: boolean): Promise<WholeAnswer> {
  const sent = sendRequests(attempt, call);
  if (sent.length > 1) return tryAnswers(sent, attempt, call, isRound);
  const open = await sent[0]!;
  try {
    const arriving = answerBytes(open, attempt, call);
    const bytes = isPending(arriving) ? await arriving : arriving;
    if (attempt.objects !== null) await boundAnswer(bytes, attempt.objects, call);
    const reading = readAnswer(bytes, open, attempt.resolved);
    const { answer, passed } = isPending(reading) ? await reading : reading;
    // what the provider counted is charged, also where the answer cannot be used
    attempt.meter.readFrom(() => toldUsage(answer));
    requireChoices(answer, attempt.fitted.request);
    const making = madeOf([answer], bytes.length, attempt, call, isRound);
    const made = isPending(making) ? await making : making;
    return passed === undefined ? made : { ...made, passed };
  } catch (thrown) {
    throw closed(open, thrown, attempt, call);
  }
}

/** Binds what the answer hands out before the client can use it. */
async function boundAnswer(bytes: Uint8Array, objects: ObjectsWatch, call: Call): Promise<void> {
  objects.saw(decodeUtf8(bytes));
  await call.objects.save();
}

/** Makes one answer of several upstream requests, each of which is read as it arrives. */
async function tryAnswers(
  sent: readonly Promise<OpenAnswer>[],
  attempt: OpenAttempt,
  call: Call,
  isRound: boolean,
): Promise<WholeAnswer> {
  const { answers, length } = await allRead(sent, attempt, call);
  try {
    return await madeOf(answers, length, attempt, call, isRound);
  } catch (thrown) {
    throw closed(await sent[0]!, thrown, attempt, call);
  }
}

/** `length` is that of the provider's bodies together. */
function madeOf(
  answers: readonly ChatAnswer[],
  length: number,
  attempt: OpenAttempt,
  call: Call,
  isRound: boolean,
): MaybePromise<WholeAnswer> {
  const { fitted, outputGuards } = attempt;
  const frame = answerFrame(attempt, call, isRound);
  const joined = joinedAnswer(answers, frame, (generated) => estimatedUsage(promptTokens(fitted.request), generated));
  noteMade(joined, answers[0]!["model"], attempt, call);
  const answer = { ...joined, isLong: length >= TURNS_BYTES };
  return outputGuards.length === 0 ? answer : underGuards(answer, outputGuards, call);
}

/** Records the usage of an answer even if a guard blocks it, because it was generated. Rejects with `policy_violation`. */
async function underGuards(answer: WholeAnswer, guards: readonly GuardPolicy[], call: Call): Promise<WholeAnswer> {
  const { isLong } = answer;
  try {
    const searched = searchedAnswer(answer, guards, isLong);
    if (isLong) await yieldToLoop();
    const shown = await call.policies!.answers.apply(searched, guards);
    if (isLong) await yieldToLoop();
    return { ...shown, isLong };
  } catch (thrown) {
    call.recorder.used(answer.usage, answer.usageEstimated);
    throw thrown;
  }
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

/** Reads all answers. When one request fails, the usage of those whose answers were read before it is known. */
async function allRead(
  sent: readonly Promise<OpenAnswer>[],
  attempt: OpenAttempt,
  call: Call,
): Promise<{ readonly answers: readonly ChatAnswer[]; readonly length: number }> {
  const usages = new Map<number, AttemptUsage | null>();
  attempt.meter.readFrom((index) => usages.get(index) ?? null);
  let length = 0;
  const read = async (opening: Promise<OpenAnswer>): Promise<ChatAnswer> => {
    const one = await opening;
    try {
      const bytes = await answerBytes(one, attempt, call);
      if (attempt.objects !== null) await boundAnswer(bytes, attempt.objects, call);
      const { answer } = await readAnswer(bytes, one, attempt.resolved);
      length += bytes.length;
      usages.set(attempt.requests.indexOf(one.request), toldUsage(answer));
      requireChoices(answer, attempt.fitted.request, sent.length);
      return answer;
    } catch (thrown) {
      throw closed(one, thrown, attempt, call);
    }
  };
  const answers = await Promise.all(sent.map(read));
  return { answers, length };
}

function toldUsage({ usage, service_tier: tier }: ChatAnswer): AttemptUsage | null {
  const told = strictUsage(usage, tier);
  return told === null ? null : { usage: told, isEstimated: false };
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
  answered: Answered<WholeAnswer>,
  call: Call,
  form: AnswerForm,
): MaybePromise<Response> {
  recordNonStreaming(answered, call);
  const saving = call.objects.save();
  return saving === null ? sendWhole(answered, call, form) : sendSaved(saving, answered, call, form);
}

/** Sends the answer once what the vendor stores of it is bound. */
async function sendSaved(
  saving: Promise<unknown>,
  answered: Answered<WholeAnswer>,
  call: Call,
  form: AnswerForm,
): Promise<Response> {
  await saving;
  call.signal.throwIfAborted();
  return sendWhole(answered, call, form);
}

function sendWhole({ answer, attempt }: Answered<WholeAnswer>, call: Call, form: AnswerForm): MaybePromise<Response> {
  if (!answer.isEmpty) attempt.cached?.keep(answer.finishReasons, attempt.objects?.hasHandedOut);
  const settle = (): void => attempt.settle("success");
  if (answer.passed !== undefined) return sendPassed(answer, answer.passed, attempt, call, form.native!, settle);
  return (answer.isLong ? sendLong : sendNonStreaming)(answer.body, attempt, call, form, settle);
}

/** What is recorded of an answer. */
export type RecordedFigures = Omit<AnswerFigures, "isEmpty">;

/** Records what an answer says and used, and charges it. */
export function recordNonStreaming({ answer, attempt }: Answered<RecordedFigures>, call: Call): void {
  call.won(attempt);
  call.recorder.finished(answer);
  attempt.meter.charge({ usage: answer.usage, isEstimated: answer.usageEstimated });
  for (const request of attempt.requests) request.answered();
}

/** Sends the answer of a target that speaks the operation: its own text, as the form of the operation completes it. */
function sendPassed(
  { body, isLong }: WholeAnswer,
  passed: PassedText,
  attempt: OpenAttempt,
  call: Call,
  native: NativeAnswers,
  settle: () => void,
): MaybePromise<Response> {
  const text = passedBody(passed, native, sealingAt(attempt, call), attempt.cached?.isRepeated === true);
  if (isLong) return sendInTurns(body, textInTurns(text), attempt, call, settle);
  call.content?.answered(body);
  return sendBody(text, attempt, call, settle);
}

/** Sends a long answer, which is written in several turns of the event loop. */
export async function sendLong(
  answer: JsonObject,
  attempt: OpenAttempt,
  call: Call,
  form: AnswerForm,
  settle?: () => void,
): Promise<Response> {
  const body = await inTurns(form.body(answer, attempt.fitted.request), call.context.clock);
  return sendInTurns(answer, jsonInTurns(body), attempt, call, settle);
}

/** `answer` is what the project keeps of the call, if anything; `writing` is the body that the client gets. */
export async function sendInTurns(
  answer: JsonObject | null,
  writing: Promise<string | Uint8Array>,
  attempt: OpenAttempt,
  call: Call,
  settle?: () => void,
): Promise<Response> {
  const body = await writing;
  call.signal.throwIfAborted();
  if (answer !== null) call.content?.answered(answer);
  return sendBody(body, attempt, call, settle);
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
  return sendBody(JSON.stringify(inOneTurn(form.body(answer, attempt.fitted.request))), attempt, call, settle);
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

/** Bun copies a body as soon as it is part of a response: 8 MiB take some 5 ms. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const PIECE_BYTES = 1024 * 1024;

/**
 * Returns a long body as a stream of pieces, each of which is copied in a turn of its own, and every other as it is. The
 * length of a stream is not in the head of the response: it is sent in chunks.
 */
export function answerBody(body: string | Uint8Array): string | Uint8Array | ReadableStream<Uint8Array> {
  return typeof body === "string" || body.length <= WHOLE_BYTES ? body : inPieces(body);
}

function inPieces(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (sent > 0) await yieldToLoop();
        if (sent >= bytes.length) return controller.close();
        controller.enqueue(bytes.subarray(sent, sent + PIECE_BYTES));
        sent += PIECE_BYTES;
      },
    },
    { highWaterMark: 0 },
  );
}

/** Returns the text of a native answer as the form of the operation completes it. */
function passedBody(
  { text, value: sent }: PassedText,
  { edits: editsOf, hidden, keep }: NativeAnswers,
  sealing: Sealing,
  isRepeated: boolean,
): string {
  const edits = editsOf(sent, isRepeated);
  keep?.(withEdits(sent, edits), sealing);
  return editedJson(text, sealing.hides ? [...edits, ...(hidden?.(sent) ?? [])] : edits);
}
