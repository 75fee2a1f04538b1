// Why an answer ended: Google's words and numbers -> OpenAI's five. https://ai.google.dev/api/generate-content#FinishReason
import type { FinishReason } from "../../core/chat.ts";

const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  LANGUAGE: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
  IMAGE_SAFETY: "content_filter",
  IMAGE_PROHIBITED_CONTENT: "content_filter",
  IMAGE_RECITATION: "content_filter",
  MODEL_ARMOR: "content_filter",
};

/** Vertex's numbers (google.cloud.aiplatform.v1 Candidate.FinishReason): old servers of it send them, AI Studio was never seen to. */
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
/** Words that the list does not have yet, and that tell of withheld content all the same. */
const WITHHELD = /SAFETY|PROHIBIT|BLOCK|RECITATION|JAILBREAK|POLICY/;

/** The server's word; null while there is none. Unspecified, the zero of the enumeration, says nothing. */
export function nativeFinish(value: unknown): string | null {
  const word = typeof value === "number" ? (NUMBERED[value] ?? String(value)) : value;
  return typeof word === "string" && word !== "" && word !== "FINISH_REASON_UNSPECIFIED" ? word : null;
}

/** A word that is not in the list ends the answer like `stop`: the server did say that it is over. It has no word of its own for calls. */
export function finishReason(native: string, hasCalls: boolean): FinishReason {
  const reason = REASONS[native] ?? (WITHHELD.test(native) ? "content_filter" : "stop");
  return reason === "stop" && hasCalls ? "tool_calls" : reason;
}
