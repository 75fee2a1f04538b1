// Encodes a chat request as a request to Cohere's chat API, version 2: https://docs.cohere.com/reference/chat
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { isSet, mergeObjects, type Json, type JsonObject, present } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import { type EncodedRequest, mappedNames, type WirePlaces, jsonPost } from "../interface/encoded-request.ts";
import { versionedPath } from "./address.ts";
import { encodeConversation } from "./encode-messages.ts";
import { encodeTools } from "./encode-tools.ts";

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
  const { response_format: format, reasoning_effort: effort } = params;
  return present({
    max_tokens: params.max_completion_tokens ?? params.max_tokens,
    temperature: params.temperature,
    // In the common parameters 1 means "not set", and it is outside the vendor's range.
    p: params.top_p === 1 ? undefined : params.top_p,
    seed: params.seed,
    stop_sequences: stopSequences(params.stop),
    presence_penalty: params.presence_penalty,
    frequency_penalty: params.frequency_penalty,
    logprobs: params.logprobs === true ? true : undefined,
    response_format: format === undefined || format.type === "text" ? undefined : encodeFormat(format),
    thinking: effort === undefined ? undefined : THINKING[effort],
  });
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
