// Thought signatures, which the model requires back with the turn that they came with. They travel as
// `extra_content.google.thought_signature` on a tool call or a message, as in Google's own OpenAI-compatible endpoint.
// OpenRouter's reasoning_details are accepted too. https://ai.google.dev/gemini-api/docs/thought-signatures
import type { Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/**
 * The documented value for a function call that another model made:
 * https://ai.google.dev/gemini-api/docs/thought-signatures (FAQ).
 */
export const SKIP_VALIDATION = "skip_thought_signature_validator";

export function googleExtra(holder: JsonObject): JsonObject | null {
  const extra = holder["extra_content"];
  const google = isObject(extra) ? extra["google"] : undefined;
  return isObject(google) ? google : null;
}

export function signatureOf(holder: JsonObject): string | null {
  const signature = googleExtra(holder)?.["thought_signature"];
  return typeof signature === "string" && signature !== "" ? signature : null;
}

export function withSignature(part: JsonObject, signature: string | null): JsonObject {
  return signature === null ? part : { ...part, thoughtSignature: signature };
}

/** The member under which Google's data is carried in an answer. */
export function extraContent(google: JsonObject): JsonObject {
  return { google };
}

export function signaturesOf(message: Message) {
  const details = (message.reasoning_details ?? []).filter(
    (detail) =>
      detail.type === "reasoning.encrypted" && detail.format === "google-gemini-v1" && typeof detail.data === "string",
  );
  const calls = message.tool_calls ?? [];
  const callIds = new Set<Json | undefined>(calls.map((call) => call.id));
  const loose = details.find((detail) => !callIds.has(detail["id"]))?.data ?? null;
  const firstById = new Map(details.toReversed().map((detail) => [detail["id"], detail.data]));
  const byId = (id: Json | undefined): string | null => firstById.get(id) ?? null;
  return {
    text: signatureOf(message) ?? (calls.length === 0 ? loose : null),
    // Of parallel function calls only the first is signed.
    call: (call: ToolCall, index: number) => signatureOf(call) ?? byId(call.id) ?? (index === 0 ? loose : null),
  };
}
