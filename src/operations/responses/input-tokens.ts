// The operation `POST /responses/input_tokens`. A count is that of the provider itself, or there is none (promise 12.11).
// https://developers.openai.com/api/reference/cli/resources/responses/subresources/input_tokens
import type { Operation } from "../../engine/operation.ts";
import { replyCount } from "../token-counts.ts";
import { responseFrame } from "./response-object.ts";
import { memoOf } from "./request-memo.ts";
import { responseAnswers } from "./response-answers.ts";
import { INPUT_TOKENS_FORM } from "./responses-form.ts";
import { RESPONSE_ERRORS, KEPT_RESPONSES } from "./responses.ts";

export const INPUT_TOKENS: Operation = {
  name: "responses.input_tokens",
  errors: RESPONSE_ERRORS,
  form: INPUT_TOKENS_FORM,
  keeping: KEPT_RESPONSES,
  async reply(ready) {
    const frame = responseFrame(memoOf(ready.request), () => Math.floor(ready.call.context.clock.now() / 1000));
    return await replyCount(ready, responseAnswers(frame, null), "responses.input_tokens");
  },
};
