// Servers that users run themselves, and `custom` for any address with OpenAI's API.
import { LIKE_OPENAI } from "../tasks/embedding-row.ts";
import { native } from "../../../core/capability.ts";
import type { Message } from "../../../core/chat.ts";
import { isObject } from "../../../core/json.ts";
import { ALL_MEMBERS } from "../../conversation/conversation-members.ts";
import type { Joins } from "../../conversation/join-texts.ts";
import { jsonObjectAsSchema, namedToolAlone, stopAsList, systemFirst, VENDOR_CHOICES } from "../quirks.ts";
import type { ModelDifferences, OpenAICompatibleRow, ParameterRewrite } from "../row.ts";
import { BEYOND_IMAGES, FILES, LOGPROBS, OPENAI_ONLY, without } from "../features.ts";

/**
 * The template in the model's own files refuses the rest: "System message must be at the beginning."
 * https://huggingface.co/Qwen/Qwen3.5-27B/blob/main/chat_template.jinja, https://github.com/vllm-project/vllm/issues/41114,
 * https://github.com/QwenLM/Qwen3.8/issues/164
 */
const SYSTEM_FIRST: ModelDifferences = {
  models: /qwen-?3\.[5-9]/i,
  cells: { text: native("system messages are sent as one, in front") },
};
function templateMessages(messages: readonly Message[], model: string, joins: Joins): readonly Message[] {
  return SYSTEM_FIRST.models.test(model) ? systemFirst(messages, joins) : messages;
}

/** They need no key, have no prices, and ignore members that they do not know. */
const OF_USERS = { catalogue: null, keyVariables: [], conversation: ALL_MEMBERS } as const;

const llamacpp: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "llamacpp",
  label: "llama.cpp",
  docs: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
  baseUrl: "http://localhost:8080/v1",
  native: {
    responses: { source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" },
    messages: { source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" },
  },
  verified: { date: "2026-11-20" },
  rerank: { docs: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md" },
  embeddings: {
    docs: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
    mostInputs: 2048,
    tokens: true,
    formats: ["float", "base64"],
  },
  lacks: [...without(OPENAI_ONLY, "prompt_cache_key"), ...FILES, "video_url"],
  cells: {
    parallel_tool_calls: native("the default is false"),
    n: native("requires as many parallel slots"),
  },
  // it reads a named function as auto, without an error: https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  rewrites: { tool_choice: namedToolAlone },
  models: [SYSTEM_FIRST],
  dialect: { blocks: ["input_video"], messageRules: ["schema_without_name"] },
  reserved: ["n_predict"],
  hooks: { messages: templateMessages },
  takesDeveloper: true,
};

const vllm: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "vllm",
  label: "vLLM",
  docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  baseUrl: "http://localhost:8000/v1",
  native: {
    responses: { source: "https://docs.vllm.ai/en/stable/serving/online_serving.html" },
    messages: { source: "https://docs.vllm.ai/en/stable/serving/online_serving.html" },
  },
  verified: { date: "2026-11-20" },
  rerank: { docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server/" },
  embeddings: {
    docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server/",
    ...LIKE_OPENAI,
  },
  lacks: [...without(OPENAI_ONLY, "verbosity", "service_tier", "prompt_cache_key"), ...FILES],
  cells: {
    tool_choice: native("auto requires --enable-auto-tool-choice"),
    service_tier: native("accepted, but has no effect"),
  },
  models: [SYSTEM_FIRST],
  dialect: { blocks: ["*"] },
  hooks: { messages: templateMessages },
  takesDeveloper: true,
};

const lmstudio: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "lmstudio",
  label: "LM Studio",
  docs: "https://lmstudio.ai/docs/developer/openai-compat/chat-completions",
  baseUrl: "http://localhost:1234/v1",
  native: {
    responses: { source: "https://lmstudio.ai/docs/api/rest-api" },
    messages: { source: "https://lmstudio.ai/docs/api/rest-api" },
  },
  verified: { date: "2026-11-20" },
  embeddings: { docs: "https://lmstudio.ai/docs/developer/openai-compat/embeddings", mostInputs: 2048 },
  lacks: [...without(OPENAI_ONLY, "prediction", "prompt_cache_key"), ...LOGPROBS, ...BEYOND_IMAGES, "n"],
  cells: {
    tool_choice: native("naming a function is not supported", ["none", "auto", "required"]),
    // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1120
    image_url: native("base64 data only; the gateway fetches URLs"),
  },
  inlines: ["image_url"],
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { response_format: jsonObjectAsSchema },
  models: [SYSTEM_FIRST],
  privileged: ["draft_model"],
  hooks: { messages: templateMessages },
  takesDeveloper: true,
};

const sglang: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "sglang",
  label: "SGLang",
  docs: "https://docs.sglang.ai/basic_usage/openai_api_completions.html",
  baseUrl: "http://localhost:30000/v1",
  verified: { source: "https://github.com/sgl-project/sglang", date: "2026-11-20" },
  embeddings: {
    docs: "https://docs.sglang.io/basic_usage/openai_api_embeddings.html",
    mostInputs: 2048,
    dimensions: "dimensions",
    tokens: true,
  },
  lacks: [...OPENAI_ONLY, ...FILES, "input_audio"],
  cells: {
    tools: native("requires --tool-call-parser"),
    reasoning_effort: native("depends on the model's template"),
    user: native("accepted, but has no effect"),
  },
  models: [SYSTEM_FIRST],
  dialect: { blocks: ["audio_url"] },
  hooks: { messages: templateMessages },
  takesDeveloper: true,
};

