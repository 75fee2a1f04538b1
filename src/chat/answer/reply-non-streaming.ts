// Turns a provider's non-streaming answer into the JSON answer of the client.
import { estimatedUsage } from "../../accounting/estimate.ts";
import { promptTokens } from "../metering/attempt-estimate.ts";
import { usd } from "../../accounting/price.ts";
import type { ChatAnswer, Usage } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import {
  allOf,
  besideFailure,
  closeRequest,
  type OpenAnswer,
  sendRequests,
  reportedModel,
} from "../attempt/upstream-requests.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "../call/call.ts";
import type { Answered, AttemptWork, OpenAttempt } from "../attempt/run-attempt.ts";
import { joinedAnswer, type JoinedFigures } from "./joined-answer.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import { jsonInTurns, unpackJson } from "../long-bodies/long-texts.ts";
import { checkAnswer, type CheckedBytes, readAnswer, TURNS_BYTES } from "./read-answer.ts";
import type { AnswerFigures, AnswerFrame, NonStreamingAnswer } from "./non-streaming-answer.ts";
import type {
  AnswerBytes,
  AnswerQuestion,
  AnswerWithBody,
  PackedBody,
  ReadAnswer,
  WrittenBody,
} from "../long-bodies/written-answer.ts";
import { parseBoundedJson } from "../../wire/json.ts";
import { yieldToLoop } from "../../core/event-loop.ts";

/** A long answer consists of the bytes of its body. */
export type Reply = NonStreamingAnswer | (ReadAnswer & WrittenBody);

const ATTEMPTING = { isEmpty: (answer: AnswerFigures): boolean => answer.isEmpty, discard: () => {} };

export function nonStreaming(call: Call): AttemptWork<Reply> {
  return { ...ATTEMPTING, run: (attempt) => tryWhole(attempt, call) };
}

/** Makes the answer of one of several rounds; the caller decides which of its tool calls the gateway runs. */
export function nonStreamingRound(call: Call): AttemptWork<RoundAnswer> {
  return { ...ATTEMPTING, run: (attempt) => tryRound(attempt, call) };
}

export interface RoundAnswer extends NonStreamingAnswer {
  /** The multi-round answer that this one becomes a part of is written in several turns of the event loop. */
  readonly isLong: boolean;
}

/** Makes one attempt at a non-streaming answer. Throws GatewayError. */
async function tryWhole(attempt: OpenAttempt, call: Call): Promise<Reply> {
  const read = await readAnswers(attempt, call);
  if (!read.isThere) return madeHere(read, attempt, call);
  const { body, ...made } = await madeThere(read, attempt, call);
  return { ...made, ...(body as WrittenBody) };
}

/** Makes one attempt at a round, whose value the rounds that follow need. Throws GatewayError. */
async function tryRound(attempt: OpenAttempt, call: Call): Promise<RoundAnswer> {
  const read = await readAnswers(attempt, call, true);
  if (!read.isThere) return { ...(await madeHere(read, attempt, call)), isLong: read.isLong };
  const { body, ...made } = await madeThere(read, attempt, call);
  return { ...made, body: (await unpackJson((body as PackedBody).packed)) as JsonObject, isLong: true };
}

interface AnswersRead {
  readonly open: readonly OpenAnswer[];
  readonly answers: readonly AnswerBytes[];
  readonly isRound: boolean;
  /** Other calls get their turns between the steps of the work on these answers. */
  readonly isLong: boolean;
  /** Together the answers are so long that the thread of long bodies reads them and writes the body. */
  readonly isThere: boolean;
  /** The values of the answers when all of them were read in the serving thread; `null` otherwise. */
  readonly values: readonly ChatAnswer[] | null;
}

/** Receives one answer, or several, each of which is read as it arrives. Throws GatewayError. */
async function readAnswers(attempt: OpenAttempt, call: Call, isRound = false): Promise<AnswersRead> {
  const open = await allOf(sendRequests(attempt, call), attempt);
  const single = async (): Promise<readonly CheckedBytes[]> => {
    const bytes = await closing(open[0]!, attempt, call, () => answerBytes(open[0]!, attempt, call));
    return [{ bytes, decode: open[0]!.decode, answer: null, usage: null }];
  };
  const answers = open.length === 1 ? await single() : await allChecked(open, attempt, call);
  const length = answers.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const values = answers.flatMap(({ answer }) => (answer === null ? [] : [answer]));
  return {
    open,
    answers,
    isRound,
    isLong: length >= TURNS_BYTES,
    isThere: call.context.longAnswers !== null && length >= LONG_BODY_BYTES,
    values: values.length === answers.length ? values : null,
  };
}

async function madeHere(
  { open, answers: [first], isRound, isLong, values }: AnswersRead,
  attempt: OpenAttempt,
  call: Call,
): Promise<NonStreamingAnswer> {
  const { fitted, resolved, route, outputGuards } = attempt;
  return closing(open[0]!, attempt, call, async () => {
    const answers = values ?? [await readAnswer(first!.bytes, first!, resolved, call)];
    const frame = frameOf(answerFrame(call, fitted, resolved, route), isRound);
    const made = joinedAnswer(answers, frame, (generated) => estimatedUsage(promptTokens(fitted.request), generated));
    noteMade(made, answers[0]!["model"], attempt, call);
    if (outputGuards.length === 0) return made;
    const shown = await guarded(made, call, () => call.policies!.answered(made, outputGuards, isLong));
    if (isLong) await yieldToLoop();
    return shown;
  });
}

