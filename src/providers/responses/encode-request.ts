// Encodes a chat request as a request of the Responses form: https://platform.openai.com/docs/api-reference/responses/create.
// Nothing is stored at the vendor: its reasoning comes encrypted, and is sent back by the client.
import type { ChatParams, ChatRequest, Message } from "../../core/chat.ts";
import { type Json, type JsonObject, listIn, mergeObjects, present } from "../../core/json.ts";
import { conflict, keepEncoded } from "../conversation/pass-through.ts";
import { mappedNames, type WirePlaces } from "../interface/encoded-request.ts";
import { encodeItems, type ReasoningBack } from "./encode-items.ts";
import { encodeChoice, encodeText, encodeTools } from "./encode-tools.ts";

/** Names that a pass-through may not set: what is encoded, and what lives at the vendor (promise 6.5). */
const RESERVED: ReadonlySet<string> = new Set([
  "model",
  "input",
  "instructions",
  "max_output_tokens",
  "tools",
  "tool_choice",
  "stream",
  "store",
  "background",
  "previous_response_id",
  "conversation",
  "prompt",
]);

/**
 * `messages` are those of the request as they go to this provider. Throws GatewayError `unsupported_content_block`,
 * `invalid_request` or `reserved_parameter` with the path.
 */
export function encodeBody(
  { params, extra, written }: Pick<ChatRequest, "extra" | "written"> & { readonly params: ChatParams },
  messages: readonly Message[],
  model: string,
  back: ReasoningBack,
) {
  const { include, ...passed } = extra;
  const reserved = Object.keys(passed).find((name) => RESERVED.has(name));
  if (reserved !== undefined) throw conflict(reserved);
  const encoded: JsonObject = {
    model,
    input: encodeItems(messages, back),
    store: false,
    include: included(params, include),
    ...encodeParams(params),
    ...encodeReasoning(params.reasoning_effort, written?.reasoningSummary),
  };
  return { body: mergeObjects(encoded, passed, keepEncoded), mapped: mappedNames(params, PLACES) };
}

function included(params: ChatParams, more: Json | undefined): readonly Json[] {
  return [
    ...new Set<Json>([
      "reasoning.encrypted_content",
      ...(params.logprobs === true ? ["message.output_text.logprobs"] : []),
      ...listIn(more),
    ]),
  ];
}

/** Parameters that have the same name and form here. */
const SAME = [
  "temperature",
  "top_p",
  "top_logprobs",
  "parallel_tool_calls",
  "service_tier",
  "prompt_cache_key",
  "user",
  "safety_identifier",
] as const satisfies readonly (keyof ChatParams)[];

/** "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16". Clients ask for 1 to try a model. */
const LEAST_BOUND = 16;

function encodeParams(params: ChatParams): JsonObject {
  const bound = params.max_completion_tokens ?? params.max_tokens;
  const tools = encodeTools(params);
  const obfuscation = params.stream_options?.["include_obfuscation"];
  return {
    ...Object.fromEntries(SAME.flatMap((name) => (params[name] === undefined ? [] : [[name, params[name]]]))),
    ...(bound !== undefined && { max_output_tokens: Math.max(LEAST_BOUND, bound) }),
    ...(tools.length > 0 && { tools }),
    ...(params.tool_choice !== undefined && { tool_choice: encodeChoice(params.tool_choice) }),
    ...encodeText(params),
    ...(params.stream === true && { stream: true }),
    ...(params.stream === true &&
      obfuscation !== undefined && { stream_options: { include_obfuscation: obfuscation } }),
  };
}

function encodeReasoning(effort: string | undefined, summary: string | undefined): JsonObject {
  const reasoning = present({ effort, summary });
  return Object.keys(reasoning).length === 0 ? {} : { reasoning };
}

/** What the places of chat completions are called here. Items and parts do not stand at the indexes of messages. */
const NAMED: readonly (readonly [place: RegExp, name: string])[] = [
  [/^input\b/, "messages"],
  [/^max_output_tokens$/, "max_completion_tokens"],
  [/^reasoning\.effort$/, "reasoning_effort"],
  [/^text\.format\b/, "response_format"],
  [/^text\.verbosity$/, "verbosity"],
];

/** Returns the field of a chat completion that the vendor names, as far as it has another name here. */
export function chatFieldOf(place: string): string {
  return NAMED.find(([pattern]) => pattern.test(place))?.[1] ?? place;
}

const PLACES: WirePlaces = [
  ["max_tokens", "max_output_tokens"],
  ["max_completion_tokens", "max_output_tokens"],
  ["response_format", "text.format"],
  ["verbosity", "text.verbosity"],
  ["reasoning_effort", "reasoning.effort"],
  ["logprobs", "include"],
  ["tools", "tools[], with flat functions"],
  ["tool_choice", "tool_choice, with a flat name"],
  ["web_search_options", "tools"],
  ["stream_options", "the last chunk, made by the gateway"],
];
