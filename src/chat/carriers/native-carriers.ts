// Carriers of ours in what a client wrote for a target that speaks the operation itself: they say nothing to a vendor, so
// the items and blocks that hold them are not sent on (promise 12.9).
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { isCarrier } from "./reasoning-carrier.ts";

/** Where forms keep what only their server can read. */
const PLACES = ["signature", "data", "encrypted_content"] as const;

/** Returns the changes that remove them; empty where there are none. */
export function withoutCarriers(body: JsonObject): readonly JsonEdit[] {
  return [...editsIn(body["input"], ["input"]), ...editsIn(body["messages"], ["messages"])];
}

function editsIn(list: Json | undefined, path: JsonEdit["path"]): readonly JsonEdit[] {
  if (!Array.isArray(list)) return [];
  return (list as readonly Json[]).flatMap((entry, index): readonly JsonEdit[] => {
    if (!isObject(entry)) return [];
    const at = [...path, index];
    if (PLACES.some((name) => isCarrier(entry[name]))) return [{ path: at, value: undefined }];
    return editsIn(entry["content"], [...at, "content"]);
  });
}
