// Companies in China that serve their own models with OpenAI's API. When a vendor has two sites, the row has the
// address outside China, and each site has keys of its own.
import { type Capability, defaultOnly, mapped, NATIVE, native, same } from "../../../core/capability.ts";
import type { Message } from "../../../core/chat.ts";
import { isObject, type JsonObject, objectsIn } from "../../../core/json.ts";
import type { Joins } from "../../conversation/join-texts.ts";
import { LEFT_OVERS, withNames } from "../conversation.ts";
import { FILES, LOGPROBS, OPENAI_ONLY, PENALTIES, without } from "../features.ts";
import {
  audioAsUrl,
  CHOICE_BY_OFFER,
  enableThinking,
  namedToolAlone,
  stopAsList,
  systemFirst,
  textDocument,
  thinkingSwitch,
  toolChoiceByOffer,
  withoutEmptyAnswers,
  withoutEmptyTexts,
} from "../quirks.ts";
import type { BlockRewrite, ErrorRule, ModelDifferences, OpenAICompatibleRow, ParameterRewrite } from "../row.ts";

/** The vendor's error codes: https://platform.kimi.ai/docs/api/errors */
const MOONSHOT_ERRORS: readonly ErrorRule[] = [
  { class: "quota", codes: ["exceeded_current_quota_error"] },
  { class: "overloaded", codes: ["engine_overloaded_error"] },
  { class: "rate_limit", codes: ["rate_limit_reached_error"] },
  { class: "authentication", codes: ["invalid_authentication_error", "incorrect_api_key_error"] },
  { class: "not_found", codes: ["resource_not_found_error"] },
];

/** For models before K2.5. */
const MOONSHOT_SAMPLING: NonNullable<OpenAICompatibleRow["cells"]> = {
  temperature: { support: "native", range: [0, 1] },
  n: { support: "native", note: "1 at temperature 0", range: [1, 5] },
  top_p: NATIVE,
  presence_penalty: NATIVE,
  frequency_penalty: NATIVE,
};

/**
 * Only one value is accepted, which depends on whether the model thinks:
 * https://platform.kimi.ai/docs/guide/kimi-k2-5-quickstart
 */
const MOONSHOT_TEMPERATURE: Capability = {
  support: "unsupported",
  note: "only the fixed value: 1, or 0.6 with thinking disabled",
  neutral: (value, { params, extra }) =>
    value ===
    (params.reasoning_effort === "none" || (isObject(extra["thinking"]) && extra["thinking"]["type"] === "disabled")
      ? 0.6
      : 1),
};

/** The efforts of a model that thinks. */
const GRADES = ["low", "medium", "high", "xhigh", "max"] as const;
const ALWAYS_THINKS = mapped("thinking: enabled; the model always thinks", ["minimal", ...GRADES]);

/**
 * "the message at position 8 with role 'assistant' must not be empty", and "text content is empty" of an empty part
 * beside calls of tools, where an empty string is accepted: https://github.com/router-for-me/CLIProxyAPI/issues/1730,
 * https://github.com/AstrBotDevs/AstrBot/issues/7200, https://github.com/BerriAI/litellm/issues/42186
 */
const moonshotMessages = (messages: readonly Message[]): readonly Message[] => withoutEmptyAnswers(messages, "");

/**
 * K2.5 and later accept one fixed value of every sampling parameter and refuse others. Before K3, thinking has a switch
 * of its own.
 */
