// Reads the items of an answer: https://platform.openai.com/docs/api-reference/responses/object (output).
import type { ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import { formOfCall, isInChat, type ItemType } from "./stream-grammar.ts";

/** The type of an item that has a place in a chat completion; all other types are one kind. */
export type ItemKind = ItemType | "other";

export function kindOf({ type }: JsonObject): ItemKind {
  return isInChat(type) ? type : "other";
}

/** The text that a call is made with: arguments of a function, or the input of a custom tool. */
export function inputOf(item: JsonObject): string {
  return textOrEmpty(item[formOfCall(item["type"])!.whole]);
}

/** Whether a call is made with a text in place of arguments. */
export function isCustom({ type }: JsonObject): boolean {
  return formOfCall(type)?.chat === "custom";
}

/** `call_id` pairs a call with its result; servers that omit it mean the item's own id. */
export function callIdOf({ call_id: callId, id }: JsonObject): string {
  return textOrEmpty(callId) || textOrEmpty(id);
}

/** A call without arguments gets an empty object, unless the answer was cut off before them. */
export function toolCallOf(item: JsonObject, isCut: boolean): ToolCall {
  const [id, name, input] = [callIdOf(item), textOrEmpty(item["name"]), inputOf(item)];
  return isCustom(item)
    ? ({ id, type: "custom", custom: { name, input } } as JsonObject as ToolCall)
    : { id, type: "function", function: { name, arguments: input === "" && !isCut ? "{}" : input } };
}

/** Citations have their members flat here, and their positions count from the beginning of their own part. */
export function annotationsOf(annotations: Json | undefined, partStart: number): JsonObject[] {
  return objectsIn(annotations).map((annotation) => {
    const { type, start_index: start, end_index: end, ...cited } = annotation;
    if (type !== "url_citation" || isObject(annotation["url_citation"])) return annotation;
    return {
      type,
      url_citation: {
        ...cited,
        title: typeof cited["title"] === "string" ? cited["title"] : textOrEmpty(cited["url"]),
        start_index: partStart + (typeof start === "number" ? start : 0),
        end_index: partStart + (typeof end === "number" ? end : 0),
      },
    };
  });
}
