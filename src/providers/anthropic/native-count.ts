// Counts of tokens before a call, by the vendor's own counter, which costs nothing:
// https://platform.claude.com/docs/en/build-with-claude/token-counting
import type { ChatAnswer } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import { nativeBody } from "../native-body.ts";
import { MalformedAnswer, type NativeOperation, StreamError } from "../provider.ts";
import { parseSentObject } from "../sent-json.ts";
import { messagesUrl } from "./encode-request.ts";
import { classifyError } from "./errors.ts";
import { NATIVE_MESSAGES } from "./native-messages.ts";

export const NATIVE_COUNT: NativeOperation = {
  ...NATIVE_MESSAGES,
  source: "https://platform.claude.com/docs/en/api/messages-count-tokens",
  encodeRequest(request, target) {
    const encoded = NATIVE_MESSAGES.encodeRequest(request, target);
    return {
      ...encoded,
      request: {
        ...encoded.request,
        url: `${messagesUrl(target.baseUrl)}/count_tokens`,
        body: nativeBody(request, [{ path: ["model"], value: target.model }]),
      },
    };
  },
  decodeResponse: decodeCount,
};

/** The count is the answer's text. It uses no tokens. */
function decodeCount(body: string): ChatAnswer {
  const answer = parseSentObject(body, "answer");
  const { input_tokens: count } = answer;
  if (answer["type"] === "error" || isObject(answer["error"]))
    throw new StreamError(classifyError({ status: 200, body }));
  if (typeof count !== "number") throw new MalformedAnswer("The provider's answer has no input_tokens.");
  return {
    choices: [{ index: 0, message: { role: "assistant", content: String(count) }, finish_reason: "stop" }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  };
}
