// The operation moderations: `POST /api/v1/moderations`, in OpenAI's form. What a vendor says is passed on as it is.
// https://platform.openai.com/docs/api-reference/moderations
import { BARE_ERRORS } from "../../engine/call/called-operation.ts";
import type { Operation } from "../../engine/operation.ts";
import { type AnsweredTask, replyTask } from "../../engine/tasks/reply-task.ts";
import type { JsonObject } from "../../core/json.ts";
import { MODERATIONS_FORM, type ModerationMemo } from "./parse-moderations.ts";

export const MODERATIONS: Operation = {
  name: "moderations",
  errors: BARE_ERRORS,
  form: MODERATIONS_FORM,
  reply: (ready) => replyTask(ready, writtenJudgements),
};

function* writtenJudgements({ values, request, traceId, isRepeated, model: target }: AnsweredTask): Generator<string> {
  const { model } = request.written!.memo as ModerationMemo;
  const judged = values[0] as JsonObject;
  const own = isRepeated && judged["id"] !== undefined ? { id: `modr-${traceId}` } : {};
  yield JSON.stringify({ ...judged, ...own, model: model ?? target });
}
