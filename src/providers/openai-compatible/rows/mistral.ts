// Mistral: the form is OpenAI's, the schema is closed (unknown members are refused with 422), and content is a list of
// blocks in requests and answers. https://docs.mistral.ai/api/endpoint/chat and the vendor's client generated from it:
// https://github.com/mistralai/client-python
import type { EmbeddingRow } from "../tasks/embedding-row.ts";
import { mapped, native } from "../../../core/capability.ts";
import type { ContentPart, Message } from "../../../core/chat.ts";
import { isObject } from "../../../core/json.ts";
import type { CallIdForm } from "../../conversation/tool-calls.ts";
import { mappedList } from "../../../core/request/mapped-list.ts";
import { LOGPROBS, OPENAI_ONLY, without } from "../features.ts";
import { isWebAddress } from "../../../core/text/web-address.ts";
import { base64Of, documentAs } from "../quirks.ts";
import type { BlockRewrite, OpenAICompatibleRow, ParameterRewrite } from "../row.ts";

/**
 * A stored file is sent as `file_id` beside the type. Everything else is an address, which may be a data URL:
 * https://docs.mistral.ai/capabilities/document_ai/document_qna
 */
const file: BlockRewrite = {
  note: "sent as a document_url block, or as a file block with file_id",
  write: (part) => {
    if (part["file"] === undefined) return part;
    const { file_id: id, file_data: data, filename } = isObject(part["file"]) ? part["file"] : {};
    if (typeof id === "string" && !isWebAddress(id)) return { type: "file", file_id: id };
    const address =
      typeof id === "string"
        ? id
        : typeof data === "string" && !data.startsWith("data:")
          ? `data:application/pdf;base64,${data}`
          : data;
    return {
      type: "document_url",
      document_url: address!,
      ...(typeof filename === "string" && { document_name: filename }),
    };
  },
};
const document = documentAs("sent as a document_url block", (source, path) => {
  if (source["type"] === "file" && typeof source["file_id"] === "string")
    return { type: "file", file_id: source["file_id"] };
  if (source["type"] === "url" && typeof source["url"] === "string")
    return { type: "document_url", document_url: source["url"] };
  const { mediaType, data } = base64Of(source, path);
  return { type: "document_url", document_url: `data:${mediaType};base64,${data}` };
});

/** Mistral refuses an empty list of tools with 422. */
const toolsUnlessEmpty: ParameterRewrite = {
  note: "an empty list is not sent",
  write: (tools) => (Array.isArray(tools) && tools.length === 0 ? {} : null),
};

/** https://docs.mistral.ai/inference/priority-tier */
const tierWord: ParameterRewrite = {
  note: "default -> standard_only",
  write: (tier) => (tier === "default" ? { service_tier: "standard_only" } : null),
};

/**
 * Models that think. Only they accept the thinking of earlier turns: https://docs.mistral.ai/capabilities/reasoning
 */
const THINKS = /^magistral|^mistral-(small|medium)-(latest|3|2[6-9])/;

/**
 * Ids have nine letters and digits; others are refused with 400 and code 3280:
 * https://mistralai.github.io/mistral-common/usage/tools/. Placeholders for ids in conversations that were recorded and
 * anonymized (`call_REDACTED_1`) are sent unchanged, and the vendor decides about them.
 */
export const MISTRAL_CALL_IDS: CallIdForm = { fits: /^(?:[a-zA-Z0-9]{9}|call_[A-Z]+_\d+)$/, length: 9 };

/**
 * Sends reasoning as a block before the text. For models that do not think, the reasoning has already been left out.
 */
function withThinking(messages: readonly Message[]): readonly Message[] {
  return mappedList(messages, (message) => {
    const { reasoning_content: content, reasoning, ...rest } = message;
    if (message.role !== "assistant" || (content === undefined && reasoning === undefined)) return message;
    const text = content ?? reasoning;
    if (typeof text !== "string" || text === "") return rest;
    const given: readonly ContentPart[] =
      typeof rest.content === "string"
        ? rest.content === ""
          ? []
          : [{ type: "text", text: rest.content }]
        : (rest.content ?? []);
    return { ...rest, content: [{ type: "thinking", thinking: [{ type: "text", text }] }, ...given] };
  });
}

const EMBEDDINGS: EmbeddingRow = {
  docs: "https://docs.mistral.ai/api/endpoint/embeddings",
  // what clients send, because the vendor names no bound: https://github.com/vercel/ai
  mostInputs: 32,
  dimensions: "output_dimension",
  formats: ["float", "base64"],
  except: [{ models: /^mistral-embed/, lacks: ["dimensions"] }],
};

/** https://docs.mistral.ai/resources/deprecated/guardrailing/safe_prompt, which names what replaces it */
export const MISTRAL_GUARDS: readonly string[] = ["guardrails", "safe_prompt"];

export const mistral: OpenAICompatibleRow = {
  id: "mistral",
  vendor: "mistral_ai",
  label: "Mistral AI",
  docs: "https://docs.mistral.ai/api/endpoint/chat",
  baseUrl: "https://api.mistral.ai/v1",
  requestIds: ["mistral-correlation-id", "x-kong-request-id"],
  keyVariables: ["MISTRAL_API_KEY"],
  verified: { source: "https://github.com/mistralai/client-python", date: "2026-11-20" },
  moderations: { docs: "https://docs.mistral.ai/api/endpoint/classifiers" },
  guards: MISTRAL_GUARDS,
  embeddings: EMBEDDINGS,
  conversation: {
    source: "https://github.com/mistralai/client-python",
    assistant: ["prefix"],
    tool: ["name"],
    calls: ["index"],
    parts: { file: ["file_id"] },
  },
  lacks: [
    ...without(OPENAI_ONLY, "prediction", "prompt_cache_key", "service_tier"),
    ...LOGPROBS,
    "logit_bias",
    "user",
    "video_url",
  ],
  cells: {
    tools: native("an empty list is not sent"),
    reasoning_effort: native("none, high; on models that list it", ["none", "high"]),
    service_tier: mapped("default -> standard_only", ["auto", "default", "standard_only"]),
  },
  renames: { max_completion_tokens: "max_tokens", seed: "random_seed" },
  rewrites: { tools: toolsUnlessEmpty, service_tier: tierWord },
  blocks: { file, document },
  models: [
    // Large: "not enabled for this model", https://github.com/dust-tt/dust/pull/27613
    { models: /^(magistral|mistral-large|codestral)/, lacks: ["reasoning_effort"] },
    // https://docs.mistral.ai/models/zai-glm-5-3, https://github.com/anomalyco/models.dev/pull/7334
    { models: /^zai-glm/, cells: { reasoning_effort: native("low, high, max; none depends on the model") } },
    { models: THINKS, reads: ["reasoning_content", "reasoning"] },
  ],
  callIds: MISTRAL_CALL_IDS,
  dialect: {
    blocks: ["document_url", "thinking", "reference", "tool_reference"],
    tools: [
      "web_search",
      "web_search_premium",
      "code_interpreter",
      "image_generation",
      "document_library",
      "connector",
    ],
    toolChoices: ["any"],
    // Otherwise the vendor answers with 400 and code 3230: https://github.com/datapizza-labs/datapizza-ai/issues/98
    assistantAfterTools: true,
    messageRules: [
      "image_url_text",
      "input_audio_text",
      "file_id_alone",
      "tool_without_type",
      "empty_content",
      "no_content",
      "arguments_not_text",
      "call_without_id",
      "tool_without_id",
    ],
  },
  hooks: { messages: withThinking },
};
