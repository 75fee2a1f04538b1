// A provider's whole answer -> the JSON answer of the client.
import { estimatedUsage } from "../accounting/estimate.ts";
import { conversationTokens } from "./cost-estimate.ts";
import { usd } from "../accounting/price.ts";
import type { ChatAnswer } from "../core/chat.ts";
import type { JsonObject } from "../core/json.ts";
import { MalformedAnswer } from "../providers/provider.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import { allOf, attempts, closeAttempt, type OpenAnswer, toldModel } from "./attempt.ts";
import { answerFrame, answerHeaders } from "./answer-frame.ts";
import type { Call } from "./call.ts";
import { chargeAttempt } from "./attempt-usage.ts";
import type { Attempting, Tried, Won } from "./complete.ts";
import { mergedAnswer } from "./fan-out.ts";
import type { LongAnswers } from "./long-answers.ts";
import { LONG_BODY_BYTES } from "./long-body-thread.ts";
import { strictUsage } from "./strict-fields.ts";
import { type AnswerFigures, wholeAnswer, type WholeAnswer } from "./whole-answer.ts";
import type { AnswerQuestion, WrittenAnswer } from "./written-answer.ts";
import { utf8Of } from "../wire/body-bytes.ts";
import { nextTurn } from "../wire/turn.ts";

/** Of a long answer its bytes. */
export type Reply = WholeAnswer | WrittenAnswer;

const ATTEMPTING = { isEmpty: (answer: AnswerFigures): boolean => answer.isEmpty, discard: () => {} };

export function whole(call: Call): Attempting<Reply> {
  return { ...ATTEMPTING, run: (tried) => tryWhole(tried, call) };
}

/** One of several rounds, whose calls are told apart behind it. */
export function wholeRound(call: Call): Attempting<WholeAnswer> {
  return { ...ATTEMPTING, run: async (tried) => madeHere(await opened(tried, call), tried, call, true) };
}

function opened({ fitted, resolved, scope }: Tried, call: Call): Promise<readonly OpenAnswer[]> {
  return allOf(attempts(fitted.request, resolved, call, scope), scope);
}

/** One attempt at a plain answer. Throws GatewayError. */
async function tryWhole(tried: Tried, call: Call): Promise<Reply> {
  const open = await opened(tried, call);
  const { longAnswers } = call.context;
  // several answers are put together, guards look at the value, and what is kept is made of it
  if (longAnswers === null || open.length > 1 || tried.outputGuards.length > 0 || call.content !== null)
    return madeHere(open, tried, call);
  const bytes = await closing(open[0]!, tried, call, () => answerBytes(open[0]!, tried, call));
  return bytes.length < LONG_BODY_BYTES
    ? madeHere(open, tried, call, false, bytes)
    : writtenThere(open[0]!, bytes, longAnswers, tried, call);
}

/** `bytes`: of the only answer, where they were read. */
async function madeHere(
  open: readonly OpenAnswer[],
  tried: Tried,
  call: Call,
  isRound = false,
  bytes?: Uint8Array,
): Promise<WholeAnswer> {
  const { fitted, resolved, route, scope } = tried;
  const answers =
    open.length === 1 ? [await decoded(open[0]!, tried, call, bytes)] : await allDecoded(open, tried, call);
  scope.reported = (index) => strictUsage(answers[index]?.usage);
  try {
    const frame = answerFrame(call, fitted, resolved, route);
    const made = wholeAnswer(
      mergedAnswer(answers),
      isRound ? { ...frame, legacyFunctions: false } : frame,
      (generated) => estimatedUsage(conversationTokens(fitted.request), generated),
    );
    if (answers.length === 1) scope.reported = () => (made.usageEstimated ? null : made.usage);
    noteMade(made, answers[0]!["model"], tried, call);
    return tried.outputGuards.length === 0 ? made : await guarded(made, tried, call);
  } catch (thrown) {
    throw closeAttempt(open[0]!.attempt, thrown, tried, call);
  }
}

/** A long answer, read and written in the thread of long bodies. */
function writtenThere(
  open: OpenAnswer,
  bytes: Uint8Array,
  longAnswers: LongAnswers,
  tried: Tried,
  call: Call,
): Promise<WrittenAnswer> {
  const { fitted, resolved, route, scope } = tried;
  return closing(open, tried, call, async () => {
    const question: AnswerQuestion = {
      bytes,
      family: resolved.target.family,
      decode: open.decode,
      credential: resolved.target.credential,
      frame: answerFrame(call, fitted, resolved, route),
      promptTokens: conversationTokens(fitted.request),
    };
    const made = await longAnswers.write(question, call.record.tenantId ?? "");
    scope.reported = () => (made.usageEstimated ? null : made.usage);
    noteMade(made, made.model, tried, call);
    return made;
  });
}

