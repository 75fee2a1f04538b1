// The operation embeddings: `POST /api/v1/embeddings`, in OpenAI's form.
// https://platform.openai.com/docs/api-reference/embeddings
import { BARE_ERRORS } from "../../engine/call/called-operation.ts";
import type { Operation } from "../../engine/operation.ts";
import { type AnsweredTask, replyTask } from "../../engine/tasks/reply-task.ts";
import type { Vector } from "../../providers/tasks/task-values.ts";
import { EMBEDDINGS_FORM, type EmbeddingMemo } from "./parse-embeddings.ts";

export const EMBEDDINGS: Operation = {
  name: "embeddings",
  errors: BARE_ERRORS,
  form: EMBEDDINGS_FORM,
  reply: (ready) => replyTask(ready, writtenVectors, memoOf(ready).inputs === "texts"),
};

function memoOf({ request }: Pick<AnsweredTask, "request">): EmbeddingMemo {
  return request.written!.memo as EmbeddingMemo;
}

/** The gateway itself writes both formats, so that a client gets what it asked for whatever the provider sends. */
function* writtenVectors(answered: AnsweredTask): Generator<string> {
  const { values, tokens, figures } = answered;
  const { encoding, model } = memoOf(answered);
  const written = encoding === "base64" ? base64Of : numbersOf;
  yield '{"object":"list","data":[';
  for (const [index, value] of values.entries())
    yield `${index === 0 ? "" : ","}{"object":"embedding","index":${index},"embedding":${written(value as Vector)}}`;
  yield `],"model":${JSON.stringify(model ?? answered.model)},"usage":${JSON.stringify({ ...figures, prompt_tokens: tokens, total_tokens: tokens })}}`;
}

function numbersOf(vector: Vector): string {
  return `[${vector.join(",")}]`;
}

/** 32-bit floats with the lowest byte first. */
function base64Of(vector: Vector): string {
  // every processor on which the gateway runs has the lowest byte first
  const bytes = Buffer.from(Float32Array.from(vector).buffer);
  return `"${bytes.toString("base64")}"`;
}
