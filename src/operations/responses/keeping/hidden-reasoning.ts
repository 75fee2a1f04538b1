// What a provider has encrypted in a response that is kept: sealed beside the response, so that it goes back to the provider
// that wrote it and to no other. The client is shown none of the reasoning that only the gateway asked for (promises 12.8
// and 12.9).
import type { SealReasoning } from "../../../engine/carriers/vendor-reasoning.ts";
import { isObject, type Json, type JsonObject, listIn } from "../../../core/json.ts";
import { type JsonEdit, withEdits } from "../../../core/request/json-edit.ts";
import { editedJson } from "../../../wire/json/json-edit.ts";
import type { HiddenCarrier } from "./hidden-carriers.ts";

const PLACE = "encrypted_content";

/** Returns the changes that take it out of a response. */
export function hidingEdits({ output }: JsonObject): readonly JsonEdit[] {
  if (!Array.isArray(output)) return [];
  return (output as readonly Json[]).flatMap((item, at) => hiddenIn(item, ["output", at]));
}

const NOTHING_TAKEN: ReadonlyMap<string, Json> = new Map();

/** Returns the carriers of a response. `taken` is what was taken out of it, by the ids of items. */
export function carriersIn(
  { output }: JsonObject,
  seal: SealReasoning,
  taken: ReadonlyMap<string, Json> = NOTHING_TAKEN,
): readonly HiddenCarrier[] {
  const items = listIn(output);
  return items.flatMap((item, at): readonly HiddenCarrier[] => {
    if (!isObject(item)) return [];
    const { id } = item;
    const encrypted = taken.get(id as string) ?? item[PLACE];
    if (typeof id !== "string" || typeof encrypted !== "string" || encrypted === "") return [];
    return [{ at, item: id, carrier: seal(encrypted) }];
  });
}

/** Takes encrypted reasoning out of the events of a stream. */
export class HiddenReasoning {
  /** By the ids of items. */
  readonly #taken = new Map<string, Json>();

  get taken(): ReadonlyMap<string, Json> {
    return this.#taken;
  }

  /** Returns the event without it. */
  take(event: JsonObject, data: string): { readonly event: JsonObject; readonly data: string } {
    const { item, response, type } = event;
    const edits = [...hiddenIn(item, ["item"]), ...(isObject(response) ? hidingEdits(response).map(inResponse) : [])];
    if (edits.length === 0) return { event, data };
    // an item that begins may have only a part of it
    if (type !== "response.output_item.added") this.#note(item);
    if (isObject(response)) (response["output"] as readonly Json[]).forEach((one) => this.#note(one));
    return { event: withEdits(event, edits), data: editedJson(data, edits) };
  }

  #note(item: Json | undefined): void {
    if (!isObject(item) || item["type"] !== "reasoning") return;
    const { id, [PLACE]: encrypted } = item;
    if (typeof id === "string" && typeof encrypted === "string") this.#taken.set(id, encrypted);
  }
}

function inResponse({ path, value }: JsonEdit): JsonEdit {
  return { path: ["response", ...path], value };
}

function hiddenIn(item: Json | undefined, path: JsonEdit["path"]): readonly JsonEdit[] {
  // an outline of a long answer has the member as well
  const isThere = isObject(item) && item["type"] === "reasoning" && typeof item[PLACE] === "string";
  return isThere ? [{ path: [...path, PLACE], value: undefined }] : [];
}
