// The operation responses: `POST /api/v1/responses`, the Responses API in the form that OpenAI and Open Responses
// describe. Requests are translated to chat completions, and answers back.
import type { CalledOperation } from "../../chat/call/called-operation.ts";
import type { Operation } from "../../chat/operation.ts";
import { replyConversation } from "../../chat/reply-conversation.ts";
import { memoOf } from "./request-memo.ts";
import { responseAnswers } from "./response-answers.ts";
import { responseFrame } from "./response-object.ts";
import { RESPONSES_FORM } from "./responses-form.ts";

/** The code and the trace id of ours stand in the body's `code` and in headers. */
const RESPONSE_ERRORS: CalledOperation["errors"] = {
  body: ({ code, message, param, entry }) => ({ error: { message, type: entry.type, param, code } }),
};

export const RESPONSES: Operation = {
  name: "responses",
  errors: RESPONSE_ERRORS,
  form: RESPONSES_FORM,
  reply: (ready) => {
    const { clock } = ready.call.context;
    const frame = responseFrame(memoOf(ready.request), () => Math.floor(clock.now() / 1000));
    return replyConversation(ready, responseAnswers(frame));
  },
};
