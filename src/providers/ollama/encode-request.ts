// Encodes a chat request as a request to Ollama's native chat API: https://docs.ollama.com/api/chat. Pass-through
// fields go to the top level, and those that the vendor documents as members of `options` go there (promise 6.5).
import type { ChatParams, ChatRequest } from "../../core/chat.ts";
import { isObject, mergeObjects, type JsonObject, present, type Json } from "../../core/json.ts";
import { invalidRequest, setByGateway } from "../../core/refusals.ts";
import type { Target } from "../../core/target.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import { hasParts } from "../conversation/join-texts.ts";
import {
  type EncodedRequest,
  type JoinedText,
  mappedNames,
  type WirePlaces,
  jsonPost,
} from "../interface/encoded-request.ts";
import { serverAddress } from "./address.ts";
import { encodeMessages } from "./encode-messages.ts";

export const RESERVED: ReadonlySet<string> = new Set(["model", "messages", "stream", "tools", "num_predict"]);

/**
 * Members of `options` that have no counterpart among the common parameters: https://docs.ollama.com/modelfile, and
 * those of older servers.
 */
const OPTIONS: ReadonlySet<string> = new Set(
  (
    "num_ctx num_keep num_batch num_gpu main_gpu num_thread draft_num_predict use_mmap use_mlock low_vram numa f16_kv vocab_only " +
    "top_k min_p typical_p tfs_z repeat_last_n repeat_penalty penalize_newline mirostat mirostat_eta mirostat_tau"
  ).split(" "),
);

const THINK: Readonly<Record<string, boolean | string>> = { none: false, minimal: "low", xhigh: "max" };

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { params, extra } = request;
  const options = encodeOptions(params);
  const encoded: JsonObject = {
    model: target.model,
    messages: encodeMessages(request.messages),
    stream: params.stream === true,
    ...encodeTopLevel(params),
    ...(Object.keys(options).length > 0 && { options }),
  };
  return {
    request: jsonPost(
      `${serverAddress(target)}/api/chat`,
      target.headers,
      mergeObjects(encoded, placed(extra), keepEncoded),
    ),
    memo: null,
    // only explanations read it
    get mapped() {
      return mappedNames(params, PLACES);
    },
  };
}

/** Throws as encodeRequest does. */
export function joinedTexts({ messages }: ChatRequest): readonly JoinedText[] {
  const joins: JoinedText[] = [];
  if (hasParts(messages)) encodeMessages(messages, joins);
  return joins;
}

function encodeTopLevel(params: ChatParams): JsonObject {
  const { tools = [], tool_choice: choice, reasoning_effort: effort } = params;
  return present({
    tools: tools.length === 0 || choice === "none" ? undefined : tools,
    format: encodeFormat(params.response_format),
    logprobs: params.logprobs === true ? true : undefined,
    top_logprobs: params.top_logprobs,
    think: effort === undefined ? undefined : (THINK[effort] ?? effort),
  });
}

function encodeFormat(format: ChatParams["response_format"]): Json | undefined {
  if (format === undefined || format.type === "text") return undefined;
  return (format.type === "json_schema" ? format.json_schema.schema : undefined) ?? "json";
}

function encodeOptions(params: ChatParams): JsonObject {
  return present({
    num_predict: params.max_completion_tokens ?? params.max_tokens,
    temperature: params.temperature,
    top_p: params.top_p,
    seed: params.seed,
    stop: stopSequences(params.stop),
    presence_penalty: params.presence_penalty,
    frequency_penalty: params.frequency_penalty,
  });
}

/** Puts pass-through fields in the places where the vendor has them. */
function placed(extra: JsonObject): JsonObject {
  const given = extra["options"] ?? {};
  if (!isObject(given)) throw invalidRequest("options", "options must be an object.");
  if ((given["num_predict"] ?? null) !== null) throw setByGateway("options.num_predict", "max_completion_tokens");
  const entries = Object.entries(extra).filter(([name]) => name !== "options");
  const inside = Object.fromEntries(entries.filter(([name]) => OPTIONS.has(name)));
  const options = mergeObjects(inside, given, keepEncoded, "options");
  return {
    ...Object.fromEntries(entries.filter(([name]) => !OPTIONS.has(name))),
    ...(Object.keys(options).length > 0 && { options }),
  };
}

const PLACES: WirePlaces = [
  ["max_completion_tokens", "options.num_predict"],
  ["temperature", "options.temperature"],
  ["top_p", "options.top_p"],
  ["seed", "options.seed"],
  ["stop", "options.stop"],
  ["presence_penalty", "options.presence_penalty"],
  ["frequency_penalty", "options.frequency_penalty"],
  ["response_format", "format"],
  ["reasoning_effort", "think"],
];
