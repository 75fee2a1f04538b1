// The operation completions: `POST /api/v1/completions`, OpenAI's legacy completions. They go to models that take a raw
// prompt, and to no other (promise 12.10).
import { BARE_ERRORS } from "../../engine/call/called-operation.ts";
import { requireReadable } from "../../engine/guards/readable-inputs.ts";
import type { Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { completionAnswers } from "./completion-answers.ts";
import { type CompletionMemo, COMPLETIONS_FORM } from "./parse-completions.ts";

export const COMPLETIONS: Operation = {
  name: "completions",
  errors: BARE_ERRORS,
  form: COMPLETIONS_FORM,
  async reply(ready) {
    const memo = ready.request.written!.memo as CompletionMemo;
    if (memo.inputs === "tokens") requireReadable(ready.request, ready.call);
    return replyConversation(ready, completionAnswers(memo));
  },
};
