// Clouds that serve models of many makers with OpenAI's API, under addresses with an account, a region or a workspace.
// Microsoft's services are in azure.ts.
import { native, same } from "../../../core/capability.ts";
import type { ChatRequest } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import { VERSION } from "../../../core/version.ts";
import { FOREIGN_TO_CLAUDE } from "../../anthropic/native-messages.ts";
import { COHERE_INPUT_TYPES } from "../../tasks/embedding-parameters.ts";
import { likeOpenAI, likeVllm, withNames } from "../conversation.ts";
import { effortInReasoning, stopAsList } from "../quirks.ts";
import { watsonxEmbeddings } from "../tasks/watsonx-embeddings.ts";
import type { OpenAICompatibleRow, ParameterRewrite } from "../row.ts";
import { azure, azureAi } from "./azure.ts";
import { databricks } from "./databricks.ts";
import { OPENAI_SEAL } from "./model-makers.ts";
import { BEYOND_IMAGES, BEYOND_TEXT, FILES, LOGPROBS, OPENAI_ONLY, PENALTIES, TOOLS, without } from "../features.ts";

/**
 * types/defines/ai.d.ts in the vendor's runtime states what newer models accept. Codes:
 * https://developers.cloudflare.com/workers-ai/platform/errors/
 */
const cloudflare: OpenAICompatibleRow = {
  id: "cloudflare",
  label: "Cloudflare Workers AI",
  docs: "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
  baseUrl: "https://api.cloudflare.com/client/v4/accounts/{account_id}/ai/v1",
  keyVariables: ["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_API_KEY"],
  settings: [
    {
      name: "account_id",
      variables: ["CLOUDFLARE_ACCOUNT_ID"],
      meaning: "Id of the account, which is part of the URL.",
    },
  ],
  verified: { source: "https://github.com/cloudflare/workerd", date: "2026-11-20" },
  embeddings: {
    docs: "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
    mostInputs: 100,
  },
  conversation: {
    source: "https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/",
    ...likeVllm({ tool: ["name"] }),
  },
  lacks: ["verbosity", "prompt_cache_key", "safety_identifier", "video_url", "document"],
  cells: {
    ...same(
      native("newer models only: GLM, Kimi, Nemotron 3, Gemma 4"),
      "n",
      "prediction",
      "service_tier",
      "store",
      "modalities",
      "audio",
      "web_search_options",
      "input_audio",
      "file",
    ),
    response_format: native("only models in the vendor's JSON mode list"),
    reasoning_effort: native("by model: low, medium, high"),
    image_url: native("vision models only; base64 data only; the gateway fetches URLs"),
    max_tokens: native("the default is small, so set it for long answers"),
  },
  inlines: ["image_url", "file"],
  errors: [
    { class: "quota", codes: ["3036", "4006"] },
    { class: "overloaded", codes: ["3040"] },
    { class: "not_found", codes: ["5007", "3042"] },
    { class: "permission", codes: ["5016", "5018", "3023", "3041"] },
    { class: "timeout", codes: ["3007", "3008"] },
  ],
};

/**
 * Parameters that are "accepted and ignored" count as unsupported:
 * https://devcenter.heroku.com/articles/openai-compatibility-chat-completions
 */
const heroku: OpenAICompatibleRow = {
  id: "heroku",
  label: "Heroku Managed Inference",
  docs: "https://devcenter.heroku.com/articles/heroku-inference-api-v1-chat-completions",
  baseUrl: "https://us.inference.heroku.com/v1",
  baseUrlVariables: ["INFERENCE_URL", "HEROKU_INFERENCE_URL", "HEROKU_API_BASE"],
  keyVariables: ["INFERENCE_KEY", "HEROKU_INFERENCE_KEY", "HEROKU_API_KEY"],
  verified: {
    source: "https://devcenter.heroku.com/articles/openai-compatibility-chat-completions",
    date: "2026-11-20",
  },
  embeddings: {
    docs: "https://devcenter.heroku.com/articles/heroku-inference-api-v1-embeddings",
    mostInputs: 96,
    formats: ["float", "base64"],
    inputType: { name: "input_type", words: COHERE_INPUT_TYPES },
  },
  conversation: { source: "https://devcenter.heroku.com/articles/heroku-inference-api-v1-chat-completions" },
  // The add-on's variable holds only the host.
  barePath: "/v1",
  lacks: [...without(OPENAI_ONLY, "modalities"), ...LOGPROBS, ...PENALTIES, ...BEYOND_TEXT, "n", "logit_bias", "seed"],
  cells: {
    temperature: { support: "native", range: [0, 1] },
    modalities: native("text only"),
    parallel_tool_calls: native("ignored by Nova models"),
    response_format: native("supported in part"),
  },
  rewrites: { stop: stopAsList },
};