/** Makes the thread of long bodies read the answers and write the body; the body of a round comes back as a value. */
async function madeThere(
  { open, answers, isRound }: AnswersRead,
  attempt: OpenAttempt,
  call: Call,
): Promise<AnswerWithBody> {
  const { fitted, resolved, route, outputGuards } = attempt;
  const longAnswers = call.context.longAnswers!;
  return closing(open[0]!, attempt, call, async () => {
    const question: AnswerQuestion = {
      answers: answers.map(({ bytes, decode }) => ({ bytes, decode })),
      family: resolved.target.family,
      credential: resolved.target.credential,
      frame: frameOf(answerFrame(call, fitted, resolved, route), isRound),
      promptTokens: promptTokens(fitted.request),
      asValue: isRound,
      keeps: call.content?.room ?? null,
    };
    const tenantId = call.record.tenantId ?? "";
    if (outputGuards.length === 0) {
      const made = await longAnswers.write(question, tenantId);
      noteMade(made, made.model, attempt, call);
      return made;
    }
    const made = await longAnswers.gather(question, outputGuards, tenantId);
    try {
      noteMade(made, made.model, attempt, call);
    } catch (thrown) {
      made.release();
      throw thrown;
    }
    return { ...made, body: await guarded(made, call, () => call.policies!.answeredThere(made, outputGuards)) };
  });
}

/**
 * The tool calls of a round take the deprecated form of functions only after those that the gateway runs were removed.
 */
function frameOf(frame: AnswerFrame, isRound: boolean): AnswerFrame {
  return isRound ? { ...frame, legacyFunctions: false } : frame;
}

/** Records the usage of the attempt and the model that answered, as the provider reports it. */
function noteMade(
  { parts, usageEstimated, isEmpty }: JoinedFigures,
  model: unknown,
  { resolved, requests, meter }: OpenAttempt,
  call: Call,
): void {
  const reported = reportedModel(model, resolved);
  for (const request of requests) request.answeredBy(reported);
  const isUsed = parts.length > 1 || !usageEstimated || !isEmpty;
  meter.readFrom((index) => (isUsed ? parts[index]! : null));
  // after the client has disconnected, the answer is read only for its usage
  call.signal.throwIfAborted();
}

/** Records the usage of an answer even if a guard blocks it, because it was generated. Throws `policy_violation`. */
async function guarded<T>(answer: AnswerFigures, call: Call, look: () => T | Promise<T>): Promise<T> {
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
  const checked = (open: OpenAnswer): Promise<CheckedBytes> =>
    closing(open, attempt, call, async () => {
      const read = await checkAnswer(await answerBytes(open, attempt, call), open, attempt.resolved, call);
      usages.set(attempt.requests.indexOf(open.request), read.usage);
      return read;
    });
  try {
    return await Promise.all(answers.map(checked));
  } catch (thrown) {
    for (const { response } of answers) response.body.cancel();
    attempt.lifetime.end(besideFailure());
    throw thrown;
  }
}

function answerBytes({ response }: OpenAnswer, { lifetime }: OpenAttempt, call: Call): Promise<Uint8Array> {
  return call.clock.waiting(response.body.bytes(call.snapshot.limits.maxAnswerBytes, lifetime.readsOn));
}

/** Closes the attempt when the work on its answer fails. */
async function closing<T>(
  { response, request }: OpenAnswer,
  attempt: OpenAttempt,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    response.body.cancel();
    // after the client has disconnected, that is the reason for the end of the attempt, whatever became of its answer
    throw closeRequest(request, call.signal.aborted ? call.signal.reason : thrown, attempt, call);
  }
}

export function replyNonStreaming(answered: Answered<Reply>, call: Call): Response {
  recordNonStreaming(answered, call);
  const { answer, attempt } = answered;
  const settled = (): void => attempt.settle("success");
  if (!("bytes" in answer)) return sendNonStreaming(answer.body, attempt, call, settled);
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

/** Sends a long answer, which is written in several turns of the event loop. */
export async function sendLong(answer: JsonObject, attempt: OpenAttempt, call: Call): Promise<Response> {
  const bytes = await jsonInTurns(answer);
  call.signal.throwIfAborted();
  call.content?.answered(answer);
  return sendBody(bytes, attempt, call);
}

/** The head of the response names the target of `attempt`. */
export function sendNonStreaming(answer: JsonObject, attempt: OpenAttempt, call: Call, settle?: () => void): Response {
  call.content?.answered(answer);
  return sendBody(JSON.stringify(answer), attempt, call, settle);
}

function sendBody(
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
  const headers = answerHeaders(call, attempt.fitted, attempt.resolved.target, "application/json");
  if (call.showsCost && record.cost !== null) headers["x-gateway-cost-usd"] = usd(record.cost.nanoUsd);
  call.lifetime.publish();
  return new Response(body, { headers });
}
