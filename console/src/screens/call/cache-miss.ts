// Why a provider read less of a prompt from its cache than it had kept of the conversation, in words.
import { duration } from "../../format/time.ts";
import { visibleText } from "../../format/visible-text.ts";

/** As the log has it (docs/operations.md). */
export interface CacheMissFields {
  readonly why: string;
  readonly at?: "tools" | "system" | number;
  readonly earlier?: string;
  readonly ago_ms?: number;
}

/** A sentence; a reason of a later version of the gateway is shown as it is. */
export function missWords({ why, at, earlier, ago_ms: agoMs }: CacheMissFields): string {
  if (why === "other_target")
    return `The conversation's earlier call went to ${visibleText(earlier ?? "another target")}.`;
  if (why === "other_credential") return "The conversation's earlier call used another key of the provider.";
  if (why === "prompt_changed")
    return `The prompt has changed since the conversation's earlier call: ${pieceWords(at)}.`;
  if (why === "too_old")
    return `The conversation's earlier call was ${duration(agoMs ?? 0)} before, longer than the provider keeps a prompt.`;
  if (why === "not_found") return "The provider did not find what it had kept, although nothing had changed.";
  return `${visibleText(why)}.`;
}

function pieceWords(at: CacheMissFields["at"]): string {
  if (at === "tools") return "its tools are others";
  return at === "system" ? "its system text is another" : `from message ${at} on`;
}
