// Which item of a stream an event speaks of, and which one an item of the whole answer is.
import type { Json, JsonObject } from "../../core/json.ts";

/** Returns the provider's index of the item of an event, or its id where the event has no index. */
export function placeOf({ output_index: index }: JsonObject, id: Json | undefined): number | string | null {
  if (typeof index === "number") return index;
  return typeof id === "string" && id !== "" ? id : null;
}

/** The most items of one answer. */
export const MAX_ITEMS = 4_096;
/** The most characters of their ids that are remembered. */
const MAX_ID_CHARACTERS = 1024 * 1024;

/**
 * The places of parts within the content of their items. Some servers count on from one item to the next, so that an
 * item begins with the number after the highest: https://github.com/vllm-project/vllm/issues/45742
 */
export class ContentPlaces {
  readonly #first = new Map<number | string | null, number>();
  /** Of the ids among the places. */
  #characters = 0;
  #highest = -1;

  /** Returns the index of the part that an event speaks of, within its item. */
  within(event: JsonObject): number {
    const { content_index: at } = event;
    if (typeof at !== "number") return 0;
    const place = placeOf(event, event["item_id"]);
    const first = this.#first.get(place) ?? (at > 0 && at === this.#highest + 1 ? at : 0);
    if (this.#first.size < MAX_ITEMS && this.#characters < MAX_ID_CHARACTERS && !this.#first.has(place)) {
      this.#first.set(place, first);
      this.#characters += typeof place === "string" ? place.length : 0;
    }
    this.#highest = Math.max(this.#highest, at);
    return Math.max(0, at - first);
  }
}

/** Returns what tells whether an item of the stream is one of the whole answer. */
type Match<Item> = (whole: JsonObject) => (item: Item) => boolean;

/**
 * Returns the item for each of the whole answer, and takes it from those that wait: the same, else the first that is
 * alike, because in some streams ids and indexes differ from those of the whole.
 */
export function matchedItems<Item>(
  output: readonly JsonObject[],
  waiting: Set<Item>,
  same: Match<Item>,
  alike: Match<Item>,
): readonly (Item | undefined)[] {
  const take = (fits: (item: Item) => boolean): Item | undefined => {
    for (const item of waiting)
      if (fits(item)) {
        waiting.delete(item);
        return item;
      }
    return undefined;
  };
  const taken = output.map((whole) => take(same(whole)));
  return output.map((whole, at) => taken[at] ?? take(alike(whole)));
}
