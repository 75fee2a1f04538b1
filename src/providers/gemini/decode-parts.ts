// Decodes the parts of an answer into the members of a message or of a delta, which are the same.
// https://ai.google.dev/api/caching#Part
import type { ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { TurnOrder, withOrder } from "../../core/request/turn-order.ts";
import { callId } from "./call-ids.ts";
import type { RenamedFunctions } from "./encode-tools.ts";
import { extraContent } from "./signatures.ts";

/** The decoded members. A member is absent when no part contained it. */
export type DecodedParts = {
  content?: string;
  reasoning_content?: string;
  tool_calls?: ToolCall[];
  /** Images in OpenRouter's form: https://openrouter.ai/docs/features/multimodal/image-generation */
  images?: JsonObject[];
  /** OpenAI's audio answer. The server keeps no copy of it, so it counts as expired from the start. */
  audio?: JsonObject;
  /**
   * Under `google`: the text's `thought_signature`, and in `parts` the unchanged parts that have no other place, such
   * as executed code and its result.
   */
  extra_content?: JsonObject;
};

/** `takenIds` holds the ids of the choice's tool calls so far; new ids are added to it. */
export function decodeParts(parts: readonly Json[], takenIds: Set<string>, renamed: RenamedFunctions): DecodedParts {
  const out: DecodedParts = {};
  const order = new TurnOrder();
  for (const part of parts) {
    if (!isObject(part)) continue;
    decodePart(part, out, takenIds, renamed);
    const { content = "", reasoning_content: reasoning = "", tool_calls: calls = [] } = out;
    order.note({ text: content.length, reasoning: reasoning.length, details: 0, calls: calls.length });
  }
  return withOrder(out, order.pieces);
}

function decodePart(part: JsonObject, out: DecodedParts, takenIds: Set<string>, renamed: RenamedFunctions): void {
  const signature = part["thoughtSignature"];
  const text = part["text"];
  if (typeof text === "string") {
    if (part["thought"] === true) out.reasoning_content = (out.reasoning_content ?? "") + text;
    else if (text !== "") out.content = (out.content ?? "") + text;
    if (typeof signature === "string") addExtra(out, { thought_signature: signature });
    return;
  }
  const call = part["functionCall"];
  if (isObject(call) && typeof call["name"] === "string") {
    (out.tool_calls ??= []).push(decodeCall(call, call["name"], signature, takenIds, renamed));
    return;
  }
  const data = part["inlineData"];
  if (
    isObject(data) &&
    typeof data["data"] === "string" &&
    typeof data["mimeType"] === "string" &&
    part["thought"] !== true
  ) {
    if (data["mimeType"].startsWith("image/")) {
      (out.images ??= []).push({
        type: "image_url",
        image_url: { url: `data:${data["mimeType"]};base64,${data["data"]}` },
        ...signed(signature),
      });
      return;
    }
    if (data["mimeType"].startsWith("audio/") && out.audio === undefined) {
      out.audio = { data: data["data"], transcript: "", expires_at: 0, ...soundForm(data["mimeType"]) };
      return;
    }
  }
  keep(part, out);
}

/** Raw samples cannot be played without their rate: `audio/L16;codec=pcm;rate=24000`. */
function soundForm(mimeType: string): {
  readonly format: string;
  readonly mime_type: string;
  readonly sample_rate?: number;
} {
  const kind = /^audio\/([^;]+)/i.exec(mimeType)?.[1]?.toLowerCase() ?? "";
  const rate = Number(/;\s*rate=(\d{1,7})/i.exec(mimeType)?.[1] ?? 0);
  return {
    format: kind === "l16" || kind === "pcm" ? "pcm16" : kind.replace(/^x-/, ""),
    mime_type: mimeType,
    ...(rate > 0 && { sample_rate: rate }),
  };
}

function decodeCall(
  call: JsonObject,
  name: string,
  signature: Json | undefined,
  takenIds: Set<string>,
  renamed: RenamedFunctions,
): ToolCall {
  const id = callId(call["id"], takenIds);
  takenIds.add(id);
  const args = call["args"];
  return {
    id,
    type: "function",
    function: { name: renamed?.get(name) ?? name, arguments: isObject(args) ? JSON.stringify(args) : "{}" },
    ...signed(signature),
  };
}

function signed(signature: Json | undefined): { readonly extra_content?: JsonObject } {
  return typeof signature === "string" ? { extra_content: extraContent({ thought_signature: signature }) } : {};
}

/** Keeps a part of a kind that has no place in a message. A part with only a signature signs the message. */
function keep(part: JsonObject, out: DecodedParts): void {
  if (Object.keys(part).length === 0) return;
  const { thoughtSignature, ...rest } = part;
  if (Object.keys(rest).every((name) => name === "thought")) {
    if (typeof thoughtSignature === "string") addExtra(out, { thought_signature: thoughtSignature });
    return;
  }
  const google = out.extra_content?.["google"];
  const kept = isObject(google) ? google["parts"] : undefined;
  // A list that exists was created here, so it can be extended in place. Copying it for each part would take quadratic
  // time.
  if (Array.isArray(kept)) (kept as Json[]).push(part);
  else addExtra(out, { parts: [part] });
}

/**
 * Keeps what stands beside the parts of a candidate: its sources, which addresses were read
 * (https://ai.google.dev/gemini-api/docs/url-context), and the token with which a later request goes on.
 */
export function keepBeside(
  out: { extra_content?: JsonObject },
  { groundingMetadata: grounding, urlContextMetadata: read, continuationToken: token }: JsonObject,
): void {
  if (isObject(grounding)) addExtra(out, { grounding_metadata: grounding });
  if (isObject(read)) addExtra(out, { url_context_metadata: read });
  if (typeof token === "string" && token !== "") addExtra(out, { continuation_token: token });
}

function addExtra(out: { extra_content?: JsonObject }, added: JsonObject): void {
  const google = out.extra_content?.["google"];
  out.extra_content = extraContent(isObject(google) ? { ...google, ...added } : added);
}
