// Companies that serve other makers' open models with OpenAI's API.
import type { Target } from "../../../core/target.ts";
import { defaultOnly, native } from "../../../core/capability.ts";
import type { Message } from "../../../core/chat.ts";
import { isObject, type JsonObject, objectsIn, textOrEmpty } from "../../../core/json.ts";
import { type Joins, joinTexts } from "../../conversation/join-texts.ts";
import { likeVllm, withNames } from "../conversation.ts";
import { mappedList } from "../../../core/request/mapped-list.ts";
import { BEYOND_IMAGES, FILES, LOGPROBS, OPENAI_ONLY, PENALTIES, without } from "../features.ts";
import { base64Of, stopAsList, textDocument, VENDOR_CHOICES, documentAs } from "../quirks.ts";
import type { BlockRewrite, OpenAICompatibleRow, ParameterRewrite } from "../row.ts";

const groq: OpenAICompatibleRow = {
  id: "groq",
  label: "Groq",
  docs: "https://console.groq.com/docs/api-reference#chat-create",
  baseUrl: "https://api.groq.com/openai/v1",
  native: {
    responses: { source: "https://console.groq.com/docs/responses-api" },
  },
  keyVariables: ["GROQ_API_KEY"],
  verified: { source: "https://github.com/groq/groq-python", date: "2026-11-20" },
  // The name of a result is recorded: https://github.com/agentjido/req_llm/tree/main/test/support/fixtures/groq
  conversation: withNames({ assistant: ["function_call"], tool: ["name"] }),
  lacks: [
    ...without(OPENAI_ONLY, "service_tier"),
    ...LOGPROBS,
    ...PENALTIES,
    "logit_bias",
    "input_audio",
    "video_url",
    "file",
  ],
  cells: {
    n: defaultOnly(1),
    reasoning_effort: native("depends on the model"),
    service_tier: native("auto, on_demand, flex, performance"),
  },
  // https://console.groq.com/docs/reasoning: others are answered with "reasoning_effort must be one of none or default"
  models: [
    { models: /gpt-oss/, cells: { reasoning_effort: native("low to high", ["low", "medium", "high"]) } },
    { models: /qwen/, cells: { reasoning_effort: native("a switch", ["none", "default"]) } },
  ],
  blocks: { document: textDocument },
  dialect: { tools: ["browser_search", "code_interpreter"] },
  privileged: ["compound_custom"],
  // recorded: https://github.com/pydantic/pydantic-ai-gateway/tree/main/proxy-vcr/proxy_vcr/cassettes
  takesDeveloper: true,
  // Groq refuses reasoning_content by name; its own name is reasoning.
  reasoningBack: "reasoning",
  usageAt: ["x_groq", "usage"],
  errors: [
    // The words of a bound of the answer are those of a conversation that is too long.
    {
      class: "invalid_request",
      statuses: [400],
      text: /^`?max_(?:completion_)?tokens`? must be less than or equal to/i,
    },
    // Of a model whose terms the account has not accepted.
    { class: "permission", codes: ["model_terms_required"] },
  ],
};

/**
 * `logprobs` is a number at Together, and there is no `top_logprobs`:
 * https://docs.together.ai/reference/chat-completions-1
 */
const togetherLogprobs: ParameterRewrite = {
  note: "sent as logprobs with the number of top_logprobs, or 1, which is the least for which the vendor promises any",
  write: (logprobs, params) => (logprobs === true ? { logprobs: Math.max(1, params.top_logprobs ?? 1) } : {}),
};
const togetherTopLogprobs: ParameterRewrite = {
  note: "the number is sent in logprobs; 0 as 1, so that an answer may have one alternative where none was asked for",
  write: (count) => ({ logprobs: Math.max(1, Number(count)) }),
};

