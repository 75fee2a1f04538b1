// Carries the items of an answer whole when a message of chat completions cannot express all of them: tools that the
// vendor ran, reasoning between two calls, several messages with their phases (record 0006). They are sent back in place
// of the message's other members. https://platform.openai.com/docs/guides/reasoning
import type { Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import { carriedBlocks, type ChatContent, isBeyondChat } from "../content-blocks/carried-turn.ts";
import { callIdOf, inputOf, isCustom, kindOf } from "./output-items.ts";
import { formOfCall } from "./stream-grammar.ts";

/** The order of items that a message can express. Calls come last; other items have no place in it. */
const ORDER: Readonly<Record<string, number>> = { reasoning: 0, message: 1 };
const CALLS = 2;

/** The member of an answer's message or of a delta. */
export function carriedItems(items: readonly JsonObject[], carriedAs: string): { readonly extra_content?: JsonObject } {
  const isBeyond =
    items.filter((item) => kindOf(item) === "message").length > 1 || isBeyondChat(items, placeOf, () => false);
  return isBeyond ? { extra_content: { [carriedAs]: { content: items } } } : {};
}

function placeOf(item: JsonObject): number | null {
  const isPlain =
    (item["namespace"] ?? null) === null &&
    item["phase"] !== "commentary" &&
    partsOf(item).every(({ annotations }) => objectsIn(annotations).every(({ type }) => type === "url_citation"));
  if (!isPlain) return null;
  return formOfCall(item["type"]) === null ? (ORDER[kindOf(item)] ?? null) : CALLS;
}

function partsOf(item: JsonObject): readonly JsonObject[] {
  return kindOf(item) === "message" ? objectsIn(item["content"]) : [];
}

/** The items that came with a message. `null` when there are none, or when they no longer match the message. */
export function itemsCarriedBy(message: Message, carriedAs: string): readonly JsonObject[] | null {
  return carriedBlocks(message, carriedAs, chatContentOf, isSameCall);
}

function chatContentOf(items: readonly JsonObject[]): ChatContent<JsonObject> {
  const texts = items.flatMap(partsOf).map(({ type, text }) => (type === "output_text" ? textOrEmpty(text) : ""));
  return { text: texts.join(""), calls: items.filter(({ type }) => formOfCall(type) !== null) };
}

function isSameCall(item: JsonObject, call: ToolCall): boolean {
  const isText = isCustom(item);
  const made: Json | undefined = isText ? call["custom"] : call.function;
  if (!isObject(made) || call.id !== callIdOf(item) || made["name"] !== item["name"]) return false;
  const input = inputOf(item);
  if (isText) return made["input"] === input;
  return made["arguments"] === input || (input === "" && made["arguments"] === "{}");
}
