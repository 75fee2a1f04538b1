// Answers of chat completions: the engine's strict answer, and a stream of server-sent events without names.
import type { AnswerForm } from "../../chat/answer-form.ts";
import { errorBody } from "../../core/errors.ts";
import { StreamSerializer } from "./stream-serializer.ts";

export const CHAT_ANSWERS: AnswerForm = {
  stream: {
    keepAlive: ": keep-alive\n\n",
    end: "data: [DONE]\n\n",
    failed: (error, traceId) => `data: ${JSON.stringify(errorBody(error, traceId))}\n\n`,
    writer: (frame, includeUsage) => new StreamSerializer(frame, includeUsage),
  },
};