const digitalocean: OpenAICompatibleRow = {
  id: "digitalocean",
  label: "DigitalOcean Gradient",
  docs: "https://docs.digitalocean.com/products/gradient-ai-platform/how-to/use-serverless-inference/",
  baseUrl: "https://inference.do-ai.run/v1",
  keyVariables: [
    "DIGITALOCEAN_INFERENCE_KEY",
    "MODEL_ACCESS_KEY",
    "GRADIENT_MODEL_ACCESS_KEY",
    "DIGITALOCEAN_ACCESS_TOKEN",
  ],
  verified: { source: "https://github.com/digitalocean/openapi", date: "2026-11-20" },
  conversation: likeOpenAI({
    assistant: ["reasoning_content"],
    everyPart: ["cache_control"],
    tools: ["cache_control"],
  }),
  lacks: [...OPENAI_ONLY, ...BEYOND_IMAGES],
  cells: {
    reasoning_effort: native("for Anthropic models, a share of max_completion_tokens"),
    max_completion_tokens: native("256 or more; max_tokens has no such minimum"),
    response_format: native("not in the vendor's description"),
    image_url: native("not in the vendor's description"),
  },
  takesDeveloper: true,
};

/**
 * The vendor's page lists which parameters are accepted and which are not:
 * https://www.scaleway.com/en/docs/generative-apis/api-cli/using-chat-api/
 */
const scaleway: OpenAICompatibleRow = {
  id: "scaleway",
  label: "Scaleway Generative APIs",
  docs: "https://www.scaleway.com/en/docs/generative-apis/api-cli/using-chat-api/",
  baseUrl: "https://api.scaleway.ai/v1",
  keyVariables: ["SCW_SECRET_KEY", "SCALEWAY_API_KEY"],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://www.scaleway.com/en/docs/generative-apis/how-to/query-embedding-models/",
    mostInputs: 2048,
    dimensions: "dimensions",
  },
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...FILES, "n", "frequency_penalty", "logit_bias", "top_logprobs", "user", "video_url"],
  cells: {
    reasoning_effort: native("depends on the model"),
    input_audio: native("Voxtral models only"),
  },
  renames: { max_completion_tokens: "max_tokens" },
  errors: [{ class: "not_found", statuses: [422], text: /\bmodel\b/i }],
};

const ovhcloud: OpenAICompatibleRow = {
  id: "ovhcloud",
  label: "OVHcloud AI Endpoints",
  docs: "https://docs.ovhcloud.com/en/guides/public-cloud/ai-machine-learning/ai-endpoints-getting-started",
  baseUrl: "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1",
  keyVariables: ["OVH_AI_ENDPOINTS_ACCESS_TOKEN", "OVHCLOUD_API_KEY"],
  embeddings: { docs: "https://help.ovhcloud.com/csm/en-public-cloud-ai-endpoints-embeddings", mostInputs: 2048 },
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...FILES],
  cells: { reasoning_effort: native("depends on the model") },
  renames: { max_completion_tokens: "max_tokens" },
};

