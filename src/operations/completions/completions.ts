// The operation completions: `POST /api/v1/completions`, OpenAI's legacy completions. They go to models that take a raw
// prompt, and to no other (promise 12.10). https://platform.openai.com/docs/api-reference/completions/object
import type { AnswerForm } from "../../engine/answer-form.ts";
import { BARE_ERRORS } from "../../engine/call/called-operation.ts";
import { requireReadable } from "../../engine/guards/readable-inputs.ts";
import type { Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import { objectsOfEvents } from "../written-events.ts";
import { type PlacesOf, tokenPlaces } from "./completion-logprobs.ts";
import { completionId, CompletionWriter } from "./completion-stream.ts";
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

function completionAnswers(memo: CompletionMemo): AnswerForm {
  return {
    isEngines: false,
    // oxlint-disable-next-line require-yield -- it reads no text
    *body(answer, request) {
      return completionOf(answer, memo, tokenPlaces(request, memo));
    },
    stream: {
      hasBlocks: false,
      opening: () => "",
      keepAlive: () => ": keep-alive\n\n",
      end: "data: [DONE]\n\n",
      failed: (error, traceId) => `data: ${JSON.stringify(BARE_ERRORS.body(error, traceId))}\n\n`,
      writer: (frame, includeUsage, request) =>
        new CompletionWriter(frame, memo, tokenPlaces(request, memo), includeUsage),
      chunksIn,
    },
  };
}

function completionOf(
  { id, object: _object, created, model, choices, route: _route, x_gateway_trace_id: _traceId, ...rest }: JsonObject,
  memo: CompletionMemo,
  placesOf: PlacesOf,
): JsonObject {
  return {
    id: completionId(id as string),
    object: "text_completion",
    created,
    model: memo.model ?? model,
    choices: (choices as readonly JsonObject[]).map((choice) => choiceOf(choice, placesOf)),
    ...rest,
  };
}

function choiceOf(
  { index, message, logprobs, finish_reason: reason, ...extras }: JsonObject,
  placesOf: PlacesOf,
): Json {
  const { content, role: _role, refusal, ...others } = message as JsonObject;
  return {
    ...extras,
    ...others,
    ...(typeof refusal === "string" && { refusal }),
    text: content ?? "",
    index,
    logprobs: placesOf(index as number).lists(logprobs),
    finish_reason: reason,
  };
}

/** Returns chunks of chat completions with the texts of events. */
function chunksIn(events: string): readonly JsonObject[] {
  return objectsOfEvents(events)
    .filter(({ choices }) => Array.isArray(choices))
    .map(({ choices, ...chunk }) => ({
      ...chunk,
      choices: objectsIn(choices).map(({ text, ...choice }) => ({ ...choice, delta: { content: text } })),
    }));
}
