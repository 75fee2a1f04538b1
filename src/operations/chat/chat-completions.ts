// The operation chat completions: `POST /api/v1/chat/completions`. Its form is that of the engine's own requests and
// strict answers, with a stream of server-sent events without names.
import { GATEWAY_ERRORS } from "../../engine/call/called-operation.ts";
import type { Operation } from "../../engine/operation.ts";
import { replyConversation } from "../../engine/reply-conversation.ts";
import { CHAT_FORM } from "../../engine/request/parse.ts";
import type { AnswerForm } from "../../engine/answer-form.ts";
import { errorBody } from "../../core/errors.ts";
import { objectsOfEvents } from "../written-events.ts";
import { StreamSerializer } from "./stream-serializer.ts";

export const CHAT_COMPLETIONS: Operation = {
  name: "chat.completions",
  errors: GATEWAY_ERRORS,
  form: CHAT_FORM,
  reply: (ready) => replyConversation(ready, CHAT_ANSWERS),
};

export const CHAT_ANSWERS: AnswerForm = {
  isEngines: true,
  // oxlint-disable-next-line require-yield -- it is there already
  *body(answer) {
    return answer;
  },
  stream: {
    hasBlocks: false,
    opening: () => "",
    keepAlive: () => ": keep-alive\n\n",
    end: "data: [DONE]\n\n",
    failed: (error, traceId) => `data: ${JSON.stringify(errorBody(error, traceId))}\n\n`,
    writer: (frame, includeUsage) => new StreamSerializer(frame, includeUsage),
    chunksIn: objectsOfEvents,
  },
};
