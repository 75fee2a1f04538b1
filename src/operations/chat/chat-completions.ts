// The operation chat completions: `POST /api/v1/chat/completions`. Its form is that of the engine's own requests and
// answers.
import { GATEWAY_ERRORS } from "../../engine/call/called-operation.ts";
import type { Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { CHAT_FORM } from "../../engine/request/parse.ts";
import { CHAT_ANSWERS } from "./chat-answers.ts";

export const CHAT_COMPLETIONS: Operation = {
  name: "chat.completions",
  errors: GATEWAY_ERRORS,
  form: CHAT_FORM,
  reply: (ready) => replyConversation(ready, CHAT_ANSWERS),
};
