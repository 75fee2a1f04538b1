// Answers of Gemini on Vertex AI, made up for the provider suite: figures on the last event alone, finish reasons as numbers, sources under `citations`,
// times and tiers on every event. https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference#response
import type { JsonObject } from "../../../src/core/json.ts";
import { WEATHER_AND_CLOCK } from "./wire-examples.ts";

const HEAD = { modelVersion: "m", createTime: "2026-03-01T10:00:00.123456Z", responseId: "example" };
const USAGE = { promptTokenCount: 4, candidatesTokenCount: 3, totalTokenCount: 7, trafficType: "ON_DEMAND" };
const whole = (...candidates: readonly JsonObject[]): JsonObject => ({ candidates, usageMetadata: USAGE, ...HEAD });
const events = (...candidates: readonly JsonObject[]) =>
  candidates.map((candidate, at) => ({
    event: "",
    data: JSON.stringify({
      candidates: [candidate],
      usageMetadata: at === candidates.length - 1 ? USAGE : { trafficType: "ON_DEMAND" },
      ...HEAD,
    }),
  }));
const candidate = (
  parts: readonly JsonObject[],
  finishReason: string | number | null,
  more: JsonObject = {},
): JsonObject => ({ content: { role: "model", parts }, ...(finishReason !== null && { finishReason }), ...more });

const CITED = {
  citationMetadata: { citations: [{ startIndex: 0, endIndex: 5, uri: "https://example.com/a", title: "A" }] },
};

export const VERTEX = {
  answers: [
    {
      name: "text, its end a word",
      whole: whole(candidate([{ text: "Guten Tag, Wien." }], "STOP")),
      events: events(
        candidate([{ text: "Guten Tag" }], null),
        candidate([{ text: ", Wien." }], "STOP", { avgLogprobs: -0.2 }),
      ),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "thoughts before text, its end a number",
      whole: whole(candidate([{ text: "Think first.", thought: true }, { text: "It is" }], 2)),
      events: events(
        candidate([{ text: "Think ", thought: true }], 0),
        candidate([{ text: "first.", thought: true }], null),
        candidate([{ text: "It is" }], 2),
      ),
      choices: [{ text: "It is", reasoning: "Think first.", finish: "length" }],
    },
    {
      name: "two calls without ids",
      asked: { tools: WEATHER_AND_CLOCK },
      whole: whole(
        candidate(
          [
            { functionCall: { name: "weather", args: { city: "Wien" } } },
            { functionCall: { name: "clock", args: {} } },
          ],
          "STOP",
        ),
      ),
      events: events(
        candidate([{ functionCall: { name: "weather", args: { city: "Wien" } } }], null),
        candidate([{ functionCall: { name: "clock", args: {} } }], "STOP"),
      ),
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
      name: "an answer with a source",
      whole: whole(candidate([{ text: "Regen." }], "STOP", CITED)),
      events: events(candidate([{ text: "Regen" }], null), candidate([{ text: "." }], "STOP", CITED)),
      choices: [
        {
          text: "Regen.",
          annotations: [
            {
              type: "url_citation",
              url_citation: { start_index: 0, end_index: 5, url: "https://example.com/a", title: "A" },
            },
          ],
          finish: "stop",
        },
      ],
    },
    {
      name: "an answer that Model Armor withheld",
      whole: whole(candidate([], "MODEL_ARMOR")),
      events: events(candidate([], "MODEL_ARMOR")),
      choices: [{ finish: "content_filter" }],
    },
    {
      name: "a prompt that was refused",
      whole: {
        promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
        usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
        ...HEAD,
      },
      events: [
        {
          event: "",
          data: JSON.stringify({
            promptFeedback: { blockReason: "PROHIBITED_CONTENT" },
            usageMetadata: { promptTokenCount: 4, totalTokenCount: 4 },
            ...HEAD,
          }),
        },
      ],
      choices: [{ finish: "content_filter" }],
    },
  ],
  errors: [
    {
      event: "",
      body: { error: { code: 429, message: "Resource exhausted, come back.", status: "RESOURCE_EXHAUSTED" } },
      message: "Resource exhausted, come back.",
    },
  ],
};