const snowflake: OpenAICompatibleRow = {
  id: "snowflake",
  label: "Snowflake Cortex",
  docs: "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
  baseUrl: "https://{account}.snowflakecomputing.com/api/v2/cortex/v1",
  keyVariables: ["SNOWFLAKE_TOKEN", "SNOWFLAKE_CORTEX_PAT", "SNOWFLAKE_PAT", "SNOWFLAKE_JWT"],
  settings: [
    {
      name: "account",
      variables: ["SNOWFLAKE_ACCOUNT", "SNOWFLAKE_ACCOUNT_ID"],
      meaning:
        "Identifier of the account, `organization-account`, with dashes instead of underscores; it is part of the URL.",
    },
  ],
  verified: { source: "https://docs.snowflake.com/user-guide/snowflake-cortex/open_ai_sdk", date: "2026-11-20" },
  conversation: {
    source: "https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api",
    ...withNames({ assistant: ["reasoning_details"], everyPart: ["cache_control"], tools: ["cache_control"] }),
  },
  lacks: [...BEYOND_IMAGES, "modalities", "audio", "web_search_options", "store"],
  cells: { image_url: native("base64 data only, on Claude and OpenAI models; the gateway fetches URLs") },
  inlines: ["image_url"],
  guards: ["guardrails"],
  renames: { max_tokens: "max_completion_tokens" },
  models: [
    {
      models: /claude/,
      // it reads `reasoning` and ignores reasoning_effort: the vendor's page
      rewrites: { reasoning_effort: effortInReasoning },
      cells: { response_format: native("json_object is not supported", ["json_schema"]) },
    },
    {
      models: /llama|mistral|mixtral|deepseek|arctic/,
      lacks: [...TOOLS, "response_format", "reasoning_effort", "image_url"],
    },
  ],
  // The finish reason is empty in all recorded answers.
  lacksFinishReason: true,
  takesDeveloper: true,
};

/**
 * `deployment/<id>` is the user's own deployed model, which is called only by its address and already belongs to a
 * project: https://cloud.ibm.com/apidocs/watsonx-ai#deployments-text-chat
 */
function watsonxAddress({ baseUrl, model, settings }: Target, { params }: ChatRequest): string {
  const root = baseUrl.replace(/\/ml\/v1$/, "");
  const deployment = watsonxDeployment(model);
  const place = deployment === null ? "" : `deployments/${encodeURIComponent(deployment)}/`;
  return `${root}/ml/v1/${place}text/${params.stream === true ? "chat_stream" : "chat"}?version=${settings["api_version"] ?? WATSONX_VERSION}`;
}
function watsonxModel({ model, settings }: Target): JsonObject {
  if (watsonxDeployment(model) !== null) return {};
  const { project_id, space_id } = settings;
  return {
    model_id: model,
    ...(space_id !== undefined && project_id === undefined ? { space_id } : project_id !== undefined && { project_id }),
  };
}
const watsonxDeployment = (model: string): string | null => /^deployment\/([^/]+)$/.exec(model)?.[1] ?? null;
const WATSONX_VERSION = "2024-10-08";

/** A choice that is a string is sent in a field of its own, and a named function in the common field. */
const watsonxToolChoice: ParameterRewrite = {
  note: "none, auto and required are sent as tool_choice_option",
  write: (choice) => (typeof choice === "string" ? { tool_choice_option: choice } : null),
};
const watsonxStream: ParameterRewrite = {
  note: "a different path: /text/chat_stream",
  write: () => ({}),
};

