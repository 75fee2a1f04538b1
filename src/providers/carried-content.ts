// The blocks of a turn as the vendor wrote them, when chat completions have no form for some of them. They travel in
// order in one member of the message, `extra_content.<vendor>.content`, and are sent back to that vendor in place of
// the message's other members (record 0006).
import type { Message, ToolCall } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import { parseJson } from "../wire/json.ts";
import { JsonError } from "../wire/json-error.ts";

/** The part of a list of blocks that chat completions can express as well. */
export interface ChatContent {
  readonly text: string;
  readonly calls: readonly { readonly id: string; readonly input: Json | undefined }[];
}

/** What a vendor's decoder has put into a message's `extra_content` for later turns. */
export function carriedExtras(message: JsonObject, vendor: string): JsonObject | null {
  const extra = message["extra_content"];
  const packed = isObject(extra) ? extra[vendor] : undefined;
  return isObject(packed) ? packed : null;
}

/**
 * The blocks that came with a message. `null` when there are none, or when they no longer match the message: a client
 * or a guard has then changed the message, and its present content counts.
 */
export function carriedBlocks(
  message: Message,
  vendor: string,
  saidBy: (blocks: readonly JsonObject[]) => ChatContent,
): readonly JsonObject[] | null {
  const content = carriedExtras(message, vendor)?.["content"];
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

/**
 * The input that a model wrote, as an object. `null` when it is not an object, for example because the answer was cut
 * off.
 */
export function inputOf(text: string): JsonObject | null {
  try {
    const value = parseJson(text);
    return isObject(value) ? value : null;
  } catch (thrown) {
    if (thrown instanceof JsonError) return null;
    throw thrown;
  }
}
