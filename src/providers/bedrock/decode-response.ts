// Decodes a non-streaming answer of Converse:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html. What chat completions have no form
// for is carried in `extra_content` (turn-content.ts).
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { parseSentObject } from "../answers/sent-json.ts";
import { decodeWhole } from "./decode-stream.ts";
import { classifyError } from "./errors.ts";

/** Throws StreamError for an error inside a 200, and MalformedAnswer for a body that is not an answer. */
export function decodeResponse(
  body: string,
  context: DecodeContext,
  answer = parseSentObject(body, "answer"),
): ChatAnswer {
  const { output } = answer;
  const message = isObject(output) ? output["message"] : undefined;
  const content = isObject(message) ? message["content"] : undefined;
  if (Array.isArray(content)) return decodeWhole(content.filter(isObject), answer, context);
  if (output === undefined && ["message", "Message", "__type", "error"].some((name) => answer[name] !== undefined))
    throw new StreamError(classifyError({ status: 200, body }));
  throw new MalformedAnswer("The provider's answer has no list of content blocks.");
}
