// A provider's whole answer -> the JSON answer of the client.
import { estimatedUsage, type TokenTally } from "../accounting/estimate.ts";
import { summedUsage } from "../accounting/summed-usage.ts";
import { promptTokens } from "./cost-estimate.ts";
import { usd } from "../accounting/price.ts";
import type { ChatAnswer, Usage } from "../core/chat.ts";
import type { JsonObject } from "../core/json.ts";
import { MalformedAnswer } from "../providers/provider.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import { allOf, besideFailure, closeRequest, type OpenAnswer, sendRequests, toldModel } from "./attempt.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "./call.ts";
import type { AttemptUsage } from "./attempt-meter.ts";
import type { Answered, AttemptWork, OpenAttempt } from "./run-attempt.ts";
import { mergedAnswer } from "./fan-out.ts";
import type { LongAnswers } from "./long-answers.ts";
import { LONG_BODY_BYTES } from "./long-body-thread.ts";
import { strictUsage } from "./strict-fields.ts";
import { type AnswerFigures, type AnswerFrame, wholeAnswer, type WholeAnswer } from "./whole-answer.ts";
import type { AnswerQuestion, WrittenAnswer } from "./written-answer.ts";
import { utf8Of } from "../wire/body-bytes.ts";
import { parseBoundedJson } from "../wire/json.ts";
import { nextTurn } from "../wire/turn.ts";

/** Of a long answer its bytes. */
export type Reply = WholeAnswer | WrittenAnswer;

const ATTEMPTING = { isEmpty: (answer: AnswerFigures): boolean => answer.isEmpty, discard: () => {} };

export function whole(call: Call): AttemptWork<Reply> {
  return { ...ATTEMPTING, run: (attempt) => tryWhole(attempt, call) };
}

/** One of several rounds, whose calls are told apart behind it. */
export function wholeRound(call: Call): AttemptWork<WholeAnswer> {
  return { ...ATTEMPTING, run: async (attempt) => madeHere(await opened(attempt, call), attempt, call, true) };
}

function opened(attempt: OpenAttempt, call: Call): Promise<readonly OpenAnswer[]> {
  return allOf(sendRequests(attempt, call), attempt);
}

/** One attempt at a plain answer. Throws GatewayError. */
async function tryWhole(attempt: OpenAttempt, call: Call): Promise<Reply> {
  const open = await opened(attempt, call);
  const { longAnswers } = call.context;
  // several answers are put together from their values
  if (longAnswers === null || open.length > 1) return madeHere(open, attempt, call);
  const bytes = await closing(open[0]!, attempt, call, () => answerBytes(open[0]!, attempt, call));
  return bytes.length < LONG_BODY_BYTES
    ? madeHere(open, attempt, call, false, bytes)
    : writtenThere(open[0]!, bytes, longAnswers, attempt, call);
}

/** `bytes`: of the only answer, where they were read. */
async function madeHere(
  open: readonly OpenAnswer[],
  attempt: OpenAttempt,
  call: Call,
  isRound = false,
  bytes?: Uint8Array,
): Promise<WholeAnswer> {
  const { fitted, resolved, route } = attempt;
  const read =
    open.length === 1 ? [await decoded(open[0]!, attempt, call, bytes)] : await allDecoded(open, attempt, call);
  const answers = read.map(({ answer }) => answer);
  const isLong = read.some((one) => one.isLong);
  try {
    const frame = answerFrame(call, fitted, resolved, route);
    const writing: Writing = {
      frame: isRound ? { ...frame, legacyFunctions: false } : frame,
      estimate: (generated) => estimatedUsage(promptTokens(fitted.request), generated),
    };
    const made =
      answers.length === 1
        ? wholeAnswer(answers[0]!, writing.frame, writing.estimate)
        : mergedWhole(answers, writing, attempt);
    noteMade(made, answers[0]!["model"], attempt, call);
    const { outputGuards } = attempt;
    if (outputGuards.length === 0) return made;
    const shown = await guarded(made, call, () => call.policies!.answered(made, outputGuards, isLong));
    if (isLong) await nextTurn();
    return shown;
  } catch (thrown) {
    throw closeRequest(open[0]!.request, thrown, attempt, call);
  }
}

interface Writing {
  readonly frame: AnswerFrame;
  /** Of one answer that came without figures. */
  readonly estimate: (generated: TokenTally) => Usage;
}

/** Several answers as one, each with its own usage: what one of them did not tell is estimated for it alone. */
function mergedWhole(
  answers: readonly ChatAnswer[],
  { frame, estimate }: Writing,
  { meter }: OpenAttempt,
): WholeAnswer {
  const parts = answers.map((answer) => usedBy(wholeAnswer(answer, frame, estimate)));
  meter.readFrom((index) => parts[index]!);
  const merged = { ...mergedAnswer(answers), usage: summedUsage(parts.map(({ usage }) => usage)) };
  return { ...wholeAnswer(merged, frame, estimate), usageEstimated: parts.some(({ isEstimated }) => isEstimated) };
}

function usedBy({ usage, usageEstimated }: AnswerFigures): AttemptUsage {
  return { usage, isEstimated: usageEstimated };
}

