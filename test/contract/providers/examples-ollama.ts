// Answers in the form of Ollama's chat API, made up for the provider suite. https://docs.ollama.com/api/chat
import type { JsonObject } from "../../../src/core/json.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";
import { WEATHER_AND_CLOCK } from "./wire-examples.ts";

const FRAME: JsonObject = { model: "m", created_at: "2026-01-02T03:04:05.678912345+01:00" };
const END: JsonObject = {
  total_duration: 9_000_000,
  load_duration: 1_000_000,
  prompt_eval_count: 4,
  prompt_eval_duration: 2_000_000,
  eval_count: 3,
  eval_duration: 6_000_000,
};
const whole = (message: JsonObject, reason: string): JsonObject => ({
  ...FRAME,
  message: { role: "assistant", content: "", ...message },
  done: true,
  done_reason: reason,
  ...END,
});
const line = (data: JsonObject): SseEvent => ({ event: "", data: JSON.stringify({ ...FRAME, ...data }) });
const lines = (reason: string, ...messages: readonly JsonObject[]): readonly SseEvent[] => [
  ...messages.map((message) => line({ message: { role: "assistant", content: "", ...message }, done: false })),
  line({ message: { role: "assistant", content: "" }, done: true, done_reason: reason, ...END }),
];
const weather: JsonObject = { id: "call_a", function: { index: 0, name: "weather", arguments: { city: "Wien" } } };
const clock: JsonObject = { function: { name: "clock", arguments: {} } };

export const OLLAMA = {
  answers: [
    {
      name: "text",
      whole: whole({ content: "Guten Tag, Wien." }, "stop"),
      events: lines("stop", { content: "Guten Tag" }, { content: ", Wien." }),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "thinking before text, cut off",
      whole: whole({ content: "It is", thinking: "Think first." }, "length"),
      events: lines("length", { thinking: "Think " }, { thinking: "first." }, { content: "It is" }),
      choices: [{ text: "It is", reasoning: "Think first.", finish: "length" }],
    },
    {
      name: "two calls, one without id and arguments",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: whole({ tool_calls: [weather, clock] }, "stop"),
      events: lines("stop", { tool_calls: [weather] }, { tool_calls: [clock] }),
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
      name: "an old server's end without a reason",
      whole: { ...FRAME, message: { role: "assistant", content: "Ja." }, done: true, eval_count: 2 },
      events: [
        line({ message: { role: "assistant", content: "Ja." }, done: false }),
        line({ done: true, eval_count: 2 }),
      ],
      choices: [{ text: "Ja.", finish: "stop" }],
    },
  ],
  errors: [
    {
      event: "",
      body: { error: "an error was encountered while running the model" },
      message: "an error was encountered while running the model",
    },
    { event: "", body: { StatusCode: 429, Status: "429 Too Many Requests", error: "slow down" }, message: "slow down" },
  ],
};
