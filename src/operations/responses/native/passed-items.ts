// The items of a stream that a provider speaks itself, as they pass: what of each the client has, so that the events and
// members that a server leaves out are supplied, and what comes twice or too late is not repeated (promise 12.5). The texts
// themselves are kept, because they may be written again, where a decoder (stream-items.ts) needs no more than digests.
// https://platform.openai.com/docs/api-reference/responses-streaming
import type { Growing } from "../../../engine/answer-form.ts";
import { newRandomId } from "../../../core/ids.ts";
import { isObject, isText, type Json, type JsonObject, leastJsonLength, textOrEmpty } from "../../../core/json.ts";
import { type JsonEdit, withEdits } from "../../../core/request/json-edit.ts";
import { MAX_KEPT, requireFewPlaces, requireKeptItems } from "../../../providers/content-blocks/turn-chunks.ts";
import { MalformedAnswer } from "../../../providers/interface/upstream-failure.ts";
import { ContentPlaces, matchedItems, placeOf } from "../../../providers/responses/item-places.ts";
import {
  ANNOTATION_ADDED,
  formOfCall,
  formOfPart,
  ITEM_ADDED,
  ITEM_DONE,
  type PartForm,
  PARTS,
} from "../../../providers/responses/stream-grammar.ts";
import { endedText, NOTHING, partJson } from "../part-members.ts";
import {
  begunEdits,
  composed,
  emptiedEdits,
  endedEdits,
  indexIn,
  isNamed,
  keyOf,
  indexEdit,
  merged,
  type PassedItem,
  pieceEdits,
  placeEdits,
  placeIn,
} from "./passed-item.ts";
import { isNewPiece, missingText, newPart, type PassedPart, requireOrder, wholeTexts } from "./passed-parts.ts";
import { partEdits } from "./supplied-members.ts";

/** Writes the events of one stream, in the order of the calls. */
export interface PassedEvents {
  own(type: string, members: JsonObject): void;
  /** The provider's event with changes. */
  passed(type: string, data: string, edits: readonly JsonEdit[]): void;
}

const ID_PREFIXES: ReadonlyMap<string, string> = new Map([
  ["message", "msg_"],
  ["reasoning", "rs_"],
  ["function_call", "fc_"],
]);

export class PassedItems {
  readonly #events: PassedEvents;
  readonly #items: PassedItem[] = [];
  /** By the provider's index, or by id where an event has no index. */
  readonly #places = new Map<number | string, PassedItem>();
  readonly #contents = new ContentPlaces();
  #opened = 0;
  #characters = 0;
  /** The items and parts that have begun, and the characters of the items' ids. */
  #begunPlaces = 0;
  #idCharacters = 0;
  /** The part that the last piece has lengthened. */
  #growing: PassedPart | null = null;

  constructor(events: PassedEvents) {
    this.#events = events;
  }

  /** The items so far. */
  get shown(): readonly JsonObject[] {
    return this.#items
      .filter(({ index }) => index !== null)
      .toSorted((one, other) => one.index! - other.index!)
      .map((item) => (item.isDone ? item.json : composed(item)));
  }

  get growing(): Growing | null {
    const part = this.#growing;
    if (part === null) return null;
    return {
      grow: (piece, number) => {
        part.number = number;
        this.#grow(part, piece);
      },
    };
  }

  /** How many characters of the answer are kept: an event may be answered with several that repeat them. */
  get characters(): number {
    return this.#characters;
  }

  added(event: JsonObject, data: string): void {
    const { item: source } = event;
    if (!isObject(source)) return;
    this.#keep(data.length);
    const item = this.#itemAt(event, textOrEmpty(source["type"]), source["id"], true);
    // it came before, or its first piece did
    if (item.index !== null) return;
    item.json = { ...source, ...item.json };
    if (!isNamed(source)) return;
    item.index = this.#opened++;
    const edits = [...indexEdit(event, item), ...begunEdits(source, item.id, ["item"])];
    this.#events.passed(ITEM_ADDED, data, edits);
    item.json = withEdits(source, begunEdits(source, item.id, []));
    this.#writeHeld(item);
  }

  done(event: JsonObject, data: string): void {
    const { item: source } = event;
    if (!isObject(source)) return;
    const item = this.#itemAt(event, textOrEmpty(source["type"]), source["id"], false);
    if (item.isDone) return;
    this.#open(item, source);
    this.#settle(item, source);
    const edits = [...indexEdit(event, item), ...endedEdits(item, source, "completed", ["item"])];
    this.#end(item, source, "completed");
    this.#events.passed(ITEM_DONE, data, edits);
  }