const watsonx: OpenAICompatibleRow = {
  id: "watsonx",
  vendor: "ibm.watsonx.ai",
  label: "IBM watsonx.ai",
  docs: "https://cloud.ibm.com/apidocs/watsonx-ai#text-chat",
  tasks: { embeddings: watsonxEmbeddings(watsonxModel, WATSONX_VERSION) },
  baseUrl: "https://{region}.ml.cloud.ibm.com",
  baseUrlVariables: ["WATSONX_URL", "WATSONX_API_BASE"],
  keyVariables: ["WATSONX_APIKEY", "WATSONX_API_KEY"],
  credentials: ["ibm_iam"],
  settings: [
    {
      name: "region",
      variables: ["WATSONX_REGION"],
      default: "us-south",
      meaning: "Region of the service, which is part of the URL.",
    },
    {
      name: "project_id",
      variables: ["WATSONX_PROJECT_ID"],
      meaning: "Project that is charged. It takes precedence over a space.",
    },
    {
      name: "space_id",
      variables: ["WATSONX_SPACE_ID", "WATSONX_DEPLOYMENT_SPACE_ID"],
      meaning: "Deployment space that is charged, instead of a project.",
    },
    {
      name: "api_version",
      variables: ["WATSONX_API_VERSION"],
      field: "api_version",
      meaning: `Version of the API, as a date. The default is ${WATSONX_VERSION}.`,
    },
  ],
  verified: { source: "https://github.com/IBM/watsonx-ai-node-sdk", date: "2026-11-20" },
  conversation: withNames({ assistant: ["refusal"] }),
  lacks: [...OPENAI_ONLY, ...BEYOND_IMAGES, "user", "stream_options", "parallel_tool_calls"],
  rewrites: { stop: stopAsList, tool_choice: watsonxToolChoice, stream: watsonxStream },
  reserved: ["model_id", "space_id", "tool_choice_option"],
  finishReasons: { time_limit: "length", cancelled: { failure: "server" } },
  errors: [{ class: "authentication", codes: ["authentication_token_expired", "authentication_token_not_valid"] }],
  hooks: { address: watsonxAddress, model: watsonxModel },
};

/** The models with open weights have another path: https://docs.aws.amazon.com/bedrock/latest/userguide/models-api-compatibility.html */
function mantleResponses({ baseUrl, model }: Target): string {
  return `${baseUrl.replace(/(\/openai)?\/v1$/, model.startsWith("openai.gpt-oss") ? "/v1" : "/openai/v1")}/responses`;
}

