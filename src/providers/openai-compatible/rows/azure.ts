// Microsoft's two services with OpenAI's API, which share a header for keys and have addresses with a version:
// https://learn.microsoft.com/en-us/azure/foundry/openai/api-version-lifecycle
import { native, same } from "../../../core/capability.ts";
import type { ChatRequest } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import { FOREIGN_TO_CLAUDE } from "../../anthropic/native-messages.ts";
import { likeOpenAI } from "../conversation.ts";
import { LIKE_OPENAI } from "../tasks/embedding-row.ts";
import { LOGPROBS, OPENAI_ONLY, without } from "../features.ts";
import { documentAsFile, stopAsList } from "../quirks.ts";
import type { OpenAICompatibleRow, ParameterRewrite, ResponsesModels } from "../row.ts";
import { openai, OPENAI_MEMBERS, OPENAI_REASONING, OPENAI_RESPONSES, FOREIGN_TO_OPENAI } from "./model-makers.ts";
import { MISTRAL_CALL_IDS } from "./mistral.ts";

/**
 * A resource has a name in each of these domains:
 * https://learn.microsoft.com/en-us/azure/ai-services/cognitive-services-custom-subdomains,
 * https://learn.microsoft.com/en-us/azure/azure-government/compare-azure-government-global-azure
 */
const AZURE_ORIGINS = /^https:\/\/[a-z0-9-]+\.(openai|cognitiveservices|services\.ai)\.azure\.(com|us)$/;

const DEPLOYMENTS = "/openai/deployments/";
/** A version of the address form that names a deployment. The other form has `v1`, `preview`, or no version. */
const DATED = /^\d{4}-/;

/**
 * Splits a base address into its root and the suffix that belongs to one of the two address forms. Users configure the
 * address with and without a suffix.
 */
function azureBase(baseUrl: string): { readonly root: string; readonly form: string } {
  const form = /\/openai(\/v1|\/deployments\/[^/]+)?$/.exec(baseUrl)?.[0] ?? "";
  return { root: baseUrl.slice(0, baseUrl.length - form.length), form };
}

/** Whether the address names the deployment. Otherwise the body does. */
function isByDeployment({ baseUrl, settings }: Target, { params }: ChatRequest): boolean {
  const { form } = azureBase(baseUrl);
  if (form.startsWith(DEPLOYMENTS) && params.deployment_id === undefined) return true;
  return form !== "/openai/v1" && DATED.test(settings["api_version"] ?? "");
}

function azureAddress(target: Target, request: ChatRequest, operation = "/chat/completions"): string {
  const { root, form } = azureBase(target.baseUrl);
  const { deployment_id: deployment } = request.params;
  const version = target.settings["api_version"];
  const path = !isByDeployment(target, request)
    ? "/openai/v1"
    : form.startsWith(DEPLOYMENTS) && deployment === undefined
      ? form
      : DEPLOYMENTS + encodeURIComponent(deployment ?? target.model);
  return `${root}${path}${operation}${version === undefined ? "" : `?api-version=${version}`}`;
}

export function azureModel(target: Target, request: ChatRequest): JsonObject {
  return { model: isByDeployment(target, request) ? target.model : (request.params.deployment_id ?? target.model) };
}

export function azureCompletions(target: Target, request: ChatRequest): string {
  return azureAddress(target, request, "/completions");
}

/**
 * The form with a date exists only in previews of 2025, and `/openai/v1` at every resource:
 * https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/responses
 */
function azureResponsesAddress({ baseUrl, settings }: Target): string {
  const { root } = azureBase(baseUrl);
  const version = settings["api_version"];
  const query = version === undefined || DATED.test(version) ? "" : `?api-version=${version}`;
  return `${root.replace(/\/models$/, "")}/openai/v1/responses${query}`;
}

/**
 * Deployments, like all resources of Azure, have names in which letter case does not count:
 * https://learn.microsoft.com/en-us/azure/azure-resource-manager/management/resource-name-rules
 */
const ownName = (model: string): string => model.toLowerCase();

