// The operation messages: `POST /api/v1/messages`, in the form of https://platform.claude.com/docs/en/api/messages.
import { replyConversation } from "../../engine/reply-conversation.ts";
import type { Operation } from "../../engine/operation.ts";
import { answersOf } from "./message-answers.ts";
import { MESSAGE_ERRORS } from "./message-errors.ts";
import { addHeaders, requireVersionsRules } from "./message-heads.ts";
import { MESSAGES_FORM } from "./messages-form.ts";

export const MESSAGES: Operation = {
  name: "messages",
  errors: MESSAGE_ERRORS,
  form: MESSAGES_FORM,
  addHeaders,
  async reply(ready) {
    requireVersionsRules(ready);
    return replyConversation(ready, answersOf(ready));
  },
};
