// The text of a record back into the record. The gateway's own numbers are doubles; what the client calls metadata may hold some that no double holds.
import type { JsonObject } from "../core/json.ts";
import { parseBoundedJson } from "./json.ts";

/** `text`: as JSON.stringify wrote it. A number that a double would change is a RawNumber. Throws SyntaxError. */
export function parseRecord<T extends { readonly metadata?: JsonObject | null }>(text: string): T {
  const record = JSON.parse(text) as T;
  const { metadata } = record;
  // what is written again as it stands there has lost nothing: much quicker than to look at each number
  if (metadata == null || text.includes(`"metadata":${JSON.stringify(metadata)}`)) return record;
  return parseBoundedJson(text) as unknown as T;
}
