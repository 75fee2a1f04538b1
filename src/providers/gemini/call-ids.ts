// Ids of tool calls. The server often gives none, and a client needs one that is unique in the conversation.
import { newTraceId } from "../../core/ids.ts";

const OWN_PREFIX = "call_gw_";

/** The server's id where it has one that no earlier call of the answer has, else a new one. */
export function callId(given: unknown, taken: ReadonlySet<string>): string {
  return typeof given === "string" && given !== "" && !taken.has(given) ? given : OWN_PREFIX + newTraceId();
}

export function isOwnCallId(id: string): boolean {
  return id.startsWith(OWN_PREFIX);
}