/** What the attempt has used, and the model that the provider says has answered. */
function noteMade(made: AnswerFigures, model: unknown, { resolved, scope }: Tried, call: Call): void {
  const told = toldModel(model, resolved);
  for (const attempt of scope.attempts) attempt.toldModel = told;
  scope.usage = () => (made.usageEstimated && made.isEmpty ? null : made.usage);
  scope.isEstimated = () => made.usageEstimated;
  // its client has left, and it was read on for what it used
  call.signal.throwIfAborted();
}

/** What is not told was made all the same. Throws `policy_violation`. */
async function guarded(answer: WholeAnswer, tried: Tried, call: Call): Promise<WholeAnswer> {
  try {
    return await call.policies!.answered(answer, tried.outputGuards);
  } catch (thrown) {
    call.noteUsage(answer.usage, answer.usageEstimated);
    throw thrown;
  }
}

/** The first failure ends the others. */
async function allDecoded(answers: readonly OpenAnswer[], tried: Tried, call: Call): Promise<readonly ChatAnswer[]> {
  try {
    return await Promise.all(answers.map((open) => decoded(open, tried, call)));
  } catch (thrown) {
    for (const { response } of answers) response.body.cancel();
    tried.scope.end(thrown);
    throw thrown;
  }
}

/** `bytes`: what it says, where that was read. */
function decoded(open: OpenAnswer, tried: Tried, call: Call, bytes?: Uint8Array): Promise<ChatAnswer> {
  const { provider, target } = tried.resolved;
  return closing(open, tried, call, async () => {
    const text = utf8Of(bytes ?? (await answerBytes(open, tried, call)));
    // to make text of megabytes, to read it and to write it are a turn each
    const isLong = text.length >= LONG_BODY_BYTES;
    if (isLong) await nextTurn();
    const answer = provider.decodeResponse(answerWithoutKeys(text, target.credential), open.decode);
    if (isLong) await nextTurn();
    // beside others it would be missing in silence
    if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
    return answer;
  });
}

function answerBytes({ response }: OpenAnswer, { scope }: Tried, call: Call): Promise<Uint8Array> {
  return call.waiting(response.body.bytes(call.snapshot.limits.maxAnswerBytes, scope.goesOn));
}

/** Closes the attempt where the work on its answer fails. */
async function closing<T>(
  { response, attempt }: OpenAnswer,
  { resolved, scope }: Tried,
  call: Call,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    response.body.cancel();
    // whatever became of an answer that was read on, its client has left
    throw closeAttempt(attempt, call.signal.aborted ? call.signal.reason : thrown, { resolved, scope }, call);
  }
}

export function replyWhole(won: Won<Reply>, call: Call): Response {
  noteWhole(won, call);
  const { answer, tried, settle } = won;
  const settled = (): void => settle("success");
  return "bytes" in answer
    ? sendBody(answer.bytes, tried, call, settled)
    : sendWhole(answer.body, tried, call, settled);
}

/** Notes in the record what an answer says and used, and charges it. */
export function noteWhole({ answer, tried }: Won<AnswerFigures>, call: Call): void {
  const { record } = call;
  call.won(tried);
  record.finishReasons = [...answer.finishReasons];
  record.nativeFinishReasons = [...answer.nativeFinishReasons];
  call.noteUsage(answer.usage, answer.usageEstimated);
  chargeAttempt(call, tried, tried.scope, answer);
  for (const attempt of tried.scope.attempts) attempt.firstContentMs = attempt.totalMs = call.elapsedMs();
}

/** `tried`: what the head of the answer names. */
export function sendWhole(answer: JsonObject, tried: Tried, call: Call, settle?: () => void): Response {
  call.content?.answered(answer);
  return sendBody(JSON.stringify(answer), tried, call, settle);
}

function sendBody(body: string | Uint8Array, tried: Tried, call: Call, settle: () => void = () => {}): Response {
  const { record } = call;
  if (record.usageSource === "estimated") record.warnings = [...record.warnings, "usage_estimated"];
  record.firstContentMs = call.elapsedMs();
  record.status = 200;
  // the head says what is left once this call is settled
  settle();
  call.settleLimits();
  const headers = answerHeaders(call, tried.fitted, tried.resolved.target, "application/json");
  if (call.tellsCost && record.cost !== null) headers["x-gateway-cost-usd"] = usd(record.cost.nanoUsd);
  call.publish();
  return new Response(body, { headers });
}
