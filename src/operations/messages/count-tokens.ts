// The operation `POST /messages/count_tokens`. A count is that of the provider itself, or there is none (promise 12.11).
import type { AnswerForm } from "../../engine/answer-form.ts";
import type { Operation, ReadyCall } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { GatewayError } from "../../core/errors.ts";
import { answersOf } from "./message-answers.ts";
import { MESSAGE_ERRORS } from "./message-errors.ts";
import { addHeaders, requireVersionsRules } from "./message-heads.ts";
import { COUNT_FORM } from "./messages-form.ts";
import { COUNTED } from "./translate-request.ts";

export const COUNT_TOKENS: Operation = {
  name: "messages.count_tokens",
  errors: MESSAGE_ERRORS,
  form: COUNT_FORM,
  addHeaders,
  async reply(ready) {
    requireVersionsRules(ready);
    try {
      return await replyConversation(ready, countsOf(ready));
    } catch (thrown) {
      // no target of the call speaks the operation
      if (thrown instanceof GatewayError && thrown.param === COUNTED)
        throw new GatewayError(
          "not_implemented",
          "The provider of this model does not count tokens before a call, and the gateway does not guess. Use the usage of an answer, or estimate the count yourself.",
        );
      throw thrown;
    }
  },
};

function countsOf(ready: ReadyCall): AnswerForm {
  const form = answersOf(ready);
  return { ...form, native: { ...form.native!, edits: () => [] } };
}
