// Answers of raw prompt endpoints in each of their wire forms: https://platform.openai.com/docs/api-reference/completions,
// https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json, https://docs.ollama.com/api/generate
import type { JsonObject } from "../../../src/core/json.ts";
import { completionProviders } from "../../../src/providers/raw-completions/rows.ts";
import type { SseEvent } from "../../../src/wire/sse.ts";

const plain = (data: JsonObject): SseEvent => ({ event: "", data: JSON.stringify(data) });

const USAGE = { prompt_tokens: 4, completion_tokens: 3, total_tokens: 7 };
const FRAME = { id: "cmpl-example", object: "text_completion", created: 1_760_000_000, model: "m" };
const completion = (...choices: readonly JsonObject[]): JsonObject => ({
  ...FRAME,
  choices: choices.map((choice, index) => ({ index, logprobs: null, ...choice })),
  usage: USAGE,
});
const completionEvents = (
  ...pieces: readonly (readonly [text: string, finish: string | null, index?: number])[]
): readonly SseEvent[] => [
  ...pieces.map(([text, finish, index = 0]) =>
    plain({ ...FRAME, choices: [{ index, text, logprobs: null, finish_reason: finish }] }),
  ),
  plain({ ...FRAME, choices: [], usage: USAGE }),
  { event: "", data: "[DONE]" },
];

const OPENAI_COMPLETIONS = {
  answers: [
    {
      name: "text",
      whole: completion({ text: "Guten Tag, Wien.", finish_reason: "stop" }),
      events: completionEvents(["Guten Tag", null], [", Wien.", null], ["", "stop"]),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "cut off",
      whole: completion({ text: "It is", finish_reason: "length" }),
      events: completionEvents(["It ", null], ["is", "length"]),
      choices: [{ text: "It is", finish: "length" }],
    },
    {
      name: "two choices, one with a finish reason of a vendor's",
      whole: completion({ text: "A", finish_reason: "stop" }, { text: "B", finish_reason: "eos" }),
      events: completionEvents(["A", null, 0], ["B", null, 1], ["", "stop", 0], ["", "eos", 1]),
      choices: [
        { text: "A", finish: "stop" },
        { text: "B", finish: "stop" },
      ],
    },
  ],
  errors: [
    {
      event: "",
      body: { error: { message: "The engine stopped.", type: "server_error", param: null, code: null } },
      message: "The engine stopped.",
    },
  ],
};

const details = (finish: string): JsonObject => ({ finish_reason: finish, generated_tokens: 3, seed: null });
const tgiWhole = (text: string, finish: string): JsonObject => ({
  generated_text: text,
  details: { ...details(finish), prefill: [], tokens: [] },
});
const tgiEvents = (
  pieces: readonly (readonly [text: string, special?: boolean])[],
  text: string,
  finish: string,
): readonly SseEvent[] =>
  pieces.map(([piece, special = false], at) =>
    plain({
      index: at + 1,
      token: { id: at, text: piece, logprob: -0.1, special },
      generated_text: at === pieces.length - 1 ? text : null,
      details: at === pieces.length - 1 ? { ...details(finish), input_length: 4 } : null,
    }),
  );

const TGI = {
  answers: [
    {
      name: "text up to the end token",
      whole: tgiWhole("Guten Tag, Wien.", "eos_token"),
      events: tgiEvents([["Guten Tag"], [", Wien."], ["</s>", true]], "Guten Tag, Wien.", "eos_token"),
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "cut off",
      whole: tgiWhole("It is", "length"),
      events: tgiEvents([["It "], ["is"]], "It is", "length"),
      choices: [{ text: "It is", finish: "length" }],
    },
    {
      name: "a stop sequence, which the server leaves in",
      asked: { stop: "END" },
      whole: tgiWhole("One.END", "stop_sequence"),
      events: tgiEvents([["One."], ["E"], ["ND"]], "One.END", "stop_sequence"),
      choices: [{ text: "One.", finish: "stop" }],
    },
  ],
  errors: [
    { event: "", body: { error: "Model is overloaded", error_type: "overloaded" }, message: "Model is overloaded" },
  ],
};

const line = (response: string, last: string | null): JsonObject => ({
  model: "m",
  created_at: "2026-01-01T00:00:00Z",
  response,
  done: last !== null,
  ...(last !== null && { done_reason: last, prompt_eval_count: 4, eval_count: 3 }),
});

const OLLAMA = {
  answers: [
    {
      name: "text",
      whole: line("Guten Tag, Wien.", "stop"),
      events: [plain(line("Guten Tag", null)), plain(line(", Wien.", null)), plain(line("", "stop"))],
      choices: [{ text: "Guten Tag, Wien.", finish: "stop" }],
    },
    {
      name: "cut off",
      whole: line("It is", "length"),
      events: [plain(line("It ", null)), plain(line("is", "length"))],
      choices: [{ text: "It is", finish: "length" }],
    },
  ],
  errors: [{ event: "", body: { error: "model runner has stopped" }, message: "model runner has stopped" }],
};

const OWN = new Map(Object.entries({ "tgi-generate": TGI, "huggingface-generate": TGI, "ollama-generate": OLLAMA }));

export const COMPLETION_EXAMPLES = completionProviders.map(
  ({ id }) => [id, OWN.get(id) ?? OPENAI_COMPLETIONS] as const,
);
