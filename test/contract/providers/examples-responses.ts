// Answers of the Responses form, for the rows that have models which speak no other.
import type { JsonObject } from "../../../src/core/json.ts";
import { call, eventsOf, message, reasoning, responseOf } from "../../providers/responses/events.ts";
import type { WireExamples } from "./wire-examples.ts";

const example = (output: readonly JsonObject[], more: JsonObject = {}) => {
  const whole = responseOf(output, { usage: { input_tokens: 4, output_tokens: 3, total_tokens: 7 }, ...more });
  return { whole, events: eventsOf(whole) };
};

/** `format` is the row's name of its encrypted reasoning. */
export function responsesExamples(format: string): WireExamples {
  return {
    answers: [
      {
        name: "text",
        ...example([message("msg_1", "Guten Tag, Wien.")]),
        choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
      },
      {
        name: "encrypted reasoning before text, cut off",
        ...example([reasoning("rs_1", ["Think first."], "c2VhbGVk"), message("msg_1", "It is")], {
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
        }),
        choices: [
          {
            text: "It is",
            reasoning: "Think first.",
            details: [
              { type: "reasoning.summary", summary: "Think first.", id: "rs_1", format, index: 0 },
              { type: "reasoning.encrypted", data: "c2VhbGVk", id: "rs_1", format, index: 1 },
            ],
            finish: "length",
          },
        ],
      },
      {
        name: "two calls, one without arguments",
        ...example([call("a", "weather", '{"city":"Wien"}'), call("b", "clock", "")]),
        choices: [
          {
            calls: [
              { name: "weather", arguments: '{"city":"Wien"}' },
              { name: "clock", arguments: "{}" },
            ],
            finish: "tool_calls",
          },
        ],
      },
      {
        name: "a refusal",
        ...example([{ ...message("msg_1", ""), content: [{ type: "refusal", refusal: "I will not." }] }]),
        choices: [{ refusal: "I will not.", finish: "stop" }],
      },
    ],
    errors: [
      {
        event: "error",
        body: { type: "error", code: "server_error", message: "The engine stopped.", param: null },
        message: "The engine stopped.",
      },
      {
        event: "response.failed",
        body: responseOf([], { status: "failed", error: { code: "server_error", message: "The engine failed." } }),
        message: "The engine failed.",
      },
    ],
  };
}