const together: OpenAICompatibleRow = {
  id: "together",
  label: "Together AI",
  docs: "https://docs.together.ai/reference/chat-completions-1",
  baseUrl: "https://api.together.ai/v1",
  keyVariables: ["TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY"],
  verified: { source: "https://github.com/togethercomputer/openapi", date: "2026-11-20" },
  rerank: { docs: "https://docs.together.ai/reference/rerank" },
  embeddings: { docs: "https://docs.together.ai/reference/embeddings-2", mostInputs: 2048 },
  conversation: withNames({
    assistant: ["function_call", "reasoning", "reasoning_content"],
    tool: ["name"],
    calls: ["index"],
  }),
  lacks: [...OPENAI_ONLY, ...FILES, "user", "parallel_tool_calls"],
  cells: {
    input_audio: native("wav only"),
    temperature: native("documented as 0 to 1"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { stop: stopAsList, logprobs: togetherLogprobs, top_logprobs: togetherTopLogprobs },
  dialect: { blocks: ["audio_url"], toolChoices: VENDOR_CHOICES },
  privileged: ["safety_model"],
  guards: ["safety_model"],
};

/**
 * Uses document inlining, as LiteLLM does. The vendor's schema has no document:
 * https://docs.fireworks.ai/api-reference/post-chatcompletions
 */
const fireworksDocument = documentAs("sent as an image_url block with #transform=inline", (source, path) => {
  const address = source["type"] === "url" && typeof source["url"] === "string" ? source["url"] : null;
  const { mediaType, data } = address === null ? base64Of(source, path) : { mediaType: "", data: "" };
  return {
    type: "image_url",
    image_url: { url: `${address ?? `data:${mediaType};base64,${data}`}#transform=inline` },
  };
});

const fireworks: OpenAICompatibleRow = {
  id: "fireworks",
  label: "Fireworks AI",
  docs: "https://docs.fireworks.ai/api-reference/post-chatcompletions",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  native: {
    responses: { source: "https://docs.fireworks.ai/guides/response-api" },
  },
  keyVariables: ["FIREWORKS_API_KEY"],
  verified: { date: "2026-11-20" },
  rerank: { docs: "https://docs.fireworks.ai/api-reference/rerank-documents", results: ["data", "relevance_score"] },
  embeddings: {
    docs: "https://docs.fireworks.ai/api-reference/creates-an-embedding-vector-representing-the-input-text",
    mostInputs: 2048,
    dimensions: "dimensions",
    tokens: true,
  },
  conversation: { source: "https://github.com/fw-ai-external/python-sdk" },
  lacks: [...without(OPENAI_ONLY, "prediction", "service_tier", "prompt_cache_key"), "file"],
  cells: {
    max_tokens: native("reduced to what is left of the context unless context_length_exceeded_behavior is error"),
    service_tier: native("only priority has an effect"),
  },
  blocks: { document: fireworksDocument },
  dialect: { toolChoices: ["any"] },
  reasoningBack: "reasoning_content",
  // Status 412 means that the account is suspended: https://docs.fireworks.ai/guides/inference-error-codes
  errors: [{ class: "quota", statuses: [412], text: /suspend|billing|payment/i }],
};

/**
 * GLM accepts the reasoning of earlier turns inside the content, and gpt-oss as `reasoning`:
 * https://inference-docs.cerebras.ai/capabilities/reasoning
 */
function cerebrasReasoning(messages: readonly Message[], model: string, joins: Joins): readonly Message[] {
  if (!/glm/i.test(model)) return messages;
  return mappedList(messages, (message) => {
    const { reasoning, ...rest } = message;
    if (message.role !== "assistant" || typeof reasoning !== "string" || Array.isArray(message.content)) return message;
    const said = textOrEmpty(message.content);
    return { ...rest, content: joinTexts(["<think>", reasoning, "</think>", said], "", joins) };
  });
}

/**
 * "Tools with mixed values for 'strict' are not allowed": https://github.com/RooCodeInc/Roo-Code/issues/10334,
 * https://github.com/mpfaffenberger/code_puppy/issues/368
 */
const sameStrictness: ParameterRewrite = {
  note: "none is strict unless all are",
  write: (tools) => {
    const given = objectsIn(tools);
    const isStrict = ({ function: called }: JsonObject): boolean => isObject(called) && called["strict"] === true;
    if (!given.some(isStrict) || given.every(isStrict)) return null;
    return {
      tools: given.map((tool) =>
        isStrict(tool) ? { ...tool, function: { ...(tool["function"] as JsonObject), strict: false } } : tool,
      ),
    };
  },
};

const cerebras: OpenAICompatibleRow = {
  id: "cerebras",
  label: "Cerebras",
  docs: "https://inference-docs.cerebras.ai/api-reference/chat-completions",
  baseUrl: "https://api.cerebras.ai/v1",
  keyVariables: ["CEREBRAS_API_KEY"],
  verified: { source: "https://github.com/Cerebras/cerebras-cloud-sdk-python", date: "2026-11-20" },
  conversation: withNames({ tool: ["name"] }),
  lacks: [
    ...without(OPENAI_ONLY, "prediction", "service_tier", "prompt_cache_key"),
    ...PENALTIES,
    ...BEYOND_IMAGES,
    "logit_bias",
  ],
  cells: { temperature: { support: "native", range: [0, 1.5] }, tools: native(sameStrictness.note) },
  rewrites: { tools: sameStrictness },
  dialect: { blocks: ["image"] },
  reasoningBack: "reasoning",
  hooks: { messages: cerebrasReasoning },
};

/** Audio has a block type of its own: https://github.com/sambanova/sambanova-python */
const sambanovaAudio: BlockRewrite = {
  note: "sent as an audio_content block",
  write: (part) =>
    isObject(part["input_audio"])
      ? { type: "audio_content", audio_content: { content: part["input_audio"]["data"] } }
      : part,
};

const sambanova: OpenAICompatibleRow = {
  id: "sambanova",
  label: "SambaNova",
  docs: "https://docs.sambanova.ai/docs/en/features/openai-compatibility",
  baseUrl: "https://api.sambanova.ai/v1",
  keyVariables: ["SAMBANOVA_API_KEY"],
  verified: { source: "https://github.com/sambanova/sambanova-python", date: "2026-11-20" },
  conversation: withNames({ assistant: ["reasoning"] }),
  lacks: [...OPENAI_ONLY, ...FILES, "user"],
  cells: {
    presence_penalty: native("accepted, but has no effect"),
    frequency_penalty: native("accepted, but has no effect"),
    image_url: native("base64 data only; the gateway fetches URLs"),
  },
  blocks: { input_audio: sambanovaAudio },
  inlines: ["image_url"],
  dialect: { blocks: ["audio_content"] },
};

/**
 * The vendor's own host has an address for each model; a server that users run themselves has one:
 * https://docs.nvidia.com/nim/nemo-retriever/text-reranking/latest/reference.html
 */
function nvidiaRanking({ baseUrl, model }: Target): string {
  return baseUrl === "https://integrate.api.nvidia.com/v1"
    ? `https://ai.api.nvidia.com/v1/retrieval/${model.split("/").map(encodeURIComponent).join("/")}/reranking`
    : `${baseUrl}/ranking`;
}

/**
 * Every model has a closed schema of its own and refuses unknown members with 400, so only what is common to them is
 * sent.
 */
const nvidia: OpenAICompatibleRow = {
  id: "nvidia",
  label: "NVIDIA NIM",
  docs: "https://docs.api.nvidia.com/nim/reference/llm-apis",
  baseUrl: "https://integrate.api.nvidia.com/v1",
  // of NeMo Guardrails, which stands before models: https://docs.nvidia.com/nemo/microservices/latest/guardrails/
  guards: ["guardrails"],
  keyVariables: ["NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY", "NIM_API_KEY"],
  verified: { source: "https://docs.api.nvidia.com/nim/reference/stepfun-ai-step-5-preview-infer", date: "2026-11-20" },
  rerank: {
    docs: "https://docs.nvidia.com/nim/nemo-retriever/text-reranking/latest/reference.html",
    address: nvidiaRanking,
    topN: "none",
    asPassages: true,
    results: ["rankings", "logit"],
  },
  embeddings: {
    docs: "https://docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/reference.html",
    // the vendor's bound depends on the model; its own client sends 50: https://github.com/langchain-ai/langchain-nvidia
    mostInputs: 50,
    dimensions: "dimensions",
    formats: ["float", "base64"],
    inputType: {
      name: "input_type",
      words: { search_document: "passage", search_query: "query" },
      otherwise: "passage",
    },
    except: [{ models: /-(?:query|passage)$/, lacks: ["inputType"] }],
  },
  conversation: { source: "https://docs.api.nvidia.com/nim/reference/llm-apis" },
  lacks: [...OPENAI_ONLY, ...LOGPROBS, "n", "logit_bias", "user", "input_audio", "video_url"],
  cells: {
    tools: native("depends on the model"),
    response_format: native("depends on the model"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  models: [
    { models: /mistral|mixtral/i, lacks: ["stream_options"], textAsString: true },
    { models: /omni/i, textAsString: true },
    {
      models: /nemotron-4-340b/,
      lacks: ["stop", "seed", ...PENALTIES, "tools", "tool_choice"],
    },
    {
      models: /^google\/(gemma-2|recurrentgemma)/,
      lacks: [...PENALTIES, "tools", "tool_choice", "response_format", "parallel_tool_calls"],
    },
  ],
  dialect: { blocks: ["audio_url"] },
  reasoningBack: "reasoning_content",
  // "Function id '...': DEGRADED function cannot be invoked", with 400: https://github.com/decolua/9router/issues/2527
  errors: [{ class: "overloaded", statuses: [400], text: /DEGRADED function/i }],
};

/** For Gemini and Gemma models `completion_tokens` excludes reasoning. */
const deepinfra: OpenAICompatibleRow = {
  id: "deepinfra",
  label: "DeepInfra",
  docs: "https://docs.deepinfra.com/api-reference/openai-chat-completions-1",
  baseUrl: "https://api.deepinfra.com/v1/openai",
  keyVariables: ["DEEPINFRA_TOKEN", "DEEPINFRA_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://deepinfra.com/docs/openai_api",
    mostInputs: 1024,
    dimensions: "dimensions",
    formats: ["float"],
  },
  conversation: likeVllm({
    system: ["cache_control"],
    user: ["cache_control"],
    assistant: ["cache_control"],
    tool: ["name", "cache_control"],
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  }),
  lacks: [...without(OPENAI_ONLY, "service_tier", "prompt_cache_key"), "logit_bias", "parallel_tool_calls"],
  cells: {
    tool_choice: native("naming a function is not supported", ["none", "auto", "required"]),
    service_tier: native("priority, on models that are tagged for it"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  privileged: ["webhook"],
};

export const hosts: readonly OpenAICompatibleRow[] = [
  groq,
  together,
  fireworks,
  cerebras,
  sambanova,
  nvidia,
  deepinfra,
];