  partAdded(type: string, event: JsonObject, data: string): void {
    const found = this.#partOf(type, event, data);
    if (found === null) return;
    const { item, form, at, part } = found;
    if (item.isDone || item.parts.has(keyOf(form, at))) return;
    this.#keep(data.length);
    this.#open(item, null);
    this.#placed(0);
    item.parts.set(keyOf(form, at), newPart(form, at));
    const edits = [...placeEdits(event, item, form, at), ...partEdits(part, ["part"]), ...emptiedEdits(part, form)];
    this.#events.passed(type, data, edits);
  }

  partDone(type: string, event: JsonObject, data: string): void {
    const found = this.#partOf(type, event, data);
    if (found === null) return;
    const { item, form, at, part: source } = found;
    if (item.isDone) return;
    this.#open(item, null);
    const part = this.#begun(item, form, at);
    if (part.isClosed) return;
    this.#say(item, part, textOrEmpty(source[form.whole]));
    part.isClosed = true;
    const missing =
      textOrEmpty(source[form.whole]) === part.text ? [] : [{ path: ["part", form.whole], value: part.text }];
    const edits = [...placeEdits(event, item, form, at), ...partEdits(source, ["part"]), ...missing];
    this.#events.passed(type, data, edits);
  }

  piece(form: PartForm, type: string, event: JsonObject, data: string): void {
    const item = this.#itemAt(event, form.item, event["item_id"], false);
    if (item.isDone) return;
    const at = indexIn(event, form, this.#contents);
    this.#open(item, null);
    const part = this.#begun(item, form, at);
    if (part.hasText) return;
    if (type === form.done) {
      this.#sayBy(item, part, event, data);
      return;
    }
    const piece = textOrEmpty(event["delta"]);
    if (!isNewPiece(part, piece, event["sequence_number"])) return;
    this.#grow(part, piece);
    if (Array.isArray(event["logprobs"])) this.#addLogprobs(part, event["logprobs"] as readonly Json[]);
    if (item.index === null) return;
    this.#growing = part;
    this.#events.passed(type, data, pieceEdits(event, item, part));
  }

  annotation(type: string, event: JsonObject, data: string): void {
    const form = PARTS.message.output_text;
    const item = this.#itemAt(event, form.item, event["item_id"], false);
    if (item.isDone) return;
    const at = indexIn(event, form, this.#contents);
    this.#open(item, null);
    const part = this.#begun(item, form, at);
    const { annotation, annotation_index: number } = event;
    const next = part.annotations.length;
    if (typeof number === "number" && number < next && Bun.deepEquals(part.annotations[number], annotation)) return;
    this.#keep(data.length);
    part.annotations.push(annotation ?? null);
    const edits = number === next ? [] : [{ path: ["annotation_index"], value: next }];
    this.#events.passed(type, data, [...placeEdits(event, item, form, at), ...edits]);
  }

  /** Any other event passes; what it says of its item's place is that which the client knows. */
  other(type: string, event: JsonObject, data: string): void {
    const place = placeOf(event, event["item_id"]);
    const item = place === null ? undefined : this.#places.get(place);
    if (item === undefined || item.index === null) {
      this.#events.passed(type, data, []);
      return;
    }
    const edits = [...(event["output_index"] === undefined ? [] : indexEdit(event, item))];
    if (typeof event["item_id"] === "string" && event["item_id"] !== item.id)
      edits.push({ path: ["item_id"], value: item.id });
    const at = this.#contents.within(event);
    if ((event["content_index"] ?? at) !== at) edits.push({ path: ["content_index"], value: at });
    this.#events.passed(type, data, edits);
  }

  /**
   * Writes the events that are missing at the end of the answer, and returns what the output of the whole answer lacks.
   * Items are found by id, else by kind and order, because the ids of some servers differ in their last event.
   */
  end(output: readonly JsonObject[], isIncomplete: boolean): readonly JsonEdit[] {
    const waiting = new Set(this.#items);
    const matched = matchedItems(
      output,
      waiting,
      (whole) => (item) => item.type === whole["type"] && item.id === whole["id"],
      (whole) => (item) => item.type === whole["type"],
    );
    const edits: JsonEdit[] = [];
    output.forEach((whole, at) => {
      const item = matched[at] ?? this.#begin(textOrEmpty(whole["type"]), whole["id"]);
      if (item.isDone) this.#compare(item, whole);
      else {
        this.#open(item, whole);
        this.#settle(item, whole);
        this.#end(item, whole, "completed");
        this.#writeDone(item);
      }
      edits.push(...endedEdits(item, whole, "completed", ["output", at]));
    });
    for (const item of waiting)
      if (!item.isDone) {
        if (item.index === null) throw new MalformedAnswer("The provider's stream has a tool call without a name.");
        this.#settle(item, item.json);
        this.#end(item, item.json, isIncomplete && item === this.#items.at(-1) ? "incomplete" : "completed");
        this.#writeDone(item);
      }
    // a client that reads only the last event would lose what it leaves out
    if (waiting.size > 0 || output.length === 0) return [{ path: ["output"], value: merged(output, edits, waiting) }];
    return edits;
  }

  /** Returns the item that an event speaks of; it is held until it can be announced. */
  #itemAt(event: JsonObject, type: string, id: Json | undefined, isNew: boolean): PassedItem {
    const place = placeOf(event, id);
    const there = place === null ? this.#items.findLast((item) => item.type === type) : this.#places.get(place);
    // some servers give several items one index
    const isOther = isNew && there !== undefined && there.index !== null && isText(id) && there.id !== id;
    if (there !== undefined && there.type === type && !isOther && !(place === null && isNew)) return there;
    const item = this.#begin(type, id);
    if (place !== null) this.#places.set(place, item);
    return item;
  }

  #begin(type: string, id: Json | undefined): PassedItem {
    const own = isText(id) ? id : `${ID_PREFIXES.get(type) ?? "item_"}${newRandomId()}`;
    const item: PassedItem = { id: own, type, index: null, json: {}, isDone: false, parts: new Map() };
    this.#placed(own.length);
    this.#items.push(item);
    return item;
  }

  /** Announces an item of which no beginning came, as far as it is known. `source` is the whole item, if it is known. */
  #open(item: PassedItem, source: JsonObject | null): void {
    if (item.index !== null) return;
    const { id, type } = item;
    const base = source ?? { id, type, ...item.json };
    if (!isNamed(base)) return;
    item.index = this.#opened++;
    item.json = withEdits(base, begunEdits(base, id, []));
    this.#events.own(ITEM_ADDED, { output_index: item.index, item: item.json });
    this.#writeHeld(item);
  }

