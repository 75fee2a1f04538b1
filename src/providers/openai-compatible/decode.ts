// Decodes the text of a response body into a ChatAnswer: the provider's own object, corrected where OpenAI-compatible
// servers write the same thing differently.
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject, type Json } from "../../core/json.ts";
import { MalformedAnswer, StreamError } from "../provider.ts";
import {
  completeArguments,
  hasToolCalls,
  type Loose,
  patchFinishReason,
  patchLogprobs,
  patchMessage,
} from "./choice.ts";
import type { ErrorClassifier } from "./errors.ts";
import type { FinishWords } from "./finish-reasons.ts";
import type { AnswerRow } from "./row.ts";
import { patchUsage } from "./usage.ts";
import { parseSentJson } from "../sent-json.ts";

/** Throws StreamError for an error inside a 200, and MalformedAnswer for a body that is not an answer. */
export function decodeResponse(row: AnswerRow, words: FinishWords, errors: ErrorClassifier, body: string): ChatAnswer {
  const answer = parseAnswer(body);
  if (!isObject(answer)) {
    if (errors.saysError(answer)) throw new StreamError(errors.classifyParsed(200, answer, body));
    throw new MalformedAnswer("The provider's answer is JSON, but not an object.");
  }
  const loose: Loose = answer;
  if (errors.saysError(loose)) throw new StreamError(errors.classifyParsed(200, loose, body));
  const { choices } = loose;
  if (choices === null) loose["choices"] = [];
  else if (!Array.isArray(choices)) throw new MalformedAnswer("The provider's answer has no choices.");
  else
    for (const choice of choices as readonly Json[]) {
      if (!isObject(choice)) throw new MalformedAnswer("The provider's answer has a choice that is not an object.");
      patchChoice(choice, row, words, errors, body);
    }
  patchUsage(loose, row);
  return loose as unknown as ChatAnswer;
}

/** Throws MalformedAnswer with a description of a body that is not JSON. */
export function parseAnswer(body: string): Json {
  return parseSentJson(body, () => `The provider's answer is ${describeText(body)}, not JSON.`);
}

/** Describes a text that should have been JSON, without quoting it, because it may come from an unknown proxy. */
export function describeText(text: string): string {
  const start = text.slice(0, 512).trimStart();
  if (start === "") return "empty";
  if (/^<(!doctype|html|head|body)/i.test(start)) return "an HTML page";
  return start.startsWith("data:") || start.startsWith("event:") ? "an event stream" : "text";
}

function patchChoice(choice: Loose, row: AnswerRow, words: FinishWords, errors: ErrorClassifier, body: string): void {
  if (isObject(choice["error"])) throw new StreamError(errors.classifyParsed(200, { error: choice["error"] }, body));
  const failure = patchFinishReason(choice, words);
  if (failure !== null) throw new StreamError(errors.failureOf(failure));
  const message = isObject(choice["message"])
    ? choice["message"]
    : isObject(choice["delta"])
      ? choice["delta"]
      : { content: choice["text"] ?? null };
  choice["message"] = message;
  delete choice["delta"];
  delete choice["text"];
  patchMessage(message, row.reasoningField);
  if (row.unsaidFinish === true && (choice["finish_reason"] ?? null) === null)
    choice["finish_reason"] = hasToolCalls(message) ? "tool_calls" : "stop";
  if (choice["finish_reason"] !== "length") completeArguments(message);
  if (choice["logprobs"] !== undefined) patchLogprobs(choice);
}
