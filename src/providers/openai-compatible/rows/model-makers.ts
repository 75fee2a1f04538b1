// Companies that serve their own models with OpenAI's API.
import { isWebAddress } from "../../../core/text/web-address.ts";
import { type Capability, defaultOnly, NATIVE, native, same, unsupported } from "../../../core/capability.ts";
import type { ChatParams, Message, MessageRole } from "../../../core/chat.ts";
import { isObject } from "../../../core/json.ts";
import { unsupportedValue } from "../../../core/refusals.ts";
import { openTable } from "../../conversation/conversation-members.ts";
import type { Joins } from "../../conversation/join-texts.ts";
import { LEFT_OVERS, likeOpenAI, withNames } from "../conversation.ts";
import { LIKE_OPENAI } from "../tasks/embedding-row.ts";
import { BEYOND_TEXT, LOGPROBS, OPENAI_ONLY, PENALTIES, TOOLS, without } from "../features.ts";
import {
  base64Of,
  CHOICE_BY_OFFER,
  documentAs,
  documentAsFile,
  fileAtAddress,
  joinedRuns,
  jsonObjectAsSchema,
  namedToolAlone,
  stopAsList,
  textDocument,
  toolChoiceByOffer,
} from "../quirks.ts";
import type { BlockRewrite, ModelDifferences, OpenAICompatibleRow, ParameterRewrite, ResponsesModels } from "../row.ts";
import type { PriceFactor } from "../../../core/configured/price.ts";
import { mistral } from "./mistral.ts";
import { isRegional, OPENAI_PRICE_FACTORS } from "./openai-tiers.ts";

const SAMPLING = ["top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"] as const;

/** The models that reason unless they are asked not to, of those that can be asked. */
const REASONS_UNASKED = /^(ft:)?gpt-(5\.([5-9](?!\d)|[1-9]\d)|[6-9](?!\d)|1\d)(?!.*-(chat|pro|codex))/;

/** `unasked`: whether the model reasons when the request does not say how much. */
function reasons({ reasoning_effort: effort }: ChatParams, unasked: boolean): boolean {
  return effort === undefined ? unasked : effort !== "none";
}

/** https://platform.openai.com/docs/guides/latest-model, https://github.com/BerriAI/litellm/pull/34599 */
const WITHOUT_REASONING: Capability = {
  ...unsupported("other values than the default require reasoning_effort none"),
  neutral: (value, { params }) => value === 1 || !reasons(params, true),
};

/**
 * What reasoning models accept, and which of them accept stop sequences:
 * https://platform.openai.com/docs/guides/reasoning
 */
const OPENAI_GENERATIONS: readonly ModelDifferences[] = [
  // https://cookbook.openai.com/examples/gpt-5-codex_prompting_guide
  { models: /^(ft:)?gpt-5-codex/, lacks: ["verbosity"] },
  { models: /^(ft:)?(o3|o4-mini)(-\d|:|$)|^(ft:)?gpt-5(-mini|-nano)?(-\d|:|$)/, lacks: ["stop"] },
  { models: /^(ft:)?o1-mini/, lacks: ["stop"], cells: { n: defaultOnly(1) } },
  // Reasoning models of the o series lack it:
  // https://platform.openai.com/docs/guides/function-calling#parallel-function-calling
  { models: /^(ft:)?o[134](-|:|$)/, lacks: ["parallel_tool_calls"] },
  {
    models: /^(ft:)?o[134](-|:|$)|^(ft:)?gpt-5(-mini|-nano|-codex|-pro)?(-\d|:|$)/,
    lacks: SAMPLING,
    cells: { temperature: defaultOnly(1, "only the default, 1, because the model reasons") },
    renames: { max_tokens: "max_completion_tokens" },
  },
  // https://developers.openai.com/api/docs/guides/prompt-caching: "gpt-5.6 and later"
  { models: /^(ft:)?gpt-(5\.([6-9](?!\d)|[1-9]\d)|[6-9](?!\d)|1\d)/, cacheBreakpoints: true },
  // The vendor calls `max_tokens` deprecated for all models, and no model since o1 takes it:
  // https://platform.openai.com/docs/api-reference/chat/create#chat-create-max_tokens
  { models: /^(ft:)?gpt-(5\.\d|[6-9](?!\d)|1\d)/, renames: { max_tokens: "max_completion_tokens" } },
  { models: REASONS_UNASKED, cells: same(WITHOUT_REASONING, "temperature", "top_p", "logprobs", "top_logprobs") },
  {
    models: /^(ft:)?gpt-5\.\d/,
    cells: { temperature: native("values other than 1 require reasoning_effort none") },
  },
];

