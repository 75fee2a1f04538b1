// Reads a provider's non-streaming answer: in turns, and a long one in the thread of long bodies (promise 5.8).
import type { ChatAnswer, Usage } from "../../core/chat.ts";
import { yieldToLoop } from "../../core/event-loop.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import type { Provider } from "../../providers/provider.ts";
import { parseSentObject } from "../../providers/sent-json.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import type { OpenAnswer } from "../attempt/upstream-requests.ts";
import type { Call } from "../call/call.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import type { PassedText } from "./passed-body.ts";
import { strictUsage } from "./strict-fields.ts";
import {
  type AnswerBytes,
  type AnswerReading,
  decodedAnswer,
  type DecodeQuestion,
} from "../long-bodies/written-answer.ts";

/**
 * In bytes of JSON, which can hold some ten thousand values. Work on such an answer takes milliseconds, and other calls
 * have their turns between its steps.
 */
export const TURNS_BYTES = 65_536;

export interface CheckedBytes extends AnswerBytes {
  /** The provider's figures; `null` when it reported none. */
  readonly usage: Usage | null;
  /** `null` when the answer was read in the other thread. */
  readonly answer: ChatAnswer | null;
}

/** Reads one of several answers as it arrives. Throws StreamError or MalformedAnswer. */
export async function checkAnswer(
  bytes: Uint8Array,
  { decode }: Pick<OpenAnswer, "decode">,
  resolved: Resolved,
  call: Call,
): Promise<CheckedBytes> {
  const { longAnswers } = call.context;
  const question = questionOf({ bytes, decode }, resolved);
  if (longAnswers !== null && bytes.length >= LONG_BODY_BYTES)
    return { decode, answer: null, ...(await longAnswers.check(question, call.record.tenantId ?? "")) };
  const answer = await readHere(question, resolved);
  return { bytes, decode, answer, usage: strictUsage(answer.usage) };
}

/**
 * Reads an answer whose value the serving thread needs; returns a promise where that takes long. Throws StreamError or
 * MalformedAnswer.
 */
export function readAnswer(
  bytes: Uint8Array,
  { decode }: Pick<OpenAnswer, "decode">,
  resolved: Resolved,
  call: Call,
): MaybePromise<ChatAnswer> {
  const { longAnswers } = call.context;
  const question = questionOf({ bytes, decode }, resolved);
  return longAnswers === null || bytes.length < LONG_BODY_BYTES
    ? readHere(question, resolved)
    : longAnswers.decode(question, call.record.tenantId ?? "");
}

/**
 * Reads an answer in the form of the operation, whose text is passed on. Throws StreamError or MalformedAnswer.
 */
export function passedAnswer(
  bytes: Uint8Array,
  { decode }: Pick<OpenAnswer, "decode">,
  { provider, target }: Resolved,
): { readonly answer: ChatAnswer; readonly passed: PassedText } {
  const text = answerWithoutKeys(decodeUtf8(bytes), target.credential);
  const value = parseSentObject(text, "answer");
  return { answer: provider.decodeResponse(text, decode, value), passed: { text, value } };
}

export function readingOf({ target, spoken }: Resolved): AnswerReading {
  return { family: target.family, credential: target.credential, ...(spoken !== undefined && { spoken }) };
}

function questionOf(answer: AnswerBytes, resolved: Resolved): DecodeQuestion {
  return { ...answer, ...readingOf(resolved) };
}

function readHere(question: DecodeQuestion, { provider }: Resolved): MaybePromise<ChatAnswer> {
  return question.bytes.length < TURNS_BYTES ? decodedAnswer(question, provider) : readInTurns(question, provider);
}

async function readInTurns(question: DecodeQuestion, provider: Provider): Promise<ChatAnswer> {
  await yieldToLoop();
  const answer = decodedAnswer(question, provider);
  await yieldToLoop();
  return answer;
}
