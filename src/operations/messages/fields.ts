// Checks of single members of a request. null means "not set" for every optional member.
import type { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { invalid, invalidRequest, textAt } from "../../core/refusals.ts";

/** Returns the member; undefined when it is absent or null. */
export function given(holder: JsonObject, name: string): Json | undefined {
  return holder[name] ?? undefined;
}

export function filledTextAt(holder: JsonObject, name: string, path: string): string {
  const text = textAt(holder, name, path);
  if (text === "") throw invalid(`${path}.${name}`, "a string that is not empty", text);
  return text;
}

export function bad(path: string, message: string): GatewayError {
  return invalidRequest(path, `${path} ${message}`);
}

/** The member `cache_control` of a block or a tool, for the counterpart of that block. */
export function cacheMark(block: JsonObject, path: string): { readonly cache_control?: JsonObject } {
  const mark = given(block, "cache_control");
  if (mark === undefined) return {};
  if (!isObject(mark) || typeof mark["type"] !== "string")
    throw invalid(`${path}.cache_control`, "an object with a type", mark);
  return { cache_control: mark };
}