/** What one resource has encrypted means nothing to OpenAI. */
const AZURE_RESPONSES: ResponsesModels = {
  ...OPENAI_RESPONSES,
  source: "https://learn.microsoft.com/en-us/azure/foundry/openai/how-to/responses",
  reasoningFormat: "azure-openai-responses-v1",
  address: azureResponsesAddress,
};
const NATIVE_RESPONSES = {
  path: azureResponsesAddress,
  source: AZURE_RESPONSES.source,
  encryptedReasoning: OPENAI_REASONING,
  foreignSeal: FOREIGN_TO_OPENAI,
  refusesOpenReasoning: true,
} as const;

export const DEPLOYMENT_PLACE = "part of the path if api_version is a date, otherwise sent as model";
const deployment: ParameterRewrite = {
  note: DEPLOYMENT_PLACE,
  write: () => ({}),
};

/** Every address belongs to a resource of the user, so no address is treated as another server's. */
const { elsewhere: _elsewhere, moderations: _moderations, ...likeOpenAIRow } = openai;

/** The row has the same models as OpenAI's own, with the same exceptions. */
export const azure: OpenAICompatibleRow = {
  ...likeOpenAIRow,
  id: "azure",
  vendor: "azure.ai.openai",
  label: "Azure OpenAI",
  ownName,
  docs: "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/chat-create-chat-completion",
  baseUrl: "https://{resource}.openai.azure.com",
  otherOrigins: AZURE_ORIGINS,
  native: { responses: NATIVE_RESPONSES },
  baseUrlVariables: ["AZURE_OPENAI_ENDPOINT", "AZURE_API_BASE"],
  keyVariables: ["AZURE_OPENAI_API_KEY", "AZURE_API_KEY"],
  credentials: ["key", "entra"],
  settings: [
    {
      name: "resource",
      variables: ["AZURE_OPENAI_RESOURCE", "AZURE_RESOURCE_NAME"],
      meaning: "Name of the resource, which is part of the URL.",
    },
    {
      name: "api_version",
      variables: ["AZURE_API_VERSION", "OPENAI_API_VERSION"],
      field: "api_version",
      meaning:
        "With a date such as 2024-10-21, the deployment is called by its URL; with `v1`, `preview` or no value, /openai/v1 is called.",
    },
  ],
  verified: { date: "2026-11-20" },
  embeddings: {
    docs: "https://learn.microsoft.com/en-us/azure/foundry/openai/reference",
    ...LIKE_OPENAI,
    address: (target, request) => azureAddress(target, request, "/embeddings"),
    model: azureModel,
    deployments: true,
    except: [{ models: /ada-002/, lacks: ["dimensions"] }],
  },
  conversation: likeOpenAI(OPENAI_MEMBERS),
  auth: { header: "api-key", prefix: "" },
  requestIds: ["apim-request-id", "x-request-id"],
  cells: {
    ...openai.cells,
    reasoning_effort: native("not with older api_versions"),
    max_completion_tokens: native("requires an api_version from 2024-09 on"),
  },
  rewrites: { deployment_id: deployment },
  responses: AZURE_RESPONSES,
  // It names an address and may hold a key:
  // https://learn.microsoft.com/en-us/azure/ai-foundry/openai/references/on-your-data
  privileged: ["data_sources"],
  hooks: { address: (target, request) => azureAddress(target, request), model: azureModel },
};

/**
 * `/openai/v1` accepts no version, and every other path requires one. A resource without a path is called in the newer
 * form: https://learn.microsoft.com/en-us/azure/ai-foundry/foundry-models/how-to/inference
 */
function azureAiAddress({ baseUrl, settings }: Target, operation = "/chat/completions"): string {
  const { root, form } = azureBase(baseUrl);
  if (/^\/openai(\/v1)?$/.test(form) || /^https:\/\/[^/]+\.services\.ai\.azure\.com$/i.test(baseUrl))
    return `${root}/openai/v1${operation}`;
  return `${baseUrl}${operation}?api-version=${settings["api_version"] ?? AZURE_AI_VERSION}`;
}
const AZURE_AI_VERSION = "2024-05-01-preview";