/** A long answer, read and written in the thread of long bodies. */
function writtenThere(
  open: OpenAnswer,
  bytes: Uint8Array,
  longAnswers: LongAnswers,
  attempt: OpenAttempt,
  call: Call,
): Promise<WrittenAnswer> {
  const { fitted, resolved, route, outputGuards } = attempt;
  return closing(open, attempt, call, async () => {
    const question: AnswerQuestion = {
      bytes,
      family: resolved.target.family,
      decode: open.decode,
      credential: resolved.target.credential,
      frame: answerFrame(call, fitted, resolved, route),
      promptTokens: promptTokens(fitted.request),
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
    return { ...made, ...(await guarded(made, call, () => call.policies!.answeredThere(made, outputGuards))) };
  });
}

/** What the attempt has used, and the model that the provider says has answered. */
function noteMade(made: AnswerFigures, model: unknown, { resolved, requests, meter }: OpenAttempt, call: Call): void {
  const told = toldModel(model, resolved);
  for (const request of requests) request.answeredBy(told);
  if (requests.length === 1) {
    const used = !made.usageEstimated || !made.isEmpty ? usedBy(made) : null;
    meter.readFrom(() => used);
  }
  // its client has left, and it was read on for what it used
  call.signal.throwIfAborted();
}

/** What is not told was made all the same. Throws `policy_violation`. */
async function guarded<T>(answer: AnswerFigures, call: Call, look: () => T | Promise<T>): Promise<T> {
  try {
    return await look();
  } catch (thrown) {
    call.recorder.used(answer.usage, answer.usageEstimated);
    throw thrown;
  }
}

/** The first failure ends the others; what those had used that were there is known by then. */
async function allDecoded(
  answers: readonly OpenAnswer[],
  attempt: OpenAttempt,
  call: Call,
): Promise<readonly DecodedAnswer[]> {
  const told = new Map<number, Usage | null>();
  attempt.meter.readFrom((index) => {
    const usage = told.get(index) ?? null;
    return usage === null ? null : { usage, isEstimated: false };
  });
  const noted = async (open: OpenAnswer): Promise<DecodedAnswer> => {
    const read = await decoded(open, attempt, call);
    told.set(attempt.requests.indexOf(open.request), strictUsage(read.answer.usage));
    return read;
  };
  try {
    return await Promise.all(answers.map(noted));
  } catch (thrown) {
    for (const { response } of answers) response.body.cancel();
    attempt.lifetime.end(besideFailure());
    throw thrown;
  }
}

interface DecodedAnswer {
  readonly answer: ChatAnswer;
  /** What is done with it takes some milliseconds, and others have their turns between. */
  readonly isLong: boolean;
}
/** Characters of JSON: as many can hold some ten thousand values. */
const LONG_ANSWER = 65_536;

/** `bytes`: what it says, where that was read. */
function decoded(open: OpenAnswer, attempt: OpenAttempt, call: Call, bytes?: Uint8Array): Promise<DecodedAnswer> {
  const { provider, target } = attempt.resolved;
  return closing(open, attempt, call, async () => {
    const text = utf8Of(bytes ?? (await answerBytes(open, attempt, call)));
    // to make text of megabytes, to read it and to write it are a turn each
    const isLong = text.length >= LONG_ANSWER;
    if (isLong) await nextTurn();
    const answer = provider.decodeResponse(answerWithoutKeys(text, target.credential), open.decode);
    if (isLong) await nextTurn();
    // beside others it would be missing in silence
    if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
    return { answer, isLong };
  });
}

function answerBytes({ response }: OpenAnswer, { lifetime }: OpenAttempt, call: Call): Promise<Uint8Array> {
  return call.clock.waiting(response.body.bytes(call.snapshot.limits.maxAnswerBytes, lifetime.readsOn));
}

/** Closes the attempt where the work on its answer fails. */
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
    // whatever became of an answer that was read on, its client has left
    throw closeRequest(request, call.signal.aborted ? call.signal.reason : thrown, attempt, call);
  }
}

export function replyWhole(answered: Answered<Reply>, call: Call): Response {
  noteWhole(answered, call);
  const { answer, attempt } = answered;
  const settled = (): void => attempt.settle("success");
  if (!("bytes" in answer)) return sendWhole(answer.body, attempt, call, settled);
  if (answer.kept !== null) call.content?.answered(parseBoundedJson(answer.kept) as JsonObject);
  return sendBody(answer.bytes, attempt, call, settled);
}

/** Notes in the record what an answer says and used, and charges it. */
export function noteWhole({ answer, attempt }: Answered<AnswerFigures>, call: Call): void {
  call.won(attempt);
  call.recorder.finished(answer);
  call.recorder.used(answer.usage, answer.usageEstimated);
  attempt.meter.charge(answer);
  for (const request of attempt.requests) request.answered();
}

/** `attempt`: what the head of the answer names. */
export function sendWhole(answer: JsonObject, attempt: OpenAttempt, call: Call, settle?: () => void): Response {
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
  // the head says what is left once this call is settled
  settle();
  call.lifetime.settleLimits();
  const headers = answerHeaders(call, attempt.fitted, attempt.resolved.target, "application/json");
  if (call.showsCost && record.cost !== null) headers["x-gateway-cost-usd"] = usd(record.cost.nanoUsd);
  call.lifetime.publish();
  return new Response(body, { headers });
}
