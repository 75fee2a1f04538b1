// The blocks of a turn as the vendor wrote them, where chat completions have no words for some of them: they travel in one member of the message,
// `extra_content.<vendor>.content`, in order, and go back to that vendor in place of what the message says otherwise (record 0006).
import type { Message, ToolCall } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { parseJson } from "../wire/json.ts";
import { JsonError } from "../wire/json-error.ts";

/** What a list of blocks says in words that chat completions have, too. */
export interface SaidInChat {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly input: Json | undefined }[];
}

/** What a vendor packed for itself into a message. */
export function packedFor(message: JsonObject, vendor: string): JsonObject | null {
  const extra = message["extra_content"];
  const packed = isObject(extra) ? extra[vendor] : undefined;
  return isObject(packed) ? packed : null;
}

/**
 * The blocks that came with a message; null where there are none, or where they no longer say what the message says: a client or a guard has changed
 * it, and what it says now is what counts.
 */
export function carriedBlocks(
  message: Message,
  vendor: string,
  saidBy: (blocks: readonly JsonObject[]) => SaidInChat,
): readonly JsonObject[] | null {
  const content = packedFor(message, vendor)?.["content"];
  if (!Array.isArray(content) || content.length === 0 || !(content as readonly Json[]).every(isObject)) return null;
  const blocks = content as readonly JsonObject[];
  const { text, calls } = saidBy(blocks);
  const made = message.tool_calls ?? [];
  const isSame =
    text === textOf(message.content) &&
    calls.length === made.length &&
    calls.every(({ id, input }, index) => isSameCall(made[index]!, id, input));
  return isSame ? blocks : null;
}

function textOf(content: Message["content"]): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return (content as readonly JsonObject[])
    .map((part) => (part["type"] === "text" && typeof part["text"] === "string" ? part["text"] : ""))
    .join("");
}

function isSameCall({ id, function: called }: Partial<ToolCall>, wanted: string, input: Json | undefined): boolean {
  if (id !== wanted || !isObject(called) || typeof called.arguments !== "string") return false;
  const given = called.arguments.trim() === "" ? {} : inputOf(called.arguments);
  return given !== null && JSON.stringify(given) === JSON.stringify(input ?? {});
}

/** The input that a model wrote, as an object; null for what is none, as where the answer was cut off. */
export function inputOf(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : null;
  } catch (thrown) {
    if (thrown instanceof JsonError) return null;
    throw thrown;
  }
}
