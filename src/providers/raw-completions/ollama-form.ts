// Ollama's /api/generate with `raw`, so that the server adds no template of its own:
// https://docs.ollama.com/api/generate
import { type CapabilityCells, emulated, mapped, NATIVE, UNSUPPORTED, same } from "../../core/capability.ts";
import type { ChatAnswer, ChatChunk, ResponseFormat } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty, present } from "../../core/json.ts";
import { serverAddress } from "../ollama/address.ts";
import { usageOf } from "../ollama/decode.ts";
import type { AnswerRules } from "../openai-compatible/answer-rules.ts";
import { type OwnObject, patchFinishReason, patchLogprobs } from "../openai-compatible/choice.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { parseSentJson } from "../answers/sent-json.ts";
import { onlyText, stopWords } from "./body.ts";
import { AS_MANY_CALLS, NEVER_IN_PROMPTS, PROMPT_CELLS, STOP_NOTE } from "./cells.ts";
import { schemaOf } from "./openai-form.ts";
import type { CompletionForm } from "./row.ts";

const CELLS: CapabilityCells = {
  ...NEVER_IN_PROMPTS,
  ...PROMPT_CELLS,
  temperature: mapped("options.temperature"),
  top_p: mapped("options.top_p"),
  n: AS_MANY_CALLS,
  ...same(NATIVE, "stream", "logprobs", "top_logprobs", "text"),
  stream_options: emulated("the last line reports the usage"),
  stop: mapped(`options.stop; ${STOP_NOTE}`),
  ...same(mapped("options.num_predict"), "max_tokens", "max_completion_tokens"),
  presence_penalty: mapped("options.presence_penalty"),
  frequency_penalty: mapped("options.frequency_penalty"),
  ...same(UNSUPPORTED, "logit_bias", "user"),
  response_format: mapped("format: json, or the schema"),
  seed: mapped("options.seed"),
};

export const ollamaForm: CompletionForm = {
  framing: "ndjson",
  cells: CELLS,
  // The server would put template, system and context around the prompt.
  reserved: ["prompt", "raw", "system", "template", "context"],
  reservedInside: { "options.num_predict": "max_completion_tokens" },
  encode(_row, { params, extra }, target, prompt) {
    const options = present({
      temperature: params.temperature,
      top_p: params.top_p,
      num_predict: params.max_completion_tokens ?? params.max_tokens,
      stop: stopWords(params.stop, prompt.stop),
      presence_penalty: params.presence_penalty,
      frequency_penalty: params.frequency_penalty,
      seed: params.seed,
    });
    const body = present({
      model: target.model,
      prompt: onlyText(prompt),
      // the template of the model joins a prompt and its suffix, as the model was trained to fill in the middle
      raw: prompt.raw === undefined || extra["suffix"] === undefined ? true : undefined,
      stream: params.stream === true,
      format: formatOf(params.response_format),
      logprobs: params.logprobs,
      top_logprobs: params.top_logprobs,
      ...(Object.keys(options).length > 0 && { options }),
    });
    return { url: `${serverAddress(target)}/api/generate`, body, memo: null };
  },
  decoders: (rules) => ({
    decodeResponse: (body) => decodeAnswer(body, rules),
    openStream: () => ({
      push: ({ event, data }) => {
        const line = parseSentJson(data, "event");
        if (event === "error") throw new StreamError(rules.errors.classifyParsed(200, line, data));
        return [chunkOf(lineOf(line, data, rules, "An event of the provider's stream"), rules)];
      },
      end: () => [],
    }),
  }),
};

function formatOf(format: ResponseFormat | undefined): Json | undefined {
  if (format === undefined || format.type === "text") return undefined;
  return format.type === "json_object" ? "json" : schemaOf(format);
}

function decodeAnswer(body: string, rules: AnswerRules): ChatAnswer {
  const line = lineOf(parseSentJson(body, "answer"), body, rules, "The provider's answer");
  const { choices, usage } = chunkOf(line, rules);
  return {
    choices: choices.map(({ delta = {}, finish_reason: reason, ...choice }) => ({
      ...choice,
      message: { content: null, ...delta } as JsonObject,
      finish_reason: reason ?? "stop",
    })),
    ...(usage !== undefined && { usage }),
  };
}

/** A line without text is an error or malformed. */
function lineOf(line: Json, text: string, { errors }: AnswerRules, what: string): JsonObject {
  if (!isObject(line) || typeof line["response"] !== "string") {
    if (errors.isError(line)) throw new StreamError(errors.classifyParsed(200, line, text));
    throw new MalformedAnswer(`${what} has no response.`);
  }
  return line;
}

function chunkOf(line: JsonObject, { finishReasons }: AnswerRules): ChatChunk {
  const { response, thinking, done, done_reason: native, prompt_eval_count: prompt, eval_count: generated } = line;
  const isDone = done === true;
  const choice: OwnObject = {
    index: 0,
    delta: {
      content: response!,
      ...(typeof thinking === "string" && thinking !== "" && { reasoning_content: thinking }),
    },
    finish_reason: isDone ? textOrEmpty(native) || "stop" : null,
  };
  patchFinishReason(choice, finishReasons);
  if (Array.isArray(line["logprobs"])) choice["logprobs"] = { content: line["logprobs"] };
  patchLogprobs(choice);
  return {
    choices: [choice],
    // Older servers omit the prompt's count when the prompt was cached. Incomplete figures are not used.
    ...(isDone && typeof prompt === "number" && typeof generated === "number" && { usage: usageOf(line) }),
  };
}