/** GPT-5.4, which reasons when it is asked to. */
const REASONS_WHEN_ASKED = /^(ft:)?gpt-5\.4(?!\d)(?!.*-(chat|pro|codex))/;

/**
 * "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use
 * /v1/responses or set reasoning_effort to 'none'." GPT-5.4 is refused only with an effort
 * (https://developers.openai.com/api/docs/guides/latest-model: its default is `none`), later models also without one:
 * https://github.com/BerriAI/litellm/pull/34569. Of the efforts, `max` is for the Responses API alone:
 * https://github.com/BerriAI/litellm-docs/pull/1173, https://github.com/mnfst/modelparams.dev/pull/236
 */
const CHAT_REFUSES: ResponsesModels["needed"] = {
  note: "From GPT-5.4 on, chat completions refuse tools while the model reasons. Such a conversation is asked for by the Responses API, unless `reasoning_effort` is `none`, which is the default of GPT-5.4 but not of later models. They also refuse the effort `max`, with which models from GPT-5.5 on are asked in the same way. Such a conversation takes the parameters of models that speak the Responses API alone. At an address that is not the vendor's, the Responses API is asked only where `native` of the provider's entry names `responses`.",
  source: "https://github.com/openai/openai-openapi/issues/541",
  isNeeded(params, model) {
    const hasTools = (params.tools ?? []).length > 0;
    if (!hasTools && params.reasoning_effort !== "max") return false;
    const unasked = REASONS_UNASKED.test(model);
    return (unasked || (hasTools && REASONS_WHEN_ASKED.test(model))) && reasons(params, unasked);
  },
};

/**
 * The vendor's pages of these models name no other operation with generated text:
 * https://platform.openai.com/docs/models
 */
export const OPENAI_RESPONSES: ResponsesModels = {
  only: /^(ft:)?(gpt-\d+(\.\d+)?-(pro|codex)|codex-mini|o\d-pro|o\d(-mini)?-deep-research|computer-use-preview)(-|:|$)/,
  needed: CHAT_REFUSES,
  source: "https://platform.openai.com/docs/models",
  reasoningFormat: "openai-responses-v1",
};

/** Fernet tokens, which begin with their version and the time: https://github.com/fernet/spec/blob/master/Spec.md */
export const OPENAI_SEAL = /^gAAA/;
/** Bytes in base64 that are no Fernet token, and ids. */
export const FOREIGN_TO_OPENAI = /^(?!gAAA)[A-Za-z0-9+/]+={0,2}$|^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/**
 * https://platform.openai.com/docs/guides/reasoning: these reason. Any other model, also one for chats of a generation that
 * reasons, refuses a request for encrypted reasoning: https://github.com/pydantic/pydantic-ai/issues/3326
 */
export const OPENAI_REASONING = /^(ft:)?(o[1-9]|gpt-[5-8](?!.*-chat)|codex-mini)/;

/**
 * A message of an answer may be sent back unchanged, including its annotations:
 * https://platform.openai.com/docs/guides/function-calling. OpenAI ignores the name of a tool message.
 */
export const OPENAI_MEMBERS = { assistant: ["annotations"], tool: ["name"], ...LEFT_OVERS };

/** Of data residency: https://platform.openai.com/docs/guides/your-data */
const REGIONS = /^https:\/\/[a-z]{2}\.api\.openai\.com$/;

