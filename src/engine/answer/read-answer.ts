// Reads a provider's non-streaming answer. Other calls have their turns between the steps of the work on a long one
// (promise 5.8).
import type { ChatAnswer, ChatRequest } from "../../core/chat.ts";
import { TURNS_BYTES, yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { MaybePromise } from "../../core/maybe-promise.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { parseSentObject } from "../../providers/answers/sent-json.ts";
import { decodeUtf8 } from "../../wire/body-bytes.ts";
import type { OpenAnswer } from "../attempt/upstream-requests.ts";
import { choiceCount, promptCount } from "../../core/request/choice-counts.ts";
import { LONG_BODY_BYTES } from "../long-bodies/long-body-thread.ts";
import { valueInTurns } from "../long-bodies/read-in-turns.ts";
import type { Resolved } from "../plan/resolve-target.ts";
import { answerWithoutKeys } from "./answer-keys.ts";
import type { PassedText } from "./non-streaming-answer.ts";

export interface ReadAnswer {
  readonly answer: ChatAnswer;
  /** Set where the target speaks the operation of the call, so that its own body is passed on. */
  readonly passed?: PassedText;
}

/**
 * Throws StreamError or MalformedAnswer, and returns a promise for a long answer. The answer may have no choices, which
 * is for `requireChoices` to refuse once its usage is known.
 */
export function readAnswer(
  bytes: Uint8Array,
  open: Pick<OpenAnswer, "decode">,
  resolved: Resolved,
): MaybePromise<ReadAnswer> {
  if (bytes.length >= TURNS_BYTES) return readInTurns(bytes, open, resolved);
  return decoded(answerWithoutKeys(decodeUtf8(bytes), resolved.target.credential), undefined, open, resolved);
}

async function readInTurns(
  bytes: Uint8Array,
  open: Pick<OpenAnswer, "decode">,
  resolved: Resolved,
): Promise<ReadAnswer> {
  await yieldToLoop();
  const sent = decodeUtf8(bytes);
  const isLong = bytes.length >= LONG_BODY_BYTES;
  if (isLong) await yieldToLoop();
  const text = answerWithoutKeys(sent, resolved.target.credential);
  const value = isLong ? await valueInTurns(text, "The provider's answer") : undefined;
  if (isLong) await yieldToLoop();
  const read = decoded(text, isObject(value) ? value : undefined, open, resolved);
  await yieldToLoop();
  return read;
}

/** `known` is what the text says, where it was parsed before. */
function decoded(
  text: string,
  known: JsonObject | undefined,
  { decode }: Pick<OpenAnswer, "decode">,
  { provider, spoken }: Resolved,
): ReadAnswer {
  if (spoken !== undefined) {
    const value = known ?? parseSentObject(text, "answer");
    return { answer: provider.decodeResponse(text, decode, value), passed: { text, value } };
  }
  return { answer: provider.decodeResponse(text, decode, known) };
}

/**
 * Throws MalformedAnswer if the answer has no choices, or if the request has several prompts and the answer does not have
 * all of their choices. The position of a choice says to which prompt it belongs, so that after a missing one a client
 * would read the text for one prompt as the text for another. `requests` is the number of equal requests that share the
 * choices between them.
 */
export function requireChoices({ choices }: ChatAnswer, request: ChatRequest, requests = 1): void {
  if (choices.length === 0) throw new MalformedAnswer("The provider's answer has no choices.");
  const asked = choiceCount(request) / requests;
  if (promptCount(request) > 1 && choices.length !== asked)
    throw new MalformedAnswer(
      `The provider's answer to several prompts has ${choices.length} choices in place of ${asked}.`,
    );
}