const moonshot: OpenAICompatibleRow = {
  id: "moonshot",
  vendor: "moonshot_ai",
  catalogue: "moonshotai",
  label: "Moonshot AI",
  docs: "https://platform.kimi.ai/docs/api/chat",
  baseUrl: "https://api.moonshot.ai/v1",
  // https://platform.moonshot.cn/docs/guide/agent-support
  otherOrigins: /^https:\/\/api\.moonshot\.cn$/,
  native: {
    messages: { path: "/anthropic/v1/messages", source: "https://platform.kimi.ai/docs/guide/agent-support" },
  },
  keyVariables: ["MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY", "KIMI_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: withNames({ assistant: ["partial"], tool: ["name"] }),
  lacks: [
    ...without(OPENAI_ONLY, "prompt_cache_key", "safety_identifier"),
    ...LOGPROBS,
    ...PENALTIES,
    ...FILES,
    "logit_bias",
    "seed",
    "user",
    "input_audio",
    "n",
  ],
  cells: {
    temperature: MOONSHOT_TEMPERATURE,
    // https://platform.kimi.ai/docs/guide/kimi-k2-5-quickstart
    top_p: defaultOnly(0.95, "only the fixed value, 0.95"),
    reasoning_effort: native("low, high, max; cannot be combined with thinking", ["low", "high", "max"]),
    parallel_tool_calls: native("not in the vendor's schema"),
    text: native("empty parts beside others are not sent"),
    image_url: native("base64 data or ms:// only; the gateway fetches URLs"),
  },
  // "unsupported image url: https://...": https://platform.kimi.ai/docs/guide/use-kimi-vision-model
  inlines: ["image_url"],
  models: [
    // a named function is refused, and required is accepted: https://github.com/UKGovernmentBEIS/inspect_ai/pull/5152
    { models: /^kimi-k3/, rewrites: { tool_choice: namedToolAlone } },
    // "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2":
    // https://github.com/anomalyco/opencode/issues/16318
    { models: /^kimi-(k3|k2\.\d|k2-thinking|thinking)/, reasoningBesideCalls: " " },
    // "disabled" is an error: https://github.com/mnfst/modelparams.dev/pull/168
    { models: /^kimi-k2\.7-code/, cells: { reasoning_effort: ALWAYS_THINKS } },
    {
      models: /^kimi-k2/,
      cells: {
        tool_choice: native("naming a function requires thinking to be disabled", ["none", "auto", "function"]),
      },
    },
    { models: /^kimi-k2\.\d/, rewrites: { reasoning_effort: thinkingSwitch } },
    {
      models: /^(moonshot-v1|kimi-(k2(?!\.\d)|latest|thinking))/,
      lacks: ["reasoning_effort"],
      cells: MOONSHOT_SAMPLING,
    },
  ],
  // Uploaded files have the address ms://<file_id>: https://platform.kimi.ai/docs/guide/use-kimi-vision-model
  dialect: { messageRules: ["image_url_text", "ms_address"] },
  reasoningBack: "reasoning_content",
  errors: MOONSHOT_ERRORS,
  leavesOutEmpty: /(?:)/,
  hooks: { messages: moonshotMessages },
};

/** The vendor accepts 6 to 128 characters: https://docs.z.ai/api-reference/llm/chat-completion */
const zaiUserId: ParameterRewrite = {
  note: "user_id, if it has 6 to 128 characters",
  write: (user) => (typeof user === "string" && user.length >= 6 && user.length <= 128 ? { user_id: user } : {}),
};

/** The vendor's error codes: https://docs.z.ai/api-reference/api-code */
const ZAI_ERRORS: readonly ErrorRule[] = [
  { class: "context_length", codes: ["1261"] },
  { class: "quota", codes: ["1113", "1304", "1308", "1309", "1310"] },
  { class: "rate_limit", codes: ["1302", "1303", "1305", "1313"] },
  { class: "overloaded", codes: ["1312"] },
  { class: "content_policy", codes: ["1301"] },
  { class: "authentication", codes: ["1000", "1001", "1002", "1003", "1004"] },
  { class: "permission", codes: ["1110", "1111", "1112", "1121", "1220", "1311"] },
  { class: "not_found", codes: ["1211", "1221", "1222"] },
];

/** The vendor accepts reasoning_effort without any documented effect. It is still sent, in case the vendor uses it. */
const zaiThinking: ParameterRewrite = {
  note: "thinking: disabled for none, otherwise enabled; reasoning_effort is sent as well",
  write: (effort) => ({ thinking: { type: effort === "none" ? "disabled" : "enabled" }, reasoning_effort: effort }),
};

/** Which models can think, and which have levels of thinking: https://docs.z.ai/guides/capabilities/thinking-mode */
const ZAI_REASONING: readonly ModelDifferences[] = [
  { models: /^glm-(z1|4|5(\.[01])?(?!\.))/, rewrites: { reasoning_effort: zaiThinking } },
  {
    models: /^glm-5\.3/,
    cells: {
      reasoning_effort: native("low, high, max; the model always thinks", ["low", "high", "max"]),
    },
  },
];

const zai: OpenAICompatibleRow = {
  id: "zai",
  label: "Z.ai",
  docs: "https://docs.z.ai/api-reference/llm/chat-completion",
  baseUrl: "https://api.z.ai/api/paas/v4",
  // https://docs.bigmodel.cn/cn/guide/develop/claude
  otherOrigins: /^https:\/\/open\.bigmodel\.cn$/,
  native: {
    messages: { path: "/api/anthropic/v1/messages", source: "https://docs.z.ai/devpack/tool/claude" },
  },
  keyVariables: ["ZAI_API_KEY", "ZHIPU_API_KEY", "ZHIPUAI_API_KEY", "GLM_API_KEY"],
  verified: { source: "https://github.com/zai-org/z-ai-sdk-python", date: "2026-11-20" },
  embeddings: {
    docs: "https://docs.bigmodel.cn/api-reference/模型-api/文本嵌入",
    mostInputs: 64,
    dimensions: "dimensions",
    except: [{ models: /^embedding-2/, lacks: ["dimensions"] }],
  },
  conversation: { source: "https://docs.z.ai/api-reference/llm/chat-completion", ...LEFT_OVERS },
  lacks: [...OPENAI_ONLY, ...LOGPROBS, ...PENALTIES, "n", "logit_bias", "parallel_tool_calls", "input_audio", "file"],
  cells: {
    temperature: { support: "native", range: [0, 1] },
    top_p: { support: "native", range: [0.01, 1] },
    text: native("empty parts beside others are not sent"),
    tool_choice: native("only auto is documented; naming a function works as well"),
    response_format: native("json_schema is not supported", ["text", "json_object"]),
  },
  guards: ["sensitive_word_check"],
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { user: zaiUserId },
  blocks: { document: textDocument },
  models: ZAI_REASONING,
  // A result without the id of its call is recorded: https://github.com/agentjido/req_llm/tree/main/test/support/fixtures
  dialect: { blocks: ["file_url"], tools: ["web_search", "retrieval"], messageRules: ["tool_without_id"] },
  reasoningBack: "reasoning_content",
  errors: ZAI_ERRORS,
  // "messages[20].content[0].text:text cannot be empty" (1214): https://github.com/agentscope-ai/QwenPaw/issues/287
  hooks: { messages: withoutEmptyTexts },
};

/** Omni models require a data URL: https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions */
const dashscopeAudio: BlockRewrite = {
  note: "the data is sent as a data URL",
  write: (part) => {
    const { input_audio: audio } = part;
    if (!isObject(audio) || typeof audio["data"] !== "string" || /^(data:|https?:)/i.test(audio["data"])) return part;
    return { ...part, input_audio: { ...audio, data: `data:;base64,${audio["data"]}` } };
  },
};

/**
 * The vendor reports an exhausted limit per minute as insufficient_quota:
 * https://help.aliyun.com/en/model-studio/error-code
 */
const DASHSCOPE_ERRORS: readonly ErrorRule[] = [
  {
    class: "rate_limit",
    statuses: [429],
    codes: [
      "insufficient_quota",
      "limit_requests",
      "limit_burst_rate",
      "throttling",
      "throttling.ratequota",
      "throttling.burstrate",
      "throttling.allocationquota",
    ],
  },
  { class: "quota", codes: ["arrearage", "allocationquota.freetieronly"] },
  { class: "content_policy", codes: ["data_inspection_failed", "datainspectionfailed"] },
  { class: "authentication", codes: ["invalidapikey"] },
  { class: "not_found", codes: ["modelnotfound"] },
  { class: "content_policy", text: /DataInspectionFailed/i },
  { class: "rate_limit", statuses: [429], text: /exceeded your current|quota exceeded|increased too quickly/i },
];

const dashscope: OpenAICompatibleRow = {
  id: "dashscope",
  label: "Alibaba Cloud Model Studio (Qwen)",
  docs: "https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions",
  baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
  // https://www.alibabacloud.com/help/en/model-studio/base-url
  otherOrigins: /^https:\/\/(dashscope(-us)?|cn-hongkong\.dashscope|[a-z0-9-]+\.[a-z0-9-]+\.maas)\.aliyuncs\.com$/,
  native: {
    responses: { source: "https://help.aliyun.com/en/model-studio/compatibility-with-openai-responses-api" },
    messages: {
      path: "/apps/anthropic/v1/messages",
      source: "https://www.alibabacloud.com/help/en/model-studio/anthropic-api-messages",
    },
  },
  keyVariables: ["DASHSCOPE_API_KEY", "ALIBABA_API_KEY", "QWEN_API_KEY"],
  verified: { source: "https://help.aliyun.com/zh/dashscope/qwen-api-details", date: "2026-11-20" },
  rerank: {
    docs: "https://www.alibabacloud.com/help/en/model-studio/text-rerank-api",
    address: ({ baseUrl }) => `${baseUrl.replace(/\/compatible-mode\/v1$/, "/compatible-api/v1")}/reranks`,
  },
  embeddings: {
    docs: "https://www.alibabacloud.com/help/en/model-studio/text-embedding-synchronous-api",
    mostInputs: 10,
    dimensions: "dimensions",
    formats: ["float"],
    except: [{ models: /^text-embedding-v[12]/, mostInputs: 25, lacks: ["dimensions"] }],
  },
  conversation: {
    source: "https://help.aliyun.com/zh/model-studio/qwen-api-via-openai-chat-completions",
    assistant: ["partial"],
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  },
  lacks: [...without(OPENAI_ONLY, "modalities", "audio", "service_tier"), "frequency_penalty", "file"],
  cells: {
    n: { support: "native", note: "1 with tools", range: [1, 4] },
    top_logprobs: { support: "native", note: "depends on the model", range: [0, 5] },
    ...same(native("Omni models only"), "modalities", "audio"),
    logprobs: native("depends on the model"),
    ...same(native("not in the vendor's list"), "max_completion_tokens", "logit_bias", "user", "service_tier"),
    response_format: native("json_schema on newer models, but not while thinking"),
    tool_choice: native("required is not in the vendor's list; models that think cannot be forced to call a tool"),
  },
  blocks: { input_audio: dashscopeAudio, document: textDocument },
  models: [{ models: /^(qwen(?!3\.[78])|qwq|qvq)/, rewrites: { reasoning_effort: enableThinking } }],
  dialect: { blocks: ["video"] },
  reasoningBack: "reasoning_content",
  errors: DASHSCOPE_ERRORS,
};

/** Thinking is either adaptive or off: https://platform.minimax.io/docs/api-reference/text-chat-openai */
const minimaxThinking: ParameterRewrite = {
  note: "thinking: disabled for none, otherwise adaptive",
  write: (effort) => ({ thinking: { type: effort === "none" ? "disabled" : "adaptive" } }),
};

/**
 * The vendor takes one system message, which stands first: "chat content has invalid message role: system (2013)",
 * https://github.com/MiniMax-AI/MiniMax-M2/issues/27, https://github.com/BigPizzaV3/CodexPlusPlus/issues/267
 */
function oneSystemMessage(messages: readonly Message[], _model: string, joins: Joins): readonly Message[] {
  return systemFirst(messages, joins);
}

/**
 * Without parameters, the vendor answers "invalid params, function parameters is empty (2013)", and it takes the empty
 * object: https://github.com/QwenLM/qwen-code/issues/11834
 */
const minimaxTools: ParameterRewrite = {
  note: "a function without parameters gets those of an empty object",
  write: (tools, { tool_choice: choice }) => {
    const lacks = (tool: JsonObject): boolean =>
      isObject(tool["function"]) && !isObject(tool["function"]["parameters"]);
    const given = objectsIn(tools);
    // for none, the tools are not sent
    if (choice === "none" || !given.some(lacks)) return null;
    return {
      tools: given.map((tool) =>
        lacks(tool)
          ? {
              ...tool,
              function: { ...(tool["function"] as JsonObject), parameters: { type: "object", properties: {} } },
            }
          : tool,
      ),
    };
  },
};

/** Code 2013 stands for every wrong parameter: https://platform.minimax.io/docs/api-reference/errorcode */
const MINIMAX_ERRORS: readonly ErrorRule[] = [
  { class: "timeout", codes: ["1001"] },
  { class: "rate_limit", codes: ["1002", "1039", "1041"] },
  { class: "authentication", codes: ["1004", "2049"] },
  { class: "quota", codes: ["1008", "2056"] },
  { class: "content_policy", codes: ["1026", "1027"] },
  { class: "context_length", codes: ["2013"], text: /context window exceeds/i },
  { class: "invalid_request", codes: ["2013"] },
  // Errors in OpenAI's form have the code at the end of their message.
  { class: "content_policy", text: /new_sensitive|\((1026|1027)\)/i },
  { class: "quota", text: /\((1008|2056)\)/ },
  { class: "rate_limit", text: /\((1002|1039|1041)\)/ },
  { class: "authentication", text: /\((1004|2049)\)/ },
];

/** Reasoning is in the text between <think> tags unless `reasoning_split` is true. */
const minimax: OpenAICompatibleRow = {
  id: "minimax",
  label: "MiniMax",
  docs: "https://platform.minimax.io/docs/api-reference/text-chat-openai",
  baseUrl: "https://api.minimax.io/v1",
  // https://platform.minimaxi.com/docs/api-reference/text-anthropic-api
  otherOrigins: /^https:\/\/api\.minimaxi\.com$/,
  native: {
    messages: {
      path: "/anthropic/v1/messages",
      source: "https://platform.minimax.io/docs/api-reference/text-anthropic-api",
    },
  },
  keyVariables: ["MINIMAX_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: withNames({ assistant: ["reasoning_details"], tool: ["name"] }),
  lacks: [
    ...without(OPENAI_ONLY, "service_tier"),
    ...LOGPROBS,
    ...PENALTIES,
    ...FILES,
    "n",
    "stop",
    "logit_bias",
    "seed",
    "user",
    "response_format",
    "parallel_tool_calls",
    "input_audio",
  ],
  cells: {
    text: native("system messages are sent as one, in front"),
    tools: native(minimaxTools.note),
    // recorded: https://github.com/agentjido/req_llm/tree/main/test/support/fixtures/minimax
    tool_choice: {
      ...CHOICE_BY_OFFER,
      note: `${toolChoiceByOffer.note}; naming a function is not documented and not always followed`,
      values: [...CHOICE_BY_OFFER.values, "function", "tool"],
    },
    service_tier: native("standard, priority"),
    image_url: native("only MiniMax M3"),
    video_url: native("only MiniMax M3"),
  },
  guards: ["mask_sensitive_info"],
  dialect: { toolChoices: ["tool"] },
  rewrites: { reasoning_effort: minimaxThinking, tools: minimaxTools, tool_choice: toolChoiceByOffer },
  models: [{ models: /^minimax-(m[12]|text)/i, lacks: ["reasoning_effort"] }],
  reasoningBack: "reasoning_content",
  statusAt: ["base_resp", "status_code", "status_msg"],
  errors: MINIMAX_ERRORS,
  hooks: { messages: oneSystemMessage },
};

/** The error's type is the status in words: https://www.volcengine.com/docs/82379/1299023 */
const VOLCENGINE_ERRORS: readonly ErrorRule[] = [
  { class: "quota", codes: ["accountoverdueerror", "quotaexceeded"] },
  { class: "overloaded", codes: ["serveroverloaded"] },
  {
    class: "not_found",
    codes: [
      "invalidendpointormodel.notfound",
      "invalidendpointormodel.modelidaccessdisabled",
      "modelnotopen",
      "notfound",
    ],
  },
  { class: "authentication", codes: ["authenticationerror"] },
  { class: "rate_limit", codes: ["toomanyrequests"] },
  {
    class: "content_policy",
    statuses: [400],
    text: /may contain (sensitive|severe violation|violence|pornographic|inappropriate|politically)/i,
  },
];

const volcengine: OpenAICompatibleRow = {
  id: "volcengine",
  label: "Volcengine Ark (Doubao)",
  docs: "https://www.volcengine.com/docs/82379/1494384",
  baseUrl: "https://ark.cn-beijing.volces.com/api/v3",
  keyVariables: ["ARK_API_KEY", "VOLCENGINE_API_KEY", "VOLCANO_ENGINE_API_KEY", "VOLCANO_API_KEY", "DOUBAO_API_KEY"],
  verified: { source: "https://github.com/volcengine/volcengine-python-sdk", date: "2026-11-20" },
  embeddings: {
    docs: "https://www.volcengine.com/docs/82379/1521766",
    mostInputs: 256,
    formats: ["float", "base64"],
  },
  conversation: { source: "https://www.volcengine.com/docs/82379/1494384", ...withNames() },
  lacks: [...without(OPENAI_ONLY, "service_tier"), "seed", "file"],
  cells: {
    service_tier: native("auto, default"),
    reasoning_effort: native("minimal to high", ["minimal", "low", "medium", "high"]),
    max_completion_tokens: native("includes reasoning; cannot be combined with max_tokens"),
  },
  blocks: { document: textDocument },
  reasoningBack: "reasoning_content",
  errors: VOLCENGINE_ERRORS,
};

/** The vendor's error codes: https://cloud.baidu.com/doc/qianfan-api/s/Om9b4yj3w */
const QIANFAN_ERRORS: readonly ErrorRule[] = [
  { class: "context_length", codes: ["tokens_too_long", "characters_too_long"] },
  {
    class: "rate_limit",
    codes: ["rpm_rate_limit_exceeded", "tpm_rate_limit_exceeded", "preemptible_rate_limit_exceeded"],
  },
  { class: "authentication", codes: ["invalid_iam_token", "invalid_appid"] },
  { class: "content_policy", codes: ["system_unsafe", "user_setting_unsafe", "functions_unsafe", "image_url_unsafe"] },
];

const qianfan: OpenAICompatibleRow = {
  id: "qianfan",
  label: "Baidu Qianfan",
  docs: "https://cloud.baidu.com/doc/qianfan-api/s/3m7of64lb",
  baseUrl: "https://qianfan.baidubce.com/v2",
  keyVariables: ["QIANFAN_API_KEY"],
  conversation: withNames({ tool: ["name"] }),
  lacks: [...OPENAI_ONLY, "input_audio", "file"],
  cells: {
    max_tokens: native("limits the answer, not the reasoning"),
    max_completion_tokens: native("limits answer and reasoning together"),
    reasoning_effort: native("high, max, depending on the model; others use thinking or enable_thinking"),
    logprobs: native("not documented"),
    logit_bias: native("not documented"),
    n: native("not documented"),
  },
  rewrites: { stop: stopAsList },
  blocks: { document: textDocument },
  reasoningBack: "reasoning_content",
  errors: QIANFAN_ERRORS,
};

/**
 * The vendor shortens a conversation that is too long at its start without an error, and leaves the stop sequence in
 * the answer.
 */
const hunyuan: OpenAICompatibleRow = {
  id: "hunyuan",
  label: "Tencent Hunyuan",
  docs: "https://cloud.tencent.com/document/product/1729/111007",
  baseUrl: "https://api.hunyuan.cloud.tencent.com/v1",
  keyVariables: ["HUNYUAN_API_KEY", "TENCENT_API_KEY"],
  verified: { date: "2026-11-20" },
  conversation: { calls: ["index"] },
  lacks: [
    ...OPENAI_ONLY,
    ...LOGPROBS,
    ...PENALTIES,
    "n",
    "logit_bias",
    "user",
    "response_format",
    "parallel_tool_calls",
    "reasoning_effort",
    "input_audio",
    "file",
  ],
  cells: {
    seed: { support: "native", range: [1, 10_000] },
    tool_choice: native("naming a function is not supported; custom forces a call", ["none", "auto", "custom"]),
  },
  renames: { max_completion_tokens: "max_tokens" },
  rewrites: { stop: { ...stopAsList, note: "sent as an array; the matching text stays in the answer" } },
  blocks: { document: textDocument },
  dialect: { blocks: ["file_url"], toolChoices: ["custom"] },
};

const stepfun: OpenAICompatibleRow = {
  id: "stepfun",
  label: "StepFun",
  docs: "https://platform.stepfun.ai/docs/en/api-reference/chat/chat-completion-create",
  baseUrl: "https://api.stepfun.ai/v1",
  // https://platform.stepfun.com/docs/overview/quickstart
  otherOrigins: /^https:\/\/api\.stepfun\.com$/,
  keyVariables: ["STEPFUN_API_KEY", "STEP_API_KEY"],
  verified: {
    source: "https://platform.stepfun.com/docs/api-reference/chat/chat-completion-create",
    date: "2026-11-20",
  },
  conversation: withNames(),
  lacks: [
    ...OPENAI_ONLY,
    ...LOGPROBS,
    ...FILES,
    "presence_penalty",
    "logit_bias",
    "seed",
    "user",
    "parallel_tool_calls",
  ],
  cells: {
    frequency_penalty: { support: "native", range: [0, 1] },
    n: native("the vendor advises at most 5"),
    response_format: native("json_schema is not documented"),
    reasoning_effort: native("low, medium, high", ["low", "medium", "high"]),
    tool_choice: native("not documented"),
    video_url: native("mp4, by URL"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  reasoningBack: "reasoning",
  // The vendor's error codes: https://platform.stepfun.com/docs/zh/api-reference/error-codes
  errors: [{ class: "content_policy", statuses: [451] }],
};

const siliconflow: OpenAICompatibleRow = {
  id: "siliconflow",
  label: "SiliconFlow",
  docs: "https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions",
  baseUrl: "https://api.siliconflow.com/v1",
  // https://docs.siliconflow.cn/cn/api-reference/chat-completions/chat-completions
  otherOrigins: /^https:\/\/api\.siliconflow\.cn$/,
  keyVariables: ["SILICONFLOW_API_KEY"],
  verified: { date: "2026-11-20" },
  rerank: { docs: "https://docs.siliconflow.com/en/api-reference/rerank/create-rerank" },
  embeddings: {
    docs: "https://docs.siliconflow.com/en/api-reference/embeddings/create-embeddings",
    mostInputs: 32,
    formats: ["float", "base64"],
    dimensions: "dimensions",
    except: [{ models: /^(?!.*Qwen3)/i, lacks: ["dimensions"] }],
  },
  lacks: [...OPENAI_ONLY, ...LOGPROBS, ...FILES, "presence_penalty", "logit_bias", "seed", "parallel_tool_calls"],
  cells: {
    max_tokens: native("does not include the reasoning"),
    reasoning_effort: native("high, max, depending on the model; others use enable_thinking and thinking_budget"),
    user: native("accepted, but not documented"),
    tool_choice: native("accepted, but not documented"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  blocks: { input_audio: audioAsUrl },
  dialect: { blocks: ["audio_url"] },
  reasoningBack: "reasoning_content",
  // The vendor's error codes: https://docs.siliconflow.com/en/faqs/error-code
  errors: [
    { class: "not_found", codes: ["20012"] },
    { class: "quota", codes: ["30001"] },
  ],
};

export const modelMakersOfChina: readonly OpenAICompatibleRow[] = [
  moonshot,
  zai,
  dashscope,
  minimax,
  volcengine,
  qianfan,
  hunyuan,
  stepfun,
  siliconflow,
];
