// Carriers of ours in what a client wrote for a target that speaks the operation itself. Where the target's vendor has
// written what is in one, it gets that in its own form; every other item and block with a carrier is not sent on, because
// it says nothing to a vendor (promise 12.9).
import type { ReasoningDetail } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/json-edit.ts";
import { isCarrier } from "./reasoning-carrier.ts";
import type { Open } from "./sealed-reasoning.ts";

/** Where forms keep what only their server can read. */
const PLACES = ["signature", "data", "encrypted_content"] as const;

/** Returns the item or block of reasoning as its vendor writes it; `null` where the vendor would not take it. */
export type ReasoningBack = (details: readonly ReasoningDetail[]) => JsonObject | null;

/** Returns the changes that turn carriers back, or remove them; empty where there are none. */
export function carrierEdits(body: JsonObject, open: Open, back: ReasoningBack): readonly JsonEdit[] {
  const editsIn = (list: Json | undefined, path: JsonEdit["path"]): readonly JsonEdit[] => {
    if (!Array.isArray(list)) return [];
    return (list as readonly Json[]).flatMap((entry, index): readonly JsonEdit[] => {
      if (!isObject(entry)) return [];
      const at = [...path, index];
      const carrier = PLACES.map((name) => entry[name]).find(isCarrier);
      if (carrier === undefined) return editsIn(entry["content"], [...at, "content"]);
      const details = open(carrier)?.["details"];
      const own = Array.isArray(details) ? back(details) : null;
      return [{ path: at, value: own ?? undefined }];
    });
  };
  return [...editsIn(body["input"], ["input"]), ...editsIn(body["messages"], ["messages"])];
}

/** Returns the changes that remove all of them, where nothing can open them. */
export function withoutCarriers(body: JsonObject): readonly JsonEdit[] {
  const nothing = (): null => null;
  return carrierEdits(body, nothing, nothing);
}
