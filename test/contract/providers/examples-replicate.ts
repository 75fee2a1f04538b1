// Predictions and streams of Replicate: https://replicate.com/docs/reference/http, https://replicate.com/docs/topics/predictions/streaming
import type { JsonObject } from "../../../src/core/json.ts";

const prediction = (output: JsonObject[string]): JsonObject => ({
  id: "rrr4z55ocneqzikepnug6xezpe",
  model: "meta/meta-llama-3-8b-instruct",
  input: { prompt: "Hello" },
  status: "succeeded",
  output,
  error: null,
  metrics: { input_token_count: 4, output_token_count: 3 },
});
const output = (...pieces: readonly string[]) => [
  ...pieces.map((data) => ({ event: "output", data })),
  { event: "done", data: "{}" },
];

export const REPLICATE_EXAMPLES = {
  answers: [
    {
      name: "text in pieces",
      whole: prediction(["Guten Tag", ", Wien."]),
      events: output("Guten Tag", ", Wien."),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "one text, with line ends in the stream",
      whole: prediction("One.\nTwo."),
      events: output("One.", "\n", "Two."),
      choices: [{ text: "One.\nTwo.", finish: "stop" }],
    },
  ],
  errors: [
    { event: "error", body: { detail: "The model could not be started." }, message: "The model could not be started." },
  ],
};
