// Merges pass-through members into an encoded body (promise 6.5): objects key by key, and never over what the gateway
// encoded.
import type { ChatParams } from "../../core/chat.ts";
import { isObject, type JsonObject, mergeObjects } from "../../core/json.ts";
import { setByGateway } from "../../core/refusals.ts";
import { keepEncoded } from "../conversation/pass-through.ts";
import { stopSequences } from "../conversation/stop-sequences.ts";
import type { SentPrompt } from "./row.ts";

const MAX_STOPS = 4;

export function withExtra(
  body: JsonObject,
  extra: JsonObject,
  reservedInside: Readonly<Record<string, string>>,
): JsonObject {
  if (Object.keys(extra).length === 0) return body;
  for (const [path, common] of Object.entries(reservedInside)) {
    const [outer = "", inner = ""] = path.split(".");
    const holder = extra[outer];
    if (isObject(holder) && holder[inner] !== undefined) throw setByGateway(path, common);
  }
  return mergeObjects(body, extra, keepEncoded);
}

/**
 * The caller's stop sequences and those of the prompt's form, if four are enough for both; otherwise only the caller's.
 * Undefined when there are none.
 */
export function stopWords(requested: ChatParams["stop"], added: readonly string[]): readonly string[] | undefined {
  const own = stopSequences(requested) ?? [];
  const further = added.filter((word) => !own.includes(word));
  const all = own.length + further.length <= MAX_STOPS ? [...own, ...further] : own;
  return all.length === 0 ? undefined : all;
}

/** Returns the text for a form that takes one. */
export function onlyText({ text, raw }: SentPrompt): string {
  return typeof raw === "string" ? raw : text;
}
