// More companies that serve other makers' open models with OpenAI's API. Most of them run vLLM or SGLang, so what a
// schema does not name may still work.
import { native } from "../../../core/capability.ts";
import { isObject } from "../../../core/json.ts";
import { likeVllm } from "../conversation.ts";
import { LIKE_OPENAI } from "../tasks/embedding-row.ts";
import { BEYOND_IMAGES, FILES, LOGPROBS, OPENAI_ONLY, without } from "../features.ts";
import { audioAsUrl, enableThinking, stopAsList } from "../quirks.ts";
import type { OpenAICompatibleRow, ParameterRewrite } from "../row.ts";

/**
 * The backend that answers determines whether reasoning is named `reasoning` or `reasoning_content`; both are read.
 */
const doubleword: OpenAICompatibleRow = {
  id: "doubleword",
  label: "Doubleword",
  docs: "https://docs.doubleword.ai",
  baseUrl: "https://api.doubleword.ai/v1",
  keyVariables: ["DOUBLEWORD_API_KEY"],
  embeddings: { docs: "https://docs.doubleword.ai", mostInputs: 2048, dimensions: "dimensions" },
  conversation: likeVllm({ assistant: ["reasoning_details"] }),
  lacks: ["modalities", "audio", "store", "web_search_options"],
  cells: { reasoning_effort: native("the accepted values depend on the model") },
};

/**
 * Web search is a switch in the vendor's own object: https://docs.venice.ai/api-reference/endpoint/chat/completions
 */
const veniceSearch: ParameterRewrite = {
  note: "venice_parameters.enable_web_search: on, unless the request has venice_parameters",
  write: (options) => (isObject(options) ? { venice_parameters: { enable_web_search: "on" } } : null),
};

const venice: OpenAICompatibleRow = {
  id: "venice",
  label: "Venice",
  docs: "https://docs.venice.ai/api-reference/endpoint/chat/completions",
  baseUrl: "https://api.venice.ai/api/v1",
  keyVariables: ["VENICE_API_KEY", "VENICE_AI_API_KEY"],
  verified: { source: "https://github.com/veniceai/api-docs", date: "2026-11-20" },
  embeddings: { docs: "https://docs.venice.ai/api-reference/endpoint/embeddings/generate", ...LIKE_OPENAI },
  conversation: likeVllm({
    assistant: ["reasoning_details"],
    tool: ["name"],
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  }),
  lacks: [...FILES, "logit_bias", "prediction", "service_tier", "modalities", "audio", "safety_identifier"],
  cells: {
    user: native("accepted, but has no effect"),
    store: native("accepted, but has no effect"),
    logprobs: native("some models only"),
    reasoning_effort: native("none to max"),
  },
  rewrites: { web_search_options: veniceSearch },
  // The vendor's error codes: https://docs.venice.ai/api-reference/error-codes
  errors: [
    { class: "content_policy", statuses: [422], text: /content policy/i },
    { class: "overloaded", statuses: [429], text: /overloaded/i },
  ],
  takesDeveloper: true,
};

const chutes: OpenAICompatibleRow = {
  id: "chutes",
  label: "Chutes",
  docs: "https://chutes.ai/docs",
  baseUrl: "https://llm.chutes.ai/v1",
  keyVariables: ["CHUTES_API_KEY"],
  verified: { source: "https://github.com/chutesai/chutes", date: "2026-11-20" },
  conversation: likeVllm(),
  lacks: OPENAI_ONLY,
  cells: {
    tools: native("depends on the model; not in the vendor's list"),
    n: native("not in the vendor's list"),
    reasoning_effort: native("depends on the model; not in the vendor's list"),
    response_format: native("depends on the model"),
    image_url: native("depends on the model"),
  },
  renames: { max_completion_tokens: "max_tokens" },
};

const parasail: OpenAICompatibleRow = {
  id: "parasail",
  label: "Parasail",
  docs: "https://docs.parasail.io/parasail-docs",
  baseUrl: "https://api.parasail.io/v1",
  keyVariables: ["PARASAIL_API_KEY"],
  conversation: likeVllm(),
  lacks: without(OPENAI_ONLY, "prediction", "safety_identifier"),
};

/**
 * The service accepts a response format and ignores it, which is worse than refusing it, so it counts as unsupported.
 */
const gmi: OpenAICompatibleRow = {
  id: "gmi",
  label: "GMI Cloud",
  docs: "https://docs.gmicloud.ai/inference-engine/api-reference/llm-api-reference",
  baseUrl: "https://api.gmi-serving.com/v1",
  keyVariables: ["GMI_API_KEY", "GMICLOUD_API_KEY", "GMI_CLOUD_APIKEY"],
  conversation: likeVllm(),
  lacks: ["response_format", "modalities", "audio", "store", "web_search_options"],
};