/**
 * Parameters that the server would silently ignore count as unsupported:
 * https://github.com/EricLBuehler/mistral.rs/blob/master/docs/src/content/docs/reference/openai-compatibility.md
 */
const mistralrs: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "mistralrs",
  label: "mistral.rs",
  docs: "https://github.com/EricLBuehler/mistral.rs/blob/master/docs/src/content/docs/reference/openai-compatibility.md",
  baseUrl: "http://localhost:1234/v1",
  verified: { date: "2026-11-20" },
  lacks: [
    ...without(OPENAI_ONLY, "web_search_options"),
    "seed",
    "user",
    "parallel_tool_calls",
    "input_audio",
    "document",
  ],
  cells: {
    reasoning_effort: native("none or off, low, medium, high, xhigh", [
      "none",
      "off",
      "low",
      "medium",
      "high",
      "xhigh",
    ]),
    web_search_options: native("only on servers started with search"),
    file: native("file_id of a file uploaded to the vendor, or file_data"),
  },
  rewrites: { response_format: jsonObjectAsSchema },
  dialect: { blocks: ["audio_url"], toolChoices: ["allowed_tools"] },
  takesDeveloper: true,
};

/**
 * The server drops `n` and `user` and answers logit_bias with 501:
 * https://github.com/xorbitsai/inference/blob/main/xinference/api/restful_api.py
 */
const xinference: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "xinference",
  label: "Xinference",
  docs: "https://inference.readthedocs.io/en/latest/getting_started/using_xinference.html",
  baseUrl: "http://localhost:9997/v1",
  verified: { source: "https://github.com/xorbitsai/inference", date: "2026-11-20" },
  rerank: { docs: "https://inference.readthedocs.io/en/latest/models/model_abilities/rerank.html" },
  embeddings: {
    docs: "https://inference.readthedocs.io/en/latest/models/model_abilities/embed.html",
    mostInputs: 2048,
  },
  lacks: [...without(OPENAI_ONLY, "service_tier"), ...FILES, "n", "user", "logit_bias", "input_audio"],
  cells: {
    tools: native("some model families only"),
    service_tier: native("accepted, but has no effect"),
    logprobs: native("depends on the engine"),
  },
  rewrites: {
    reasoning_effort: {
      note: "chat_template_kwargs.reasoning_effort, which few models read",
      write: (effort) => ({ chat_template_kwargs: { reasoning_effort: effort } }),
    },
  },
};

/** Its `metadata` are options of the backend: https://github.com/mudler/LocalAI/blob/master/core/schema/openai.go */
const localai: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "localai",
  label: "LocalAI",
  docs: "https://localai.io/features/text-generation/",
  baseUrl: "http://localhost:8080/v1",
  verified: { source: "https://github.com/mudler/LocalAI", date: "2026-11-20" },
  rerank: { docs: "https://localai.io/features/reranker/" },
  embeddings: { docs: "https://localai.io/features/embeddings/", mostInputs: 2048, tokens: true },
  conversation: { source: "https://github.com/mudler/LocalAI/blob/master/core/schema/openai.go", ...ALL_MEMBERS },
  lacks: [...OPENAI_ONLY, ...FILES],
  cells: {
    tools: native("depends on the backend"),
    response_format: native("llama.cpp backend only"),
    reasoning_effort: native("depends on the backend"),
  },
  dialect: { blocks: ["audio_url"] },
  takesDeveloper: true,
};

/**
 * A named function is `{function: {name}}`:
 * https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json
 */
const tgiNamedTool: ParameterRewrite = {
  note: "a named function is sent without its type",
  write: (choice) =>
    isObject(choice) && isObject(choice["function"]) ? { tool_choice: { function: choice["function"] } } : null,
};

const tgi: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "tgi",
  label: "Text Generation Inference",
  docs: "https://huggingface.co/docs/text-generation-inference/messages_api",
  baseUrl: "http://localhost:3000/v1",
  verified: {
    source: "https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json",
    date: "2026-11-20",
  },
  lacks: [...OPENAI_ONLY, ...BEYOND_IMAGES, "n", "logit_bias", "user", "parallel_tool_calls", "reasoning_effort"],
  cells: { top_logprobs: { support: "native", range: [0, 5] } },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { stop: stopAsList, tool_choice: tgiNamedTool, response_format: jsonObjectAsSchema },
  dialect: { messageRules: ["choice_without_type"] },
};

const custom: OpenAICompatibleRow = {
  ...OF_USERS,
  id: "custom",
  label: "Custom (OpenAI-compatible)",
  docs: "https://platform.openai.com/docs/api-reference/chat/create",
  baseUrl: null,
  // It is not known what the server accepts, so nothing is fetched for it.
  inlines: [],
  rerank: { docs: "https://docs.cohere.com/reference/rerank" },
  embeddings: { docs: "https://platform.openai.com/docs/api-reference/embeddings/create", ...LIKE_OPENAI },
  conversation: { ...ALL_MEMBERS, extraContent: ["google"] },
  dialect: { blocks: ["*"], tools: ["*"], toolChoices: VENDOR_CHOICES, messageRules: ["*"] },
  // of NeMo Guardrails and of proxies that follow LiteLLM
  guards: ["guardrails"],
  takesDeveloper: true,
};

export const localServers: readonly OpenAICompatibleRow[] = [
  llamacpp,
  vllm,
  lmstudio,
  sglang,
  mistralrs,
  xinference,
  localai,
  tgi,
  custom,
];
