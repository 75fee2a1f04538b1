// "Native", as vendors answer that are sent what the client wrote, by the path that is asked.
import { type CannedAnswer, cannedUpstream } from "../../harness/in-process.ts";
import { message, responseOf } from "../../providers/responses/events.ts";

const JSON_TYPE = { "content-type": "application/json" };

/** A message of the Messages API. */
export const NATIVE_MESSAGE: CannedAnswer = {
  headers: JSON_TYPE,
  body: JSON.stringify({
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [{ type: "text", text: "Native" }],
    stop_reason: "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 3, output_tokens: 2 },
  }),
};

export const NATIVE_RESPONSE: CannedAnswer = {
  headers: JSON_TYPE,
  body: JSON.stringify(responseOf([message("msg_2", "Native")])),
};

const TOKEN_COUNT: CannedAnswer = { headers: JSON_TYPE, body: '{"input_tokens":5}' };

/** Answers messages, counts of their tokens, and responses. */
export const nativeUpstream = () =>
  cannedUpstream(({ url }) =>
    url.endsWith("/count_tokens") ? TOKEN_COUNT : url.endsWith("/responses") ? NATIVE_RESPONSE : NATIVE_MESSAGE,
  );
