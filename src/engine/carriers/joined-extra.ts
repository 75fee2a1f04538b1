// What vendors keep beside a message (`extra_content`), as its pieces come in a stream.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** Adds a piece to what has come, by the vendor. Lists come in pieces; of any other member, the last value counts. */
export function joinedExtra(there: JsonObject, added: JsonObject): JsonObject {
  const joined: Record<string, Json | undefined> = { ...there };
  for (const [vendor, packed] of Object.entries(added)) {
    const known = joined[vendor];
    joined[vendor] = isObject(known) && isObject(packed) ? joinedMembers(known, packed) : packed;
  }
  return joined;
}

function joinedMembers(there: JsonObject, added: JsonObject): JsonObject {
  const joined: Record<string, Json | undefined> = { ...there };
  for (const [name, value] of Object.entries(added)) {
    const known = joined[name];
    joined[name] =
      Array.isArray(known) && Array.isArray(value)
        ? [...(known as readonly Json[]), ...(value as readonly Json[])]
        : value;
  }
  return joined;
}
