// The operation `POST /messages/count_tokens`. A count is that of the provider itself, or there is none (promise 12.11).
import type { Operation } from "../../engine/operation.ts";
import { replyCount } from "../token-counts.ts";
import { answersOf } from "./message-answers.ts";
import { MESSAGE_ERRORS } from "./message-errors.ts";
import { addHeaders, requireVersionsRules } from "./message-heads.ts";
import { COUNT_FORM } from "./messages-form.ts";

export const COUNT_TOKENS: Operation = {
  name: "messages.count_tokens",
  errors: MESSAGE_ERRORS,
  form: COUNT_FORM,
  addHeaders,
  async reply(ready) {
    requireVersionsRules(ready);
    return await replyCount(ready, answersOf(ready), "messages.count_tokens");
  },
};