/**
 * These are not in the common schema of `/models`, where the `extra-parameters` header below lets them pass:
 * https://learn.microsoft.com/en-us/azure/ai-studio/reference/reference-model-inference-api#extensibility
 */
const BEYOND_MODELS = same(
  native("depends on the model; not part of the common schema of /models"),
  ...without(OPENAI_ONLY, "web_search_options"),
  ...LOGPROBS,
  "n",
  "max_completion_tokens",
  "logit_bias",
  "user",
  "parallel_tool_calls",
  "reasoning_effort",
  "input_audio",
  "file",
);

export const azureAi: OpenAICompatibleRow = {
  id: "azure_ai",
  vendor: "azure.ai.inference",
  label: "Azure AI Foundry",
  ownName,
  docs: "https://learn.microsoft.com/en-us/azure/ai-foundry/foundry-models/how-to/inference",
  baseUrl: "https://{resource}.services.ai.azure.com/openai/v1",
  otherOrigins: AZURE_ORIGINS,
  native: {
    responses: NATIVE_RESPONSES,
    messages: {
      path: "/anthropic/v1/messages",
      source: "https://platform.claude.com/docs/en/build-with-claude/claude-in-microsoft-foundry",
      models: /claude/i,
      foreignSeal: FOREIGN_TO_CLAUDE,
    },
  },
  baseUrlVariables: ["AZURE_AI_ENDPOINT", "AZURE_AI_API_BASE", "AZURE_INFERENCE_ENDPOINT"],
  keyVariables: ["AZURE_AI_API_KEY", "AZURE_INFERENCE_CREDENTIAL"],
  credentials: ["key", "entra"],
  settings: [
    { name: "resource", variables: ["AZURE_AI_RESOURCE"], meaning: "Name of the resource, which is part of the URL." },
    {
      name: "api_version",
      variables: ["AZURE_AI_API_VERSION"],
      field: "api_version",
      meaning: `Version of the API for URLs that do not end in /openai/v1. The default is ${AZURE_AI_VERSION}.`,
    },
  ],
  verified: {
    source: "https://learn.microsoft.com/en-us/azure/foundry/reference/rest/chat-create-chat-completion",
    date: "2026-11-20",
  },
  embeddings: {
    docs: "https://learn.microsoft.com/en-us/rest/api/aifoundry/model-inference/get-embeddings/get-embeddings",
    ...LIKE_OPENAI,
    address: (target) => azureAiAddress(target, "/embeddings"),
    inputType: {
      name: "input_type",
      words: { search_document: "document", search_query: "query", semantic_similarity: "text" },
    },
    // https://docs.cohere.com/reference/embed
    except: [{ models: /cohere|embed-v/i, mostInputs: 96, lacks: ["tokens"] }],
  },
  conversation: {
    source: "https://learn.microsoft.com/en-us/azure/ai-foundry/foundry-models/how-to/inference",
    ...likeOpenAI({ assistant: ["annotations"] }),
  },
  auth: { header: "api-key", prefix: "" },
  requestIds: ["apim-request-id", "x-request-id"],
  lacks: ["web_search_options", "video_url"],
  cells: BEYOND_MODELS,
  rewrites: { stop: stopAsList },
  inlines: ["file", "document"],
  blocks: { document: documentAsFile },
  models: [
    ...openai.models!,
    { models: /^(?!(?:ft:)?(?:gpt|o\d|chatgpt|codex))/i, takes: ["reasoning_content", "reasoning"] },
    { models: /m(?:in)?istral|mixtral|codestral|pixtral|magistral|devstral/i, callIds: MISTRAL_CALL_IDS },
  ],
  responses: AZURE_RESPONSES,
  callIds: openai.callIds!,
  hooks: { address: (target) => azureAiAddress(target), headers: () => ({ "extra-parameters": "pass-through" }) },
  takesDeveloper: true,
};
