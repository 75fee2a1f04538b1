// Ids of tool calls. The server often sends none, and a client needs one that is unique in the conversation.
import { newRandomId } from "../../core/ids.ts";

const OWN_PREFIX = "call_gw_";

/** The server's id when it has one that no earlier tool call of the answer has, or else a new id. */
export function callId(given: unknown, inUse: ReadonlySet<string>): string {
  return typeof given === "string" && given !== "" && !inUse.has(given) ? given : OWN_PREFIX + newRandomId();
}

export function isOwnCallId(id: string): boolean {
  return id.startsWith(OWN_PREFIX);
}