export const openai: OpenAICompatibleRow = {
  id: "openai",
  // The vendor's other models belong to the operations for completions and images.
  listed: /^(gpt-(?!3\.5-turbo-instruct|image)|o\d|chatgpt-|codex-)/,
  label: "OpenAI",
  docs: "https://platform.openai.com/docs/api-reference/chat/create",
  baseUrl: "https://api.openai.com/v1",
  otherOrigins: REGIONS,
  native: {
    responses: {
      source: "https://platform.openai.com/docs/api-reference/responses/create",
      // https://github.com/openai/openai-openapi: paths with ?beta=true
      clientQuery: ["beta"],
      encryptedReasoning: OPENAI_REASONING,
      foreignSeal: FOREIGN_TO_OPENAI,
      refusesOpenReasoning: true,
    },
    "responses.input_tokens": {
      source: "https://developers.openai.com/api/reference/cli/resources/responses/subresources/input_tokens",
    },
  },
  // code_interpreter is billed by containers, and image_generation by tokens of another model
  hostedTools: [
    {
      kind: "web_search",
      types: ["web_search", "web_search_2025_08_26"],
      nanoUsd: 10_000_000,
      source: "https://platform.openai.com/docs/pricing",
    },
    {
      kind: "file_search",
      types: ["file_search"],
      nanoUsd: 2_500_000,
      source: "https://platform.openai.com/docs/pricing",
    },
  ],
  priceFactors: OPENAI_PRICE_FACTORS,
  isRegional,
  keyVariables: ["OPENAI_API_KEY"],
  verified: { source: "https://github.com/openai/openai-openapi", date: "2026-11-20" },
  moderations: { docs: "https://platform.openai.com/docs/api-reference/moderations" },
  embeddings: {
    docs: "https://platform.openai.com/docs/api-reference/embeddings/create",
    ...LIKE_OPENAI,
    except: [{ models: /ada-002/, lacks: ["dimensions"] }],
  },
  conversation: likeOpenAI(OPENAI_MEMBERS),
  elsewhere: openTable("https://platform.openai.com/docs/api-reference/chat/create", ["google"]),
  // OpenAI refuses longer ids: https://github.com/microsoft/autogen/issues/6377
  callIds: { fits: /^[^]{1,40}$/, length: 40 },
  lacks: ["video_url"],
  cells: {
    stop: native("up to 4"),
    web_search_options: native("search models only"),
    modalities: native("audio models only"),
    audio: native("audio models only"),
    input_audio: native("audio models only; wav or mp3"),
    file: native("file_id, or filename and file_data as a data URL; the gateway fetches URLs"),
  },
  inlines: ["file", "document"],
  blocks: { document: documentAsFile },
  models: OPENAI_GENERATIONS,
  responses: OPENAI_RESPONSES,
  dialect: { tools: ["custom"], toolChoices: ["custom", "allowed_tools"], blocks: ["refusal"] },
  errors: [{ class: "content_policy", codes: ["invalid_prompt"] }],
  clientHeaders: ["openai-beta"],
  takesDeveloper: true,
};

/**
 * The vendor ignores `user`, and `user_id` accepts only these characters:
 * https://api-docs.deepseek.com/api/create-chat-completion
 */
const deepseekUserId: ParameterRewrite = {
  note: "user_id, if it has only letters, digits, - and _",
  write: (user) => (typeof user === "string" && /^[A-Za-z0-9_-]{1,512}$/.test(user) ? { user_id: user } : {}),
};

