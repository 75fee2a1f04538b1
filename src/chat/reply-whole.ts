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
import { strictUsage } from "./strict-fields.ts";
import { wholeAnswer, type WholeAnswer } from "./whole-answer.ts";
import { nextTurn } from "../wire/turn.ts";

/** Characters. */
const LONG_ANSWER = 1_048_576;

/** `isRound`: it is one of several, whose calls are told apart behind it. */
export function whole(call: Call, isRound = false): Attempting<WholeAnswer> {
  return { run: (tried) => tryWhole(tried, call, isRound), isEmpty: (answer) => answer.isEmpty, discard: () => {} };
}

/** One attempt at a plain answer. Throws GatewayError. */
async function tryWhole(tried: Tried, call: Call, isRound: boolean): Promise<WholeAnswer> {
  const { fitted, resolved, route, scope } = tried;
  const opened = await allOf(attempts(fitted.request, resolved, call, scope), scope);
  const answers = opened.length === 1 ? [await decoded(opened[0]!, tried, call)] : await allDecoded(opened, tried, call);
  scope.reported = (index) => strictUsage(answers[index]?.usage);
  try {
    const frame = answerFrame(call, fitted, resolved, route);
    const made = wholeAnswer(mergedAnswer(answers), isRound ? { ...frame, legacyFunctions: false } : frame, (generated) => estimatedUsage(conversationTokens(fitted.request), generated));
    if (answers.length === 1) scope.reported = () => (made.usageEstimated ? null : made.usage);
    const told = toldModel(answers[0]!["model"], resolved);
    for (const attempt of scope.attempts) attempt.toldModel = told;
    scope.usage = () => (made.usageEstimated && made.isEmpty ? null : made.usage);
    scope.isEstimated = () => made.usageEstimated;
    // its client has left, and it was read on for what it used
    call.signal.throwIfAborted();
    return tried.outputGuards.length === 0 ? made : await guarded(made, tried, call);
  } catch (thrown) {
    throw closeAttempt(opened[0]!.attempt, thrown, tried, call);
  }
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
async function allDecoded(opened: readonly OpenAnswer[], tried: Tried, call: Call): Promise<readonly ChatAnswer[]> {
  try {
    return await Promise.all(opened.map((open) => decoded(open, tried, call)));
  } catch (thrown) {
    for (const { response } of opened) response.body.cancel();
    tried.scope.end(thrown);
    throw thrown;
  }
}

async function decoded({ response, decode, attempt }: OpenAnswer, { resolved, scope }: Tried, call: Call): Promise<ChatAnswer> {
  try {
    const text = await call.waiting(response.body.text(call.snapshot.limits.maxAnswerBytes, scope.goesOn));
    // to make text of megabytes, to read it and to write it are a turn each
    const isLong = text.length >= LONG_ANSWER;
    if (isLong) await nextTurn();
    const answer = resolved.provider.decodeResponse(answerWithoutKeys(text, resolved.target.credential), decode);
    if (isLong) await nextTurn();
    // beside others it would be missing in silence
    if (answer.choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
    return answer;
  } catch (thrown) {
    response.body.cancel();
    // whatever became of an answer that was read on, its client has left
    throw closeAttempt(attempt, call.signal.aborted ? call.signal.reason : thrown, { resolved, scope }, call);
  }
}

export function replyWhole(won: Won<WholeAnswer>, call: Call): Response {
  noteWhole(won, call);
  const { answer, tried, settle } = won;
  return sendWhole(answer.body, tried, call, () => settle("success"));
}

/** Notes in the record what an answer says and used, and charges it. */
export function noteWhole({ answer, tried }: Won<WholeAnswer>, call: Call): void {
  const { record } = call;
  call.won(tried);
  record.finishReasons = [...answer.finishReasons];
  record.nativeFinishReasons = [...answer.nativeFinishReasons];
  call.noteUsage(answer.usage, answer.usageEstimated);
  chargeAttempt(call, tried, tried.scope, answer);
  for (const attempt of tried.scope.attempts) attempt.firstContentMs = attempt.totalMs = call.elapsedMs();
}

/** `tried`: what the head of the answer names. */
export function sendWhole(answer: JsonObject, tried: Tried, call: Call, settle: () => void = () => {}): Response {
  const { record } = call;
  if (record.usageSource === "estimated") record.warnings = [...record.warnings, "usage_estimated"];
  record.firstContentMs = call.elapsedMs();
  record.status = 200;
  const body = JSON.stringify(answer);
  // the head says what is left once this call is settled
  settle();
  call.settleLimits();
  const headers = answerHeaders(call, tried.fitted, tried.resolved.target, "application/json");
  if (call.tellsCost && record.cost !== null) headers["x-gateway-cost-usd"] = usd(record.cost.nanoUsd);
  call.content?.answered(answer);
  call.publish();
  return new Response(body, { headers });
}
