// Encrypted reasoning of a provider that the gateway asked for and the client did not: the client is shown none of it, and it
// is kept beside the response (promises 12.8 and 12.9).
import type { SealReasoning } from "../../chat/carriers/vendor-reasoning.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { type JsonEdit, withEdits } from "../../core/json-edit.ts";
import { editedJson } from "../../wire/json-edit.ts";
import type { HiddenCarrier } from "./hidden-carriers.ts";

const PLACE = "encrypted_content";

/** Returns the changes that take it out of a response. */
export function hidingEdits({ output }: JsonObject): readonly JsonEdit[] {
  if (!Array.isArray(output)) return [];
  return (output as readonly Json[]).flatMap((item, at) => hiddenIn(item, ["output", at]));
}

/** Takes it out of a response that has all of it. */
export function withoutReasoning(
  response: JsonObject,
  seal: SealReasoning,
): { readonly shown: JsonObject; readonly hidden: readonly HiddenCarrier[] } {
  const { output } = response;
  const items = Array.isArray(output) ? (output as readonly Json[]) : [];
  const hidden = items.flatMap((item, at) => (isObject(item) ? carriersOf(item, item[PLACE], at, seal) : []));
  return { shown: withEdits(response, hidingEdits(response)), hidden };
}

/** Takes it out of the events of a stream. */
export class HiddenReasoning {
  readonly #seal: SealReasoning;
  /** By the ids of items. */
  readonly #found = new Map<string, Json>();

  constructor(seal: SealReasoning) {
    this.#seal = seal;
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

  /** Returns what is kept beside the response. */
  carriers({ output }: JsonObject): readonly HiddenCarrier[] {
    if (!Array.isArray(output)) return [];
    return (output as readonly JsonObject[]).flatMap((item, at) =>
      carriersOf(item, this.#found.get(item["id"] as string), at, this.#seal),
    );
  }

  #note(item: Json | undefined): void {
    if (!isObject(item) || item["type"] !== "reasoning") return;
    const { id, [PLACE]: encrypted } = item;
    if (typeof id === "string" && typeof encrypted === "string") this.#found.set(id, encrypted);
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

function carriersOf(
  { id, type }: JsonObject,
  encrypted: Json | undefined,
  at: number,
  seal: SealReasoning,
): readonly HiddenCarrier[] {
  if (type !== "reasoning" || typeof id !== "string" || typeof encrypted !== "string" || encrypted === "") return [];
  const carrier = seal(encrypted);
  return carrier === null ? [] : [{ at, item: id, carrier }];
}
