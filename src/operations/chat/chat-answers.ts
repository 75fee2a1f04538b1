// Answers of chat completions: the engine's strict answer, and a stream of server-sent events without names.
import type { AnswerForm } from "../../engine/answer-form.ts";
import { errorBody } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { StreamSerializer } from "./stream-serializer.ts";

export const CHAT_ANSWERS: AnswerForm = {
  isEngines: true,
  // oxlint-disable-next-line require-yield -- it is there already
  *body(answer) {
    return answer;
  },
  stream: {
    opening: () => "",
    keepAlive: () => ": keep-alive\n\n",
    end: "data: [DONE]\n\n",
    failed: (error, traceId) => `data: ${JSON.stringify(errorBody(error, traceId))}\n\n`,
    writer: (frame, includeUsage) => new StreamSerializer(frame, includeUsage),
    chunksIn,
  },
};

function chunksIn(events: string): readonly JsonObject[] {
  return events.split("\n\n").flatMap((event) => {
    if (!event.startsWith('data: {"')) return [];
    const chunk = JSON.parse(event.slice("data: ".length)) as Json;
    return isObject(chunk) ? [chunk] : [];
  });
}