const featherless: OpenAICompatibleRow = {
  id: "featherless",
  label: "Featherless",
  docs: "https://featherless.ai/docs/completions",
  baseUrl: "https://api.featherless.ai/v1",
  keyVariables: ["FEATHERLESS_API_KEY", "FEATHERLESSAI_API_KEY", "FEATHERLESS_AI_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...LOGPROBS, "n", "logit_bias", "user", "parallel_tool_calls"],
  cells: {
    tools: native("depends on the model family"),
    image_url: native("depends on the model"),
    response_format: native("not documented"),
  },
  renames: { max_completion_tokens: "max_tokens" },
};

const friendli: OpenAICompatibleRow = {
  id: "friendli",
  label: "Friendli",
  docs: "https://friendli.ai/docs/openapi/model-apis/chat-completions",
  baseUrl: "https://api.friendli.ai/serverless/v1",
  keyVariables: ["FRIENDLI_TOKEN"],
  verified: { source: "https://github.com/friendliai/friendli-client", date: "2026-11-20" },
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...FILES, "user"],
  cells: { reasoning_effort: native("minimal to ultracode, depending on the model") },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { stop: stopAsList },
  blocks: { input_audio: audioAsUrl },
  dialect: { blocks: ["audio_url"] },
};

const baseten: OpenAICompatibleRow = {
  id: "baseten",
  label: "Baseten",
  docs: "https://docs.baseten.co/reference/inference-api/chat-completions",
  baseUrl: "https://inference.baseten.co/v1",
  keyVariables: ["BASETEN_API_KEY"],
  verified: { date: "2026-11-20" },
  // recorded: https://github.com/maruel/genai/tree/main/providers/baseten/testdata
  conversation: likeVllm({ tool: ["name"] }),
  lacks: [...OPENAI_ONLY, "n", "input_audio", "document"],
  cells: {
    max_tokens: native("reduced without an error if it does not fit"),
    reasoning_effort: native("depends on the model; others use chat_template_args.enable_thinking"),
    stop: native("up to 32"),
    image_url: native("depends on the model"),
    file: native("depends on the model"),
  },
};

const novita: OpenAICompatibleRow = {
  id: "novita",
  label: "Novita AI",
  docs: "https://novita.ai/docs/api-reference/model-apis-llm-create-chat-completion",
  baseUrl: "https://api.novita.ai/openai/v1",
  keyVariables: ["NOVITA_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://novita.ai/docs/api-reference/model-apis-llm-create-embeddings",
    mostInputs: 2048,
    formats: ["float", "base64"],
  },
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...FILES, "user", "parallel_tool_calls"],
  cells: { tool_choice: native("not documented") },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { reasoning_effort: enableThinking },
};

const nebius: OpenAICompatibleRow = {
  id: "nebius",
  label: "Nebius Token Factory",
  docs: "https://docs.tokenfactory.nebius.com/api-reference/inference/create-chat-completion",
  baseUrl: "https://api.tokenfactory.nebius.com/v1",
  keyVariables: ["NEBIUS_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://docs.tokenfactory.nebius.com/api-reference/inference/create-embeddings",
    mostInputs: 2048,
    dimensions: "dimensions",
  },
  conversation: likeVllm(),
  lacks: without(OPENAI_ONLY, "service_tier", "store"),
  cells: {
    service_tier: native("auto"),
    seed: native("not documented"),
    parallel_tool_calls: native("not documented"),
  },
  renames: { max_completion_tokens: "max_tokens" },
};

const hyperbolic: OpenAICompatibleRow = {
  id: "hyperbolic",
  label: "Hyperbolic",
  docs: "https://docs.hyperbolic.ai/inference/text-apis",
  baseUrl: "https://api.hyperbolic.xyz/v1",
  keyVariables: ["HYPERBOLIC_API_KEY"],
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...BEYOND_IMAGES],
  cells: { image_url: native("base64 data only; the gateway fetches URLs") },
  inlines: ["image_url"],
};

const nscale: OpenAICompatibleRow = {
  id: "nscale",
  label: "Nscale",
  docs: "https://docs.nscale.com",
  baseUrl: "https://inference.api.nscale.com/v1",
  keyVariables: ["NSCALE_SERVICE_TOKEN", "NSCALE_API_KEY"],
  conversation: likeVllm(),
  lacks: OPENAI_ONLY,
  cells: { tools: native("depends on the model") },
};

const crusoe: OpenAICompatibleRow = {
  id: "crusoe",
  label: "Crusoe",
  docs: "https://docs.crusoecloud.com/managed-inference/overview",
  baseUrl: "https://api.inference.crusoecloud.com/v1",
  keyVariables: ["CRUSOE_API_KEY"],
  conversation: likeVllm(),
  lacks: ["modalities", "audio", "service_tier", "store", "web_search_options"],
  cells: { reasoning_effort: native("gpt-oss: low, medium, high") },
};

export const hostsOfOpenModels: readonly OpenAICompatibleRow[] = [
  doubleword,
  venice,
  chutes,
  parasail,
  gmi,
  featherless,
  friendli,
  baseten,
  novita,
  nebius,
  hyperbolic,
  nscale,
  crusoe,
];
