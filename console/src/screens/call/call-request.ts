// The request of a call, made again from what is recorded: the names that it asked for, and its conversation where that has been opened. Values
// of parameters are not recorded, so they are named and left out.
import type { CallDetail } from "../../api/types.ts";
import type { JsonObject } from "../play/play-request.ts";
import type { CallContent } from "./use-content.ts";
import { recordOf } from "./call-record.ts";

export interface RemadeRequest {
  readonly body: JsonObject;
  /** Sentences about what it lacks. */
  readonly lacks: readonly string[];
}

const STAND_IN = "The conversation of the call stands here.";
/** Operations whose requests are conversations; the others cannot be sent again as one. */
const CONVERSATIONS = new Set(["chat.completions", "responses", "messages"]);
const NOT_VALUES = new Set(["model", "route", "messages", "stream", "tools", "user", "metadata"]);

/** Null where the call was no conversation. */
export function remadeRequest(call: CallDetail, content: CallContent | null): RemadeRequest | null {
  if (!CONVERSATIONS.has(call.operation)) return null;
  const { params = {}, metadata } = recordOf(call.record);
  const values = Object.keys(params).filter((name) => !NOT_VALUES.has(name));
  const route = call.route !== null && call.route !== "direct" ? call.route : null;
  const asked = call.model_asked ?? route ?? (call.provider === null ? null : `${call.provider}:${call.model ?? ""}`);
  const body = {
    ...(asked !== null && { model: asked }),
    ...(route !== null && asked !== route && /[:/]/.test(asked ?? "") && { route }),
    ...(call.stream && { stream: true }),
    ...(call.end_user !== null && { user: call.end_user }),
    ...(metadata !== undefined && { metadata: metadata as JsonObject }),
    ...(content?.tools !== undefined && content.tools.length > 0 && { tools: content.tools }),
    messages: (content?.messages ?? [{ role: "user", content: STAND_IN }]) as JsonObject["messages"],
  } as JsonObject;
  return {
    body,
    lacks: [
      ...(content === null ? ["The conversation has not been opened, so a sentence stands in its place."] : []),
      ...(content?.left_out === undefined ? [] : ["Not all of what was said was kept, because it was too long."]),
      ...(call.record === null ? ["Its parameters are not kept any more."] : []),
      ...(values.length === 0 ? [] : [`Values are not recorded of: ${values.join(", ")}.`]),
      ...(call.operation === "chat.completions" ? [] : ["It is written as a chat completion."]),
    ],
  };
}