  #writeHeld(item: PassedItem): void {
    for (const part of item.parts.values()) if (part.text !== "") this.#writePiece(item, part, part.text);
  }

  /** Returns a part, which is announced where no event has done so. */
  #begun(item: PassedItem, form: PartForm, at: number): PassedPart {
    const known = item.parts.get(keyOf(form, at));
    if (known !== undefined) return known;
    this.#placed(0);
    const part = newPart(form, at);
    item.parts.set(keyOf(form, at), part);
    if (form.partAdded !== null)
      this.#events.own(form.partAdded, { ...placeIn(item, part), part: partJson(form, NOTHING) });
    return part;
  }

  #grow(part: PassedPart, piece: string): void {
    this.#keep(piece.length);
    part.text += piece;
    part.lastPiece = piece;
  }

  #addLogprobs(part: PassedPart, logprobs: readonly Json[]): void {
    this.#keep(leastJsonLength(logprobs, MAX_KEPT));
    for (const entry of logprobs) part.logprobs.push(entry);
  }

  /** The decoder of the same stream bounds the whole items. */
  #keep(characters: number): void {
    this.#characters += characters;
    requireKeptItems(this.#characters);
  }

  /** Counts an item or a part that begins, which takes memory although it may have no text. */
  #placed(idCharacters: number): void {
    requireFewPlaces(++this.#begunPlaces);
    this.#idCharacters += idCharacters;
    requireKeptItems(this.#idCharacters);
  }

  /** Passes the event that ends a text. */
  #sayBy(item: PassedItem, part: PassedPart, event: JsonObject, data: string): void {
    const whole = textOrEmpty(event[part.form.whole]);
    this.#supply(item, part, whole);
    if (item.index === null) return;
    part.hasText = true;
    const edits = [...pieceEdits(event, item, part)];
    if (whole !== part.text || typeof event[part.form.whole] !== "string")
      edits.push({ path: [part.form.whole], value: part.text });
    if (part.form.isNamed && typeof event["name"] !== "string")
      edits.push({ path: ["name"], value: item.json["name"] ?? "" });
    this.#events.passed(part.form.done, data, edits);
  }

  /** Ends a text of which the event did not come. */
  #say(item: PassedItem, part: PassedPart, whole: string): void {
    if (part.hasText) {
      if (whole !== "") requireSame(part, whole);
      return;
    }
    this.#supply(item, part, whole);
    part.hasText = true;
    const ended = endedText(part.form, part, item.json["name"] ?? "");
    this.#events.own(part.form.done, { ...placeIn(item, part), ...ended });
  }

  /** Writes what is missing of a whole text. An empty one says nothing of what has come. */
  #supply(item: PassedItem, part: PassedPart, whole: string): void {
    if (whole === "") {
      requireOrder(part);
      return;
    }
    const rest = missingText(part, whole);
    if (rest === "") return;
    this.#grow(part, rest);
    if (item.index !== null) this.#writePiece(item, part, rest);
  }

  #writePiece(item: PassedItem, part: PassedPart, piece: string): void {
    const logprobs = part.form.isAnnotated && { logprobs: [] };
    this.#events.own(part.form.delta, { ...placeIn(item, part), delta: piece, ...logprobs });
  }

  /** Supplies what the whole item has and the client has not, and ends its parts. */
  #settle(item: PassedItem, whole: JsonObject): void {
    const wholes = wholeTexts(whole);
    const input = formOfCall(item.type);
    if (input !== null && wholes.length === 0) this.#say(item, this.#begun(item, input, 0), "");
    for (const { form, at, text: said, annotations, logprobs } of wholes) {
      const part = this.#begun(item, form, at);
      if (part.logprobs.length === 0) part.logprobs.push(...logprobs);
      for (const annotation of annotations.slice(part.annotations.length)) {
        part.annotations.push(annotation);
        const place = { ...placeIn(item, part), annotation_index: part.annotations.length - 1, annotation };
        this.#supply(item, part, part.hasText ? "" : said);
        this.#events.own(ANNOTATION_ADDED, place);
      }
      this.#say(item, part, said);
    }
    for (const part of item.parts.values()) {
      this.#say(item, part, "");
      if (part.isClosed || part.form.partDone === null) continue;
      part.isClosed = true;
      this.#events.own(part.form.partDone, { ...placeIn(item, part), part: partJson(part.form, part) });
    }
  }

  /** Throws MalformedAnswer where the whole answer has other texts than the client was sent. */
  #compare(item: PassedItem, whole: JsonObject): void {
    for (const { form, at, text } of wholeTexts(whole)) {
      const part = item.parts.get(keyOf(form, at));
      if (part !== undefined && text !== "") requireSame(part, text);
    }
  }

  #end(item: PassedItem, source: JsonObject, status: string): void {
    item.json = withEdits(source, endedEdits(item, source, status, []));
    item.isDone = true;
    if (this.#growing !== null && [...item.parts.values()].includes(this.#growing)) this.#growing = null;
  }

  #writeDone(item: PassedItem): void {
    this.#events.own(ITEM_DONE, { output_index: item.index!, item: item.json });
  }

  /** Returns the part of an event that has one; passes an event whose part is of no known form. */
  #partOf(type: string, event: JsonObject, data: string): PartOfEvent | null {
    const { part } = event;
    // without its part, the event is written when something of the part comes
    if (!isObject(part)) return null;
    const place = placeOf(event, event["item_id"]);
    const there = place === null ? undefined : this.#places.get(place);
    const form = formOfPart(there?.type ?? null, part["type"]);
    if (form !== undefined)
      return {
        item: this.#itemAt(event, form.item, event["item_id"], false),
        form,
        at: indexIn(event, form, this.#contents),
        part,
      };
    this.other(type, event, data);
    return null;
  }
}

interface PartOfEvent {
  readonly item: PassedItem;
  readonly form: PartForm;
  readonly at: number;
  readonly part: JsonObject;
}

function requireSame(part: PassedPart, whole: string): void {
  if (missingText(part, whole) !== "")
    throw new MalformedAnswer("The provider's stream repeats a part of the answer with more text than it ended with.");
}
