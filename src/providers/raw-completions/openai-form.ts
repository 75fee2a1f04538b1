// OpenAI's legacy completions, which most model servers support:
// https://platform.openai.com/docs/api-reference/completions/create. Answers have OpenAI's form, so the decoders are
// those of chat completions, which also read `text` and the parallel lists of log probabilities.
import { type CapabilityCells, emulated, mapped, NATIVE, UNSUPPORTED, same } from "../../core/capability.ts";
import type { ChatParams, ResponseFormat } from "../../core/chat.ts";
import { type JsonObject, present } from "../../core/json.ts";
import { decodeResponse } from "../openai-compatible/decode-response.ts";
import { openStream } from "../openai-compatible/decode-stream.ts";
import { stopWords } from "./body.ts";
import { NEVER_IN_PROMPTS, PROMPT_CELLS, STOP_NOTE } from "./cells.ts";
import type { CompletionForm, PromptEndpoint } from "./row.ts";

const CELLS: CapabilityCells = {
  ...NEVER_IN_PROMPTS,
  ...PROMPT_CELLS,
  ...same(NATIVE, "temperature", "top_p", "n", "stream", "max_tokens", "presence_penalty", "frequency_penalty"),
  ...same(NATIVE, "logit_bias", "user", "seed", "text"),
  stream_options: emulated("usage is requested on every stream"),
  stop: mapped(`as an array; ${STOP_NOTE}`),
  max_completion_tokens: mapped("max_tokens"),
  response_format: UNSUPPORTED,
  logprobs: mapped("sent as logprobs with a number"),
  top_logprobs: mapped("logprobs"),
};

const PASSED = ["temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "seed"] as const;

export const openaiForm: CompletionForm = {
  framing: "sse",
  cells: CELLS,
  reserved: ["prompt", "echo"],
  reservedInside: {},
  encode(row, { params }, target, prompt) {
    const stream = params.stream === true;
    const body = present({
      model: target.model,
      prompt: prompt.raw ?? prompt.text,
      ...Object.fromEntries(PASSED.map((name) => [name, params[name]])),
      n: row.cells?.n?.support === "emulated" ? undefined : params.n,
      max_tokens: params.max_completion_tokens ?? params.max_tokens,
      stop: prompt.raw === undefined ? stopWords(params.stop, prompt.stop) : params.stop,
      logprobs: logprobsOf(params, row),
      ...(row.lacks?.includes("user") !== true && { user: params.user }),
      ...(params.response_format !== undefined && jsonOutput(params.response_format, row)),
      ...(stream && { stream: true, stream_options: { ...params.stream_options, include_usage: true } }),
    });
    return { url: `${target.baseUrl}/completions`, body, memo: null };
  },
  decoders: (rules) => ({
    decodeResponse: (body, _context, value) => decodeResponse(body, rules, value),
    openStream: () => openStream(rules),
  }),
};

function logprobsOf(
  { logprobs, top_logprobs: top }: ChatParams,
  { fewestLogprobs = 0 }: PromptEndpoint,
): number | undefined {
  return logprobs === true ? Math.max(top ?? 0, fewestLogprobs) : undefined;
}

function jsonOutput(format: ResponseFormat, { jsonOutput: way }: PromptEndpoint): JsonObject {
  if (format.type === "text" || way === undefined) return {};
  if (way === "response_format") return { response_format: format };
  return { json_schema: schemaOf(format) };
}

/** JSON mode is encoded as a schema that accepts any object. */
export function schemaOf(format: Exclude<ResponseFormat, { readonly type: "text" }>): JsonObject {
  return (format.type === "json_schema" ? format.json_schema.schema : undefined) ?? { type: "object" };
}
