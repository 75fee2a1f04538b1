// Counts of tokens before a call, as a provider's own counter answers them: `{"input_tokens": N}`.
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import { MalformedAnswer, StreamError, type UpstreamFailure } from "../interface/upstream-failure.ts";
import { parseSentObject } from "../answers/sent-json.ts";
import { isCount } from "../../core/record/token-count.ts";

/** The count is the answer's text. It uses no tokens. Throws as `decodeResponse` of a provider does. */
export function decodeCount(
  body: string,
  failureOf: (answer: JsonObject) => UpstreamFailure,
  answer = parseSentObject(body, "answer"),
): ChatAnswer {
  const { input_tokens: count } = answer;
  if (answer["type"] === "error" || isObject(answer["error"])) throw new StreamError(failureOf(answer));
  if (!isCount(count)) throw new MalformedAnswer("The provider's answer has no input_tokens.");
  return {
    choices: [{ index: 0, message: { role: "assistant", content: String(count) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}
