// Converts Google's finish reasons, names and numbers, to OpenAI's.
// https://ai.google.dev/api/generate-content#FinishReason, https://github.com/googleapis/js-genai (enum FinishReason)
import type { FinishReason } from "../../core/chat.ts";

/** A map, because the reason that a server sends may be a name that every object has. */
const REASONS: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  // A later request with the token of the answer goes on.
  ["CONTINUATION", "length"],
  ["SAFETY", "content_filter"],
  ["RECITATION", "content_filter"],
  ["LANGUAGE", "content_filter"],
  ["BLOCKLIST", "content_filter"],
  ["PROHIBITED_CONTENT", "content_filter"],
  ["SPII", "content_filter"],
  ["IMAGE_SAFETY", "content_filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content_filter"],
  ["IMAGE_RECITATION", "content_filter"],
  ["MODEL_ARMOR", "content_filter"],
  ["ESCALATION", "content_filter"],
  ["PUP_LIMITED_DISABLED", "content_filter"],
]);

/**
 * Vertex's numbers (google.cloud.aiplatform.v1 Candidate.FinishReason). Its old servers send them; AI Studio has never
 * been seen to do so.
 */
const NUMBERED = [
  "FINISH_REASON_UNSPECIFIED",
  "STOP",
  "MAX_TOKENS",
  "SAFETY",
  "RECITATION",
  "OTHER",
  "BLOCKLIST",
  "PROHIBITED_CONTENT",
  "SPII",
  "MALFORMED_FUNCTION_CALL",
  "MODEL_ARMOR",
  "IMAGE_SAFETY",
  "IMAGE_PROHIBITED_CONTENT",
  "IMAGE_RECITATION",
  "IMAGE_OTHER",
  "UNEXPECTED_TOOL_CALL",
  "NO_IMAGE",
];
/** Matches reasons that the list does not have yet but that still mean withheld content. */
const WITHHELD = /SAFETY|PROHIBIT|BLOCK|RECITATION|JAILBREAK|POLICY/;

/** The server's finish reason. `null` as long as there is none, or when it is unspecified, the enumeration's zero. */
export function nativeFinish(value: unknown): string | null {
  const word = typeof value === "number" ? (NUMBERED[value] ?? String(value)) : value;
  return typeof word === "string" && word !== "" && word !== "FINISH_REASON_UNSPECIFIED" ? word : null;
}

/**
 * A reason that is not in the list counts as `stop`, because the server did finish the answer. The server has no finish
 * reason for function calls.
 */
export function finishReason(native: string, hasCalls: boolean): FinishReason {
  const reason = REASONS.get(native) ?? (WITHHELD.test(native) ? "content_filter" : "stop");
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}
