// Services with OpenAI's API that forward calls to other companies' providers.
import { native } from "../../../core/capability.ts";
import { isObject } from "../../../core/json.ts";
import { unsupportedValue } from "../../../core/refusals.ts";
import { openTable } from "../../conversation/conversation-members.ts";
import { likeOpenAI } from "../conversation.ts";
import { LIKE_OPENAI } from "../tasks/embedding-row.ts";
import { base64Of, documentAs, documentAsFile, effortInReasoning, fileAtAddress, VENDOR_CHOICES } from "../quirks.ts";
import type { BlockRewrite, OpenAICompatibleRow } from "../row.ts";
import { FILES, OPENAI_ONLY, without } from "../features.ts";

/** `file_data` may be an address: https://openrouter.ai/docs/features/multimodal/pdfs */
const openrouterFile = fileAtAddress("a URL in file_id is sent in file_data", (address, rest) => ({
  filename: address.split(/[?#]/)[0]!.split("/").at(-1) || "document",
  ...rest,
  file_data: address,
}));

const openrouter: OpenAICompatibleRow = {
  id: "openrouter",
  label: "OpenRouter",
  docs: "https://openrouter.ai/docs/api-reference/overview",
  baseUrl: "https://openrouter.ai/api/v1",
  native: {
    responses: { source: "https://openrouter.ai/docs/client-sdks/typescript/sdks/responses/README.md" },
    messages: { source: "https://openrouter.ai/docs/api/api-reference/anthropic-messages/create-messages" },
  },
  keyVariables: ["OPENROUTER_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://openrouter.ai/docs/api/api-reference/embeddings/create-embeddings",
    ...LIKE_OPENAI,
    inputType: { name: "input_type", words: { search_document: "search_document", search_query: "search_query" } },
  },
  rerank: { docs: "https://openrouter.ai/docs/api/api-reference/rerank/create-rerank" },
  conversation: openTable("https://openrouter.ai/docs/api-reference/overview"),
  cells: {
    reasoning_effort: native("none to max; must agree with reasoning.effort"),
    n: native("not in the vendor's schema"),
  },
  blocks: { file: openrouterFile, document: documentAsFile },
  // OpenRouter itself translates server tools and tools in the forms of other vendors.
  dialect: { tools: ["*"], toolChoices: VENDOR_CHOICES },
  privileged: ["models", "provider", "route", "preset", "plugins"],
  // reasoning_details have to be sent back unchanged: https://openrouter.ai/docs/use-cases/reasoning-tokens
  reasoningBack: "reasoning",
  causeAt: ["metadata", "raw"],
  takesDeveloper: true,
};

/**
 * Forwards to the provider that the model's name or the user's account selects. That provider determines most of what
 * is accepted.
 */
const huggingface: OpenAICompatibleRow = {
  id: "huggingface",
  label: "Hugging Face",
  docs: "https://huggingface.co/docs/inference-providers/tasks/chat-completion",
  baseUrl: "https://router.huggingface.co/v1",
  native: {
    responses: { source: "https://huggingface.co/docs/inference-providers/guides/responses-api" },
  },
  keyVariables: ["HF_TOKEN", "HUGGINGFACE_API_KEY", "HUGGINGFACEHUB_API_TOKEN"],
  verified: { date: "2026-11-20" },
  conversation: openTable("https://huggingface.co/docs/inference-providers/tasks/chat-completion"),
  lacks: [...OPENAI_ONLY, ...FILES],
  cells: {
    n: native("most providers return one choice"),
    reasoning_effort: native("none to xhigh, depending on model and provider"),
    logit_bias: native("depends on the provider"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  // The vendor's own schema and clients name a function without a type.
  dialect: { messageRules: ["choice_without_type"] },
  usageAt: ["x_groq", "usage"],
};

/**
 * The file's data is sent without the data URL prefix, with its type beside it:
 * https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions/chat-completions
 */
const vercelFile: BlockRewrite = {
  note: "file_data is sent as data and media_type; file_id is not supported",
  write: (part, path) => {
    const file = isObject(part["file"]) ? part["file"] : {};
    const { file_data: given, ...rest } = file;
    const [, mediaType, data] =
      typeof given === "string" ? (/^data:([^;,]*);base64,(.*)$/s.exec(given) ?? [given, "", given]) : [];
    if (data === undefined)
      throw unsupportedValue(
        `${path}.file`,
        `The gateway at the other end does not store files; send the file in ${path}.file.file_data.`,
      );
    return { ...part, file: { ...rest, data, media_type: mediaType || "application/pdf" } };
  },
};
const vercelDocument = documentAs("sent as a file block with data and media_type", (source, path) => {
  const { mediaType, data } = base64Of(source, path);
  return { type: "file", file: { data, media_type: mediaType, filename: "document" } };
});

/** Members of messages and parts: https://vercel.com/docs/ai-gateway/models-and-providers/provider-options */
const CACHED = ["cache_control", "providerOptions"] as const;

const vercel: OpenAICompatibleRow = {
  id: "vercel",
  label: "Vercel AI Gateway",
  docs: "https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions",
  baseUrl: "https://ai-gateway.vercel.sh/v1",
  native: {
    responses: { source: "https://vercel.com/docs/ai-gateway/sdks-and-apis/responses" },
    messages: { source: "https://vercel.com/docs/ai-gateway/sdks-and-apis/anthropic-messages-api" },
  },
  keyVariables: ["AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-compat/embeddings",
    mostInputs: 2048,
    dimensions: "dimensions",
  },
  conversation: likeOpenAI({
    system: CACHED,
    user: CACHED,
    assistant: [...CACHED, "reasoning_details"],
    tool: ["name", ...CACHED],
    everyPart: CACHED,
    calls: ["cache_control"],
    tools: CACHED,
  }),
  lacks: ["audio", "web_search_options", "input_audio", "video_url"],
  cells: {
    n: native("depends on the target"),
    modalities: native("models that generate images"),
  },
  // https://vercel.com/docs/ai-gateway/sdks-and-apis/openai-chat-completions/reasoning
  rewrites: { reasoning_effort: effortInReasoning },
  blocks: { file: vercelFile, document: vercelDocument },
  privileged: ["models", "providerOptions"],
  // reasoning_details have to be sent back unchanged, as the vendor's page on reasoning states.
  reasoningBack: "reasoning",
  takesDeveloper: true,
};

/** The proxy adapts every field to its own target, or refuses it. */
const litellm: OpenAICompatibleRow = {
  id: "litellm",
  catalogue: null,
  label: "LiteLLM proxy",
  docs: "https://docs.litellm.ai/docs/proxy/user_keys",
  baseUrl: null,
  baseUrlVariables: ["LITELLM_PROXY_API_BASE", "LITELLM_API_BASE", "LITELLM_BASE_URL"],
  keyVariables: ["LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"],
  verified: { date: "2026-11-20" },
  // An address in file_id is a form of LiteLLM's own: https://docs.litellm.ai/docs/completion/document_understanding
  inlines: [],
  rerank: { docs: "https://docs.litellm.ai/docs/rerank" },
  embeddings: { docs: "https://docs.litellm.ai/docs/embedding/supported_embedding", ...LIKE_OPENAI },
  conversation: openTable("https://docs.litellm.ai/docs/proxy/user_keys", ["google"]),
  dialect: { blocks: ["*"], tools: ["*"], toolChoices: VENDOR_CHOICES, messageRules: ["*"] },
  privileged: ["context_window_fallbacks", "content_policy_fallbacks", "user_config"],
  guards: ["guardrails", "disable_global_guardrails"],
  takesDeveloper: true,
  // https://docs.litellm.ai/docs/proxy/users, https://docs.litellm.ai/docs/exception_mapping
  errors: [
    { class: "quota", codes: ["budget_exceeded"] },
    { class: "quota", statuses: [400, 429], text: /budget has been exceeded/i },
    // With 401, although the key is a good one for other models.
    { class: "not_found", codes: ["key_model_access_denied", "team_model_access_denied", "user_model_access_denied"] },
  ],
};

/**
 * Reasoning comes as `reasoning`. Suffixes of the model's name turn on search and memory:
 * https://nano-gpt.com/docs/llm.txt
 */
const nanogpt: OpenAICompatibleRow = {
  id: "nanogpt",
  label: "NanoGPT",
  docs: "https://docs.nano-gpt.com/api-reference/endpoint/chat-completion",
  baseUrl: "https://nano-gpt.com/api/v1",
  keyVariables: ["NANOGPT_API_KEY"],
  conversation: likeOpenAI({
    assistant: ["reasoning_details"],
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  }),
  lacks: [...without(OPENAI_ONLY, "verbosity", "service_tier", "prompt_cache_key"), "video_url"],
  blocks: { document: documentAsFile },
  reasoningBack: "reasoning",
  takesDeveloper: true,
};

export const gateways: readonly OpenAICompatibleRow[] = [openrouter, huggingface, vercel, litellm, nanogpt];
