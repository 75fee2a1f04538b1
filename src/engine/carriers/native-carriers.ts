// Reasoning in what a client wrote for a target that speaks the operation itself. Where the target's vendor has written
// what is in a carrier of ours, it gets that in its own form. Items and blocks with another carrier, and reasoning that no
// vendor of the target has sealed, are not sent on, because the vendor would refuse them (promise 12.9).
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";
import type { NativeForm, NativeOperation } from "../../providers/interface/native-operation.ts";
import { isCarrier } from "./reasoning-carrier.ts";

/** Where forms keep what only their server can read. */
const PLACES = ["signature", "data", "encrypted_content"] as const;

/** What says which reasoning the vendor of a target takes. */
export type NativeReading = Pick<NativeOperation, "form" | "foreignSeal" | "refusesOpenReasoning">;

export interface NativeReasoning {
  /** Returns what takes the place of an item or block with a carrier; `null` where it is not sent on. */
  readonly opened: (entry: JsonObject, carrier: string) => JsonObject | null;
  /** Whether an item or block without a carrier is reasoning that the target's vendor has not sealed. */
  readonly isForeign: (entry: JsonObject) => boolean;
}

/**
 * Returns the changes that turn carriers back, and remove what the vendor would not take; empty where there are none. A
 * message of which nothing is left is removed as a whole.
 */
export function carrierEdits(body: JsonObject, { opened, isForeign }: NativeReasoning): readonly JsonEdit[] {
  const editsIn = (list: Json | undefined, path: JsonEdit["path"]): readonly JsonEdit[] => {
    if (!Array.isArray(list)) return [];
    return (list as readonly Json[]).flatMap((entry, index): readonly JsonEdit[] => {
      if (!isObject(entry)) return [];
      const at = [...path, index];
      const carrier = PLACES.map((name) => entry[name]).find(isCarrier);
      if (carrier !== undefined) return [{ path: at, value: opened(entry, carrier) ?? undefined }];
      if (isForeign(entry)) return [{ path: at, value: undefined }];
      const inside = editsIn(entry["content"], [...at, "content"]);
      const removed = inside.filter(({ value }) => value === undefined).length;
      return removed > 0 && removed === (entry["content"] as readonly Json[]).length
        ? [{ path: at, value: undefined }]
        : inside;
    });
  };
  return [...editsIn(body["input"], ["input"]), ...editsIn(body["messages"], ["messages"])];
}

/** Whether something in a body may have to be turned back or removed. */
export function hasReasoning(body: JsonObject, { reasoningSeals }: NativeForm): boolean {
  const isReasoning = ({ type }: JsonObject): boolean =>
    typeof type === "string" && Object.hasOwn(reasoningSeals, type);
  return carrierEdits(body, { opened: () => null, isForeign: isReasoning }).length > 0;
}

/** Whether an item or block is reasoning that no vendor has sealed, or that has the seal of other vendors than the target's. */
export function isUnsealed(
  entry: JsonObject,
  { form: { reasoningSeals }, foreignSeal, refusesOpenReasoning }: NativeReading,
): boolean {
  const { type } = entry;
  if (typeof type !== "string" || !Object.hasOwn(reasoningSeals, type)) return false;
  const sealed = entry[reasoningSeals[type]!];
  if (refusesOpenReasoning !== true && sealed == null && Array.isArray(entry["content"])) return false;
  return typeof sealed !== "string" || sealed === "" || foreignSeal?.test(sealed) === true;
}
