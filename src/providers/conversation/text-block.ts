// A text as the content blocks of APIs that take both.
import type { JsonObject } from "../../core/json.ts";

/** Returns a content as blocks; an empty text has none. */
export function asBlocks(content: string | readonly JsonObject[]): readonly JsonObject[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}
