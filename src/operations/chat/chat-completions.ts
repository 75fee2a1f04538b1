// The operation chat completions: `POST /api/v1/chat/completions`. Its form is that of the engine's own requests and
// answers.
import { GATEWAY_ERRORS } from "../../chat/call/called-operation.ts";
import type { Operation } from "../../chat/operation.ts";
import { replyConversation } from "../../chat/reply-conversation.ts";
import { CHAT_FORM } from "../../chat/request/parse.ts";
import { CHAT_ANSWERS } from "./chat-answers.ts";

export const CHAT_COMPLETIONS: Operation = {
  name: "chat.completions",
  errors: GATEWAY_ERRORS,
  form: CHAT_FORM,
  reply: (ready) => replyConversation(ready, CHAT_ANSWERS),
};
