// Decodes the text of a response body into a ChatAnswer: the provider's own object, corrected where OpenAI-compatible
// servers write the same thing differently.
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer, StreamError, withCounted } from "../interface/upstream-failure.ts";
import { parseSentJson, requireSentObject } from "../answers/sent-json.ts";
import type { AnswerRules } from "./answer-rules.ts";
import {
  completeArguments,
  hasToolCalls,
  type OwnObject,
  patchFinishReason,
  patchLogprobs,
  patchMessage,
  requireNoError,
} from "./choice.ts";
import { patchUsage } from "./usage.ts";

export function decodeResponse(body: string, rules: AnswerRules, value?: JsonObject, model?: string): ChatAnswer {
  const answer = value ?? parseSentJson(body, "answer");
  const usage = patchUsage(answer, rules.row);
  const isSplit = model !== undefined && rules.row.splitsAnswers?.test(model) === true;
  return withCounted(
    () => usage,
    () => (isSplit ? withWholeAnswer(decoded(answer, rules, body)) : decoded(answer, rules, body)),
  );
}

/** Joins choices of which some have calls of tools: they are one answer. */
function withWholeAnswer(answer: ChatAnswer): ChatAnswer {
  const { choices } = answer;
  const calling = choices.filter(({ message }) => (message.tool_calls ?? []).length > 0);
  if (choices.length < 2 || calling.length === 0) return answer;
  const text = choices.map(({ message }) => message.content ?? "").join("");
  const message = {
    ...choices[0]!.message,
    content: text === "" ? null : text,
    tool_calls: calling.flatMap(({ message: one }) => one.tool_calls ?? []),
  };
  return {
    ...answer,
    choices: [{ ...choices[0]!, message, finish_reason: calling[0]!.finish_reason ?? "tool_calls" }],
  };
}

function decoded(answer: Json, rules: AnswerRules, body: string): ChatAnswer {
  if (rules.errors.isError(answer)) throw new StreamError(rules.errors.classifyParsed(200, answer, body));
  const own: OwnObject = requireSentObject(answer, "answer");
  const { choices } = own;
  if (choices === null) own["choices"] = [];
  else if (!Array.isArray(choices)) throw new MalformedAnswer("The provider's answer has no choices.");
  else
    for (const choice of choices as readonly Json[]) {
      if (!isObject(choice)) throw new MalformedAnswer("The provider's answer has a choice that is not an object.");
      patchChoice(choice, rules, body);
    }
  return own as unknown as ChatAnswer;
}

function patchChoice(choice: OwnObject, rules: AnswerRules, body: string): void {
  requireNoError(choice, rules.errors, body);
  patchFinishReason(choice, rules.finishReasons);
  const message = messageOf(choice);
  choice["message"] = message;
  delete choice["delta"];
  delete choice["text"];
  patchMessage(message, rules.row.reasoningField);
  if (rules.row.lacksFinishReason === true && (choice["finish_reason"] ?? null) === null)
    choice["finish_reason"] = hasToolCalls(message) ? "tool_calls" : "stop";
  if (choice["finish_reason"] !== "length") completeArguments(message);
  if (choice["logprobs"] !== undefined) patchLogprobs(choice);
}

function messageOf({ message, delta, text }: JsonObject): OwnObject {
  if (isObject(message)) return message;
  return isObject(delta) ? delta : { content: text ?? null };
}