const bedrockMantle: OpenAICompatibleRow = {
  id: "bedrock-mantle",
  vendor: "aws.bedrock",
  label: "Amazon Bedrock (OpenAI-compatible)",
  docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
  baseUrl: "https://bedrock-mantle.{region}.api.aws/v1",
  native: {
    messages: {
      path: "/anthropic/v1/messages",
      source: "https://docs.aws.amazon.com/bedrock/latest/userguide/bedrock-mantle.html",
      models: /^anthropic\./,
      foreignSeal: FOREIGN_TO_CLAUDE,
      lacksFeatures: true,
    },
    responses: {
      path: mantleResponses,
      source: "https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html",
      models: /^openai\.gpt-/,
      foreignSeal: OPENAI_SEAL,
    },
  },
  keyVariables: ["AWS_BEARER_TOKEN_BEDROCK", "BEDROCK_MANTLE_API_KEY"],
  conversation: likeVllm(),
  settings: [
    {
      name: "region",
      variables: ["AWS_REGION", "AWS_DEFAULT_REGION", "BEDROCK_MANTLE_REGION"],
      field: "aws_region_name",
      meaning: "Region, which is part of the URL.",
    },
  ],
  lacks: [...FILES, "modalities", "audio", "web_search_options", "video_url"],
  cells: {
    reasoning_effort: native("gpt-oss: low, medium, high"),
    service_tier: native("default, priority, flex, reserved"),
    image_url: native("depends on the model"),
    input_audio: native("audio models only"),
  },
  // Chat completions answer "isn't supported on this route" for them, and so does `/v1/responses`:
  // https://github.com/NousResearch/hermes-agent/pull/65076
  responses: {
    only: /^openai\.gpt-(?!oss)/,
    source: "https://docs.aws.amazon.com/bedrock/latest/userguide/models-api-compatibility.html",
    reasoningFormat: "bedrock-mantle-responses-v1",
    address: mantleResponses,
  },
  // The model belongs to another path, or only to the Responses API:
  // https://docs.aws.amazon.com/bedrock/latest/userguide/inference-responses-api.html
  errors: [
    { class: "not_found", statuses: [400, 404], text: /not supported on this route|isn't supported on this route/i },
  ],
  takesDeveloper: true,
};

/**
 * Uses the service's own API keys, not the keys that sign requests:
 * https://docs.oracle.com/en-us/iaas/Content/generative-ai/api-keys.htm
 */
const oci: OpenAICompatibleRow = {
  id: "oci",
  label: "Oracle Cloud Generative AI",
  docs: "https://docs.oracle.com/en-us/iaas/Content/generative-ai/chat-completions-api.htm",
  baseUrl: "https://inference.generativeai.{region}.oci.oraclecloud.com/openai/v1",
  keyVariables: ["OCI_GENAI_API_KEY", "OCI_API_KEY"],
  conversation: likeOpenAI({ assistant: ["reasoning_content"] }),
  settings: [{ name: "region", variables: ["OCI_REGION"], meaning: "Region of the key, which is part of the URL." }],
  lacks: [...FILES, "modalities", "audio", "web_search_options", "video_url"],
  cells: {
    image_url: native("depends on the model"),
    reasoning_effort: native("depends on the model"),
  },
  takesDeveloper: true,
};

/**
 * No page describes these headers, but public clients send them: https://github.com/anomalyco/opencode,
 * https://github.com/BerriAI/litellm/tree/main/litellm/llms/github_copilot
 */
function copilotHeaders({ messages, blocks }: ChatRequest): Readonly<Record<string, string>> {
  return {
    "editor-version": `dragoman/${VERSION}`,
    "copilot-integration-id": "vscode-chat",
    "x-initiator": messages.at(-1)?.role === "user" ? "user" : "agent",
    ...(blocks.has("image_url") && { "copilot-vision-request": "true" }),
  };
}

const copilot: OpenAICompatibleRow = {
  id: "copilot",
  label: "GitHub Copilot",
  docs: "https://docs.github.com/en/copilot",
  baseUrl: "https://api.githubcopilot.com",
  keyVariables: ["GITHUB_COPILOT_API_KEY", "COPILOT_API_KEY"],
  verified: { source: "https://github.com/microsoft/vscode-copilot-chat", date: "2026-11-20" },
  embeddings: { docs: "https://docs.github.com/en/copilot", mostInputs: 512, dimensions: "dimensions" },
  conversation: likeOpenAI({
    system: ["copilot_cache_control"],
    user: ["copilot_cache_control"],
    assistant: ["reasoning_opaque", "copilot_cache_control"],
    tool: ["copilot_cache_control"],
  }),
  lacks: [...BEYOND_IMAGES, "modalities", "audio", "service_tier", "web_search_options", "store"],
  cells: {
    image_url: native("base64 data only; the gateway fetches URLs"),
    response_format: native("json_schema on GPT models"),
    tool_choice: native("required is not documented, but works"),
  },
  inlines: ["image_url"],
  // "'max_tokens' is not supported with this model": https://github.com/pssah4/vault-operator/issues/28
  models: [{ models: /^(gpt-5|o\d)/, renames: { max_tokens: "max_completion_tokens" } }],
  reasoningField: "reasoning_text",
  reasoningBack: "reasoning_text",
  // https://github.com/ericc-ch/copilot-api/pull/81, https://github.com/HKUDS/nanobot/pull/1555
  splitsAnswers: /claude/,
  // Its list of models names the endpoints of each, and `/responses` alone for these: from GPT-5.4 on, chat completions
  // answer "is not accessible via the /chat/completions endpoint" (https://github.com/jmdaly/llm-github-copilot/issues/32).
  responses: {
    only: /^gpt-([\d.]+-codex(-|$)|5\.([4-9](?!\d)|[1-9]\d)|[6-9](?!\d)|1\d)/,
    source: "https://github.com/microsoft/vscode-copilot-chat",
    reasoningFormat: "copilot-responses-v1",
  },
  hooks: { headers: copilotHeaders },
  takesDeveloper: true,
};

export const clouds: readonly OpenAICompatibleRow[] = [
  azure,
  azureAi,
  cloudflare,
  heroku,
  digitalocean,
  scaleway,
  ovhcloud,
  databricks,
  snowflake,
  watsonx,
  bedrockMantle,
  oci,
  copilot,
];
