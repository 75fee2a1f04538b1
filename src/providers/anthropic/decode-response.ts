// Decodes a non-streaming answer of the Messages API: https://platform.claude.com/docs/en/api/messages. What chat
// completions have no form for is carried in `extra_content` (turn-content.ts).
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
  if (Array.isArray(answer["content"])) return decodeWhole(answer, context);
  if (answer["type"] === "error" || isObject(answer["error"]))
    throw new StreamError(classifyError({ status: 200, body }));
  throw new MalformedAnswer("The provider's answer has no list of content blocks.");
}
