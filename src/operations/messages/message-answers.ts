// Answers and streams of one call in the form of messages.
import type { AnswerForm } from "../../engine/answer-form.ts";
import { promptTokens } from "../../engine/metering/attempt-estimate.ts";
import type { ReadyCall } from "../../engine/operation.ts";
import { type AnswerFacts, messageFrame } from "./answer-facts.ts";
import { messageBody } from "./message-body.ts";
import { readMessageEvents } from "./message-chunks.ts";
import { MESSAGE_ERRORS } from "./message-errors.ts";
import { eventText, PING } from "./message-events.ts";
import { MessageWriter } from "./message-stream.ts";
import { nativeMessages } from "./native-answers.ts";
import type { MessagesMemo } from "./translate-request.ts";

export function answersOf({ call, request }: ReadyCall): AnswerForm {
  const memo = request.written?.memo as MessagesMemo | undefined;
  const facts: AnswerFacts = {
    id: `msg_${call.traceId}`,
    model: memo?.model ?? null,
    toolNames: memo?.toolNames ?? {},
    promptTokens: promptTokens(request),
  };
  let usedModel = "";
  return {
    isEngines: false,
    native: nativeMessages(facts.model, facts.id),
    body: (answer) => messageBody(answer, facts),
    stream: {
      hasBlocks: true,
      opening: (model) => messageStart(facts, model ?? usedModel),
      keepAlive: () => PING,
      end: "",
      failed: (error, traceId) => eventText({ type: "error", ...MESSAGE_ERRORS.body(error, traceId) }),
      writer: (frame) => {
        usedModel = frame.model;
        return new MessageWriter(facts);
      },
      chunksIn: readMessageEvents(),
    },
  };
}

/** The provider's own figures follow at the end, and replace these. */
function messageStart(facts: AnswerFacts, usedModel: string): string {
  return eventText({
    type: "message_start",
    message: {
      ...messageFrame(facts, usedModel),
      content: [],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      usage: { input_tokens: facts.promptTokens, output_tokens: 0 },
    },
  });
}
