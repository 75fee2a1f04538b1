// Encodes a chat request as a request to Cohere's chat API, version 2: https://docs.cohere.com/reference/chat
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { isSet, mergeObjects, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import { type EncodedRequest, mappedNames, type WirePlaces, jsonPost } from "../interface/encoded-request.ts";
import { versionedPath } from "./address.ts";
import { encodeConversation } from "./encode-messages.ts";
import { encodeTools } from "./encode-tools.ts";

/** Wire names that a pass-through may not set (promise 6.5). */
export const RESERVED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "max_tokens",
  "stream",
  "tools",
  "tool_choice",
]);

/**
 * The highest effort has no budget, because the vendor advises not to bound thinking:
 * https://docs.cohere.com/docs/reasoning
 */
const THINKING: Readonly<Record<string, JsonObject>> = {
  none: { type: "disabled" },
  minimal: { type: "enabled", token_budget: 1024 },
  low: { type: "enabled", token_budget: 1024 },
  medium: { type: "enabled", token_budget: 8192 },
  high: { type: "enabled" },
};

/** Throws GatewayError `unsupported_content_block`, `invalid_request` or `reserved_parameter` with the path. */
export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { params, extra } = request;
  const { messages, documents } = encodeConversation(request.messages, target.model);
  const encoded: JsonObject = {
    model: target.model,
    messages,
    ...encodeTools(params, target.model),
    ...encodeParams(params),
    ...(documents.length > 0 && { documents }),
    ...(params.stream === true && { stream: true }),
  };
  return {
    request: jsonPost(
      versionedPath(target.baseUrl, "chat"),
      target.headers,
      mergeObjects(encoded, extra, withDocuments),
    ),
    memo: null,
    // only explanations read it
    get mapped() {
      return mappedNames(params, PLACES);
    },
  };
}

function encodeParams(params: ChatParams): JsonObject {
  const {
    temperature,
    top_p: topP,
    seed,
    stop,
    presence_penalty: presence,
    frequency_penalty: frequency,
    logprobs,
    response_format: format,
    reasoning_effort: effort,
  } = params;
  const maxTokens = params.max_completion_tokens ?? params.max_tokens;
  const sequences = stopSequences(stop);
  const thinking = effort === undefined ? undefined : THINKING[effort];
  return {
    ...(maxTokens !== undefined && { max_tokens: maxTokens }),
    ...(temperature !== undefined && { temperature }),
    // In the common parameters 1 means "not set", and it is outside the vendor's range.
    ...(topP !== undefined && topP !== 1 && { p: topP }),
    ...(seed !== undefined && { seed }),
    ...(sequences.length > 0 && { stop_sequences: sequences }),
    ...(presence !== undefined && { presence_penalty: presence }),
    ...(frequency !== undefined && { frequency_penalty: frequency }),
    ...(logprobs === true && { logprobs: true }),
    ...(format !== undefined && format.type !== "text" && { response_format: encodeFormat(format) }),
    ...(thinking !== undefined && { thinking }),
  };
}

/**
 * The vendor's page and recorded calls of version 2 call the schema `schema`, while the reference also has `json_schema`:
 * https://docs.cohere.com/docs/structured-outputs, https://docs.cohere.com/reference/chat
 */
function encodeFormat(format: NonNullable<ChatParams["response_format"]>): JsonObject {
  const schema = format.type === "json_schema" ? format.json_schema.schema : undefined;
  return { type: "json_object", ...(isSet(schema) && { schema }) };
}

/** Documents that are passed through are appended to those of the messages. */
function withDocuments(path: string, there: Json, added: Json): Json {
  const joined = path === "documents" && Array.isArray(there) && Array.isArray(added);
  return joined ? [...(there as readonly Json[]), ...(added as readonly Json[])] : keepEncoded(path, there, added);
}

const PLACES: WirePlaces = [
  ["max_completion_tokens", "max_tokens"],
  ["top_p", "p"],
  ["stop", "stop_sequences"],
  ["reasoning_effort", "thinking"],
];