const deepseek: OpenAICompatibleRow = {
  id: "deepseek",
  label: "DeepSeek",
  docs: "https://api-docs.deepseek.com/api/create-chat-completion",
  baseUrl: "https://api.deepseek.com",
  native: {
    responses: {
      source: "https://docs.rs/openai-interface/0.12.0/openai_interface/responses/index.html",
      foreignSeal: OPENAI_SEAL,
    },
    messages: {
      path: "/anthropic/v1/messages",
      source: "https://api-docs.deepseek.com/guides/anthropic_api",
      // its own are ids of messages: https://github.com/NousResearch/hermes-agent/pull/21048
      foreignSeal: /^[A-Za-z0-9+/]+={0,2}$/,
    },
  },
  requestIds: ["x-ds-trace-id"],
  keyVariables: ["DEEPSEEK_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: likeOpenAI({
    assistant: ["prefix"],
    ...LEFT_OVERS,
  }),
  lacks: [...OPENAI_ONLY, ...BEYOND_TEXT, "logit_bias"],
  cells: {
    response_format: native("json_schema is not supported", ["text", "json_object"]),
    tool_choice: native("required and naming a function require thinking to be disabled"),
    temperature: native("has no effect while thinking"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { user: deepseekUserId },
  models: [{ models: /^deepseek-flash/, cells: { image_url: NATIVE } }],
  reasoningBack: "reasoning_content",
  // "The `reasoning_content` in the thinking mode must be passed back to the API":
  // https://github.com/continuedev/continue/issues/11600
  reasoningBesideCalls: "",
  errors: [{ class: "not_found", statuses: [400], text: /supported API model names/i }],
};

/** A file is an id or an address: https://docs.x.ai/developers/rest-api-reference/inference/chat */
const xaiFile = fileAtAddress("a URL in file_id is sent as url", (url, rest) => ({ ...rest, url }));

/** The vendor answers others with "Model grok-3 does not support parameter reasoningEffort", or presencePenalty. */
const XAI_GENERATIONS: readonly ModelDifferences[] = [
  // https://github.com/NousResearch/hermes-agent/pull/23435
  { models: /^grok-(3(?!-mini)|code|4(-\d|-fast|\.20(?!-multi-agent)|-latest|$))/, lacks: ["reasoning_effort"] },
  {
    models: /^grok-4\.3/,
    cells: { reasoning_effort: native("none, low to high", ["none", "low", "medium", "high"]) },
  },
  // They always reason: https://docs.x.ai/developers/model-capabilities/text/reasoning
  { models: /^grok-4\.5/, cells: { reasoning_effort: native("low to high", ["low", "medium", "high"]) } },
  { models: /^grok-4\.6/, cells: { reasoning_effort: native("low to xhigh", ["low", "medium", "high", "xhigh"]) } },
  { models: /^grok-(3-mini|code|4|latest)(?!.*non-reasoning)/, lacks: ["stop", ...PENALTIES] },
  // Also without reasoning: https://github.com/miaoxworld/NativeTavern/issues/83
  { models: /^grok-4\.20/, lacks: PENALTIES },
];

/** xAI's `completion_tokens` exclude reasoning, while `total_tokens` include prompt, completion and reasoning. */
const xai: OpenAICompatibleRow = {
  id: "xai",
  vendor: "x_ai",
  catalogue: "x-ai",
  label: "xAI",
  docs: "https://docs.x.ai/developers/rest-api-reference/inference/chat",
  baseUrl: "https://api.x.ai/v1",
  native: {
    responses: {
      source: "https://docs.x.ai/developers/rest-api-reference/inference/chat",
      // https://docs.x.ai/developers/model-capabilities/text/best-practices
      encryptedReasoning: /^grok-[4-9](?!.*non-reasoning)/,
      foreignSeal: OPENAI_SEAL,
    },
  },
  keyVariables: ["XAI_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: likeOpenAI({ tool: ["name"], ...LEFT_OVERS }),
  lacks: [...without(OPENAI_ONLY, "service_tier"), "logit_bias", "input_audio", "video_url", "document"],
  cells: { service_tier: native("default, priority") },
  rewrites: { stop: stopAsList },
  blocks: { file: xaiFile },
  models: XAI_GENERATIONS,
  // "Multi Agent requests are not allowed on chat completions", says the vendor's error.
  responses: {
    only: /multi-agent/,
    source: "https://docs.x.ai/developers/model-capabilities/text/multi-agent",
    reasoningFormat: "xai-responses-v1",
  },
  // The choice, and the name of a result, are recorded: https://github.com/agentjido/req_llm/tree/main/test/support/fixtures/xai
  dialect: { blocks: ["text_file"], toolChoices: ["tool"] },
  reserved: ["deferred"],
  reasoningBack: "reasoning_content",
  takesDeveloper: true,
};

/** A PDF is sent as an address or as bare base64: https://docs.perplexity.ai/docs/sonar/openai-compatibility */
const perplexityFile: BlockRewrite = {
  note: "sent as a file_url block",
  write: (part, path) => {
    const file = isObject(part["file"]) ? part["file"] : {};
    const { file_data: data, file_id: id, filename } = file;
    const name = typeof filename === "string" && { file_name: filename };
    if (typeof data === "string")
      return { type: "file_url", file_url: { url: data.replace(/^data:[^,]*,/, "") }, ...name };
    if (isWebAddress(id)) return { type: "file_url", file_url: { url: id }, ...name };
    throw unsupportedValue(
      `${path}.file`,
      `perplexity does not store files: ${path}.file.file_id must be a URL, or send the file in file_data.`,
    );
  },
};
const perplexityDocument = documentAs("sent as a file_url block", (source, path) => {
  if (source["type"] === "url" && typeof source["url"] === "string")
    return { type: "file_url", file_url: { url: source["url"] } };
  return { type: "file_url", file_url: { url: base64Of(source, path).data } };
});

/** The bundled price of a request is that of the largest search: https://docs.perplexity.ai/docs/getting-started/pricing */
const PERPLEXITY_SEARCHES: readonly PriceFactor[] = (
  [
    ["low", /^sonar(?:-reasoning)?$/, [5, 12]],
    ["medium", /^sonar(?:-reasoning)?$/, [8, 12]],
    ["low", /^sonar(?:-reasoning)?-pro$/, [6, 14]],
    ["medium", /^sonar(?:-reasoning)?-pro$/, [10, 14]],
  ] as const
).map(([value, models, times]) => ({
  told: "search_context_size",
  values: [value],
  models,
  of: "requests",
  times,
  source: "https://docs.perplexity.ai/docs/getting-started/pricing",
}));

/**
 * "After the (optional) system message(s), user or tool message(s) should alternate with assistant message(s)":
 * https://github.com/perplexityai/api-discussion/issues/265, https://github.com/bieniu/ha-perplexity/issues/117
 */
function alternating(messages: readonly Message[], _model: string, joins: Joins): readonly Message[] {
  return joinedRuns(messages, TALKING, joins);
}
const TALKING: ReadonlySet<MessageRole> = new Set(["user", "assistant"]);

const perplexity: OpenAICompatibleRow = {
  id: "perplexity",
  label: "Perplexity",
  docs: "https://docs.perplexity.ai/docs/sonar/openai-compatibility",
  baseUrl: "https://api.perplexity.ai",
  // Deep research bills what it reads and thinks at separate prices:
  // https://docs.perplexity.ai/docs/getting-started/pricing
  billedBeside: { prompt: ["citation_tokens"], completion: ["reasoning_tokens"] },
  priceFactors: PERPLEXITY_SEARCHES,
  keyVariables: ["PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY", "PPLX_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://docs.perplexity.ai/api-reference/embeddings-post",
    path: "/v1/embeddings",
    mostInputs: 512,
    dimensions: "dimensions",
    base64Holds: "int8",
  },
  lacks: [
    ...without(OPENAI_ONLY, "web_search_options"),
    ...LOGPROBS,
    ...TOOLS,
    "n",
    "logit_bias",
    "seed",
    "user",
    "input_audio",
  ],
  cells: {
    reasoning_effort: native("minimal to high", ["minimal", "low", "medium", "high"]),
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { response_format: jsonObjectAsSchema },
  blocks: { file: perplexityFile, document: perplexityDocument },
  dialect: { blocks: ["file_url", "pdf_url"], messageRules: ["image_url_text", "schema_without_name"] },
  hooks: { messages: alternating },
};

const ai21: OpenAICompatibleRow = {
  id: "ai21",
  label: "AI21",
  docs: "https://docs.ai21.com/reference/jamba-1-6-api-ref",
  baseUrl: "https://api.ai21.com/studio/v1",
  keyVariables: ["AI21_API_KEY"],
  verified: { source: "https://github.com/AI21Labs/ai21-python", date: "2026-11-20" },
  lacks: [
    ...OPENAI_ONLY,
    ...LOGPROBS,
    ...PENALTIES,
    ...BEYOND_TEXT,
    "stream_options",
    "logit_bias",
    "seed",
    "user",
    "parallel_tool_calls",
    "reasoning_effort",
  ],
  cells: {
    max_tokens: native("at most 4096"),
    response_format: native("json_schema is not supported", ["text", "json_object"]),
    tools: native("not on streamed answers"),
    tool_choice: CHOICE_BY_OFFER,
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { tool_choice: toolChoiceByOffer },
  textAsString: true,
  errors: [{ class: "context_length", text: /prompt has too many tokens|input text length should not exceed/i }],
};

/**
 * With `diffusing`, each chunk replaces the text before it, which clients of OpenAI's API do not expect:
 * https://docs.inceptionlabs.ai
 */
const inception: OpenAICompatibleRow = {
  id: "inception",
  label: "Inception",
  docs: "https://docs.inceptionlabs.ai",
  baseUrl: "https://api.inceptionlabs.ai/v1",
  keyVariables: ["INCEPTION_API_KEY"],
  verified: { source: "https://api.inceptionlabs.ai/openapi.json", date: "2026-11-20" },
  lacks: [
    ...OPENAI_ONLY,
    ...LOGPROBS,
    ...PENALTIES,
    ...BEYOND_TEXT,
    "top_p",
    "n",
    "logit_bias",
    "seed",
    "user",
    "parallel_tool_calls",
  ],
  cells: {
    temperature: native("0.5 to 1; the vendor resets others to 0.75 and says so in warning"),
    max_tokens: native("at most 50000"),
    reasoning_effort: native("instant to high", ["instant", "low", "medium", "high"]),
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { stop: stopAsList, tool_choice: namedToolAlone },
  reserved: ["diffusing"],
};

const upstage: OpenAICompatibleRow = {
  id: "upstage",
  label: "Upstage",
  docs: "https://console.upstage.ai/docs/capabilities/generate/chat",
  baseUrl: "https://api.upstage.ai/v1",
  keyVariables: ["UPSTAGE_API_KEY"],
  embeddings: {
    docs: "https://console.upstage.ai/docs/capabilities/embed",
    mostInputs: 100,
  },
  conversation: likeOpenAI(),
  lacks: [...OPENAI_ONLY, "image_url", "input_audio", "video_url", "file"],
  cells: {
    reasoning_effort: native("solar-pro2 thinks only on high; on solar-pro3, low turns thinking off"),
    response_format: native("json_schema can be combined with tools"),
  },
  blocks: { document: textDocument },
};

/**
 * The path has no `/completions`. Streams end without [DONE] and repeat the complete text so far beside each delta:
 * https://dev.writer.com/api-reference/completion-api/chat-completion
 */
const writer: OpenAICompatibleRow = {
  id: "writer",
  label: "Writer",
  docs: "https://dev.writer.com/api-reference/completion-api/chat-completion",
  baseUrl: "https://api.writer.com/v1",
  path: "/chat",
  keyVariables: ["WRITER_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: withNames({ assistant: ["refusal", "graph_data"], tool: ["name"], calls: ["index"] }),
  lacks: [
    ...OPENAI_ONLY,
    ...PENALTIES,
    "top_logprobs",
    "logit_bias",
    "seed",
    "user",
    "parallel_tool_calls",
    "reasoning_effort",
    "input_audio",
    "video_url",
    "file",
  ],
  cells: {
    image_url: native("palmyra-x5 only"),
    response_format: native("json_schema from palmyra-x4 on"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  blocks: { document: textDocument },
  dialect: {
    tools: ["graph", "llm", "translation", "vision", "web_search"],
    messageRules: ["call_without_id", "tool_without_id"],
  },
};

const reka: OpenAICompatibleRow = {
  id: "reka",
  label: "Reka",
  docs: "https://docs.reka.ai/chat/overview",
  baseUrl: "https://api.reka.ai/v1",
  keyVariables: ["REKA_API_KEY"],
  lacks: [...OPENAI_ONLY, ...LOGPROBS, "n", "logit_bias", "user", "response_format", "parallel_tool_calls", "file"],
  cells: {
    tools: native("Reka Flash only"),
    video_url: native("short videos only"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  blocks: { document: textDocument },
  errors: [{ class: "quota", codes: ["p001"] }],
};

/** Models that merge an edit into a file. They answer tools with text, and lists of content with 500. */
const morph: OpenAICompatibleRow = {
  id: "morph",
  label: "Morph",
  docs: "https://docs.morphllm.com/api-reference/endpoint/apply",
  baseUrl: "https://api.morphllm.com/v1",
  keyVariables: ["MORPH_API_KEY"],
  lacks: [...OPENAI_ONLY, ...TOOLS, ...BEYOND_TEXT, "reasoning_effort"],
  cells: { temperature: native("the vendor advises 0") },
  textAsString: true,
};

const v0: OpenAICompatibleRow = {
  id: "v0",
  label: "v0",
  docs: "https://v0.app/docs/v0-model-api",
  baseUrl: "https://api.v0.dev/v1",
  keyVariables: ["V0_API_KEY"],
  lacks: [...OPENAI_ONLY, "reasoning_effort", "input_audio", "video_url", "file"],
  cells: { image_url: native("base64 data only; the gateway fetches URLs") },
  inlines: ["image_url"],
  blocks: { document: textDocument },
};

export const modelMakers: readonly OpenAICompatibleRow[] = [
  openai,
  deepseek,
  xai,
  mistral,
  perplexity,
  ai21,
  inception,
  upstage,
  writer,
  reka,
  morph,
  v0,
];
