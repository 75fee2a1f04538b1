// Decodes the events of a streamed answer into chunks: https://platform.openai.com/docs/api-reference/responses-streaming.
// Events may come twice, late or never; unknown events are ignored. The answer is complete only with its terminal event.
import type { ChatChunk } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { chunkOf, NO_CHUNKS, type StreamDecoder } from "../interface/stream-decoder.ts";
import { MalformedAnswer, StreamError } from "../interface/upstream-failure.ts";
import { requireNoChunk, requireSentObject, valueOfEvent } from "../answers/sent-json.ts";
import { carriedItems } from "./carried-items.ts";
import { ContentPlaces, matchedItems, MAX_ITEMS, placeOf } from "./item-places.ts";
import { besideChoices, finishOf, frameOf, requireEnded, toolUses } from "./outcome.ts";
import { type ItemKind, kindOf } from "./output-items.ts";
import { rememberedText } from "./piece-digest.ts";
import type { ResponsesRules } from "./rules.ts";
import { ANNOTATION_ADDED, formOfEvent, ITEM_ADDED, ITEM_DONE, type PartForm } from "./stream-grammar.ts";
import { ItemChunks, isLate, newItem, requireMended, type StreamItem } from "./stream-items.ts";

/** An event that comes twice is recognized among this many latest ones. */
const LATEST = 64;

/** The status that a terminal event means where its response names none. */
const TERMINAL: Readonly<Record<string, string>> = {
  "response.completed": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed",
  "response.cancelled": "cancelled",
  // Some servers end with this event of another API: https://platform.openai.com/docs/api-reference/realtime
  "response.done": "completed",
};

export function openStream(rules: ResponsesRules): StreamDecoder {
  return new ResponseStream(rules);
}

class ResponseStream implements StreamDecoder {
  readonly #rules: ResponsesRules;
  readonly #chunks: ItemChunks;
  /** In the order of their first events. */
  readonly #items: StreamItem[] = [];
  /** By output index, or by id where an event has no index. */
  readonly #places = new Map<number | string, StreamItem>();
  readonly #contents = new ContentPlaces();
  readonly #latest = new Map<number, string>();
  #isFramed = false;
  isTerminated = false;

  constructor(rules: ResponsesRules) {
    this.#rules = rules;
    this.#chunks = new ItemChunks(rules.reasoningFormat);
  }

  push(sent: SseEvent): readonly ChatChunk[] {
    const { event: name, data } = sent;
    if (this.isTerminated || data.trim() === "[DONE]") return NO_CHUNKS;
    if (name === "error") throw new StreamError(this.#rules.failureOf(readErrorJson(data) ?? data, data));
    const event = requireSentObject(valueOfEvent(sent), "event");
    const type = textOrEmpty(event["type"]) || name;
    if (type === "error" || (event["error"] ?? null) !== null)
      throw new StreamError(this.#rules.failureOf(event, data));
    requireNoChunk(event);
    if (this.#isRepeated(event["sequence_number"], data)) return NO_CHUNKS;
    const { response } = event;
    if (!isObject(response)) return this.#onItemEvent(type, this.#placed(event), data.length);
    const frame = this.#frame(response);
    return Object.hasOwn(TERMINAL, type) ? [...frame, ...this.#onEnd(response, TERMINAL[type]!, data)] : frame;
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }

  /** The items that have come as a whole. */
  get #whole(): readonly JsonObject[] {
    return this.#items.map(({ whole }) => whole).filter((whole) => whole !== null);
  }

  toolUses(): Readonly<Record<string, number>> {
    return toolUses(this.#whole);
  }

  growth(): (piece: string) => void {
    return this.#chunks.growth();
  }

  #isRepeated(number: Json | undefined, data: string): boolean {
    // Servers that do not count send 0 with every event.
    if (typeof number !== "number" || number <= 0) return false;
    const own = rememberedText(data);
    if (this.#latest.get(number) === own) return true;
    this.#latest.set(number, own);
    if (this.#latest.size > LATEST) this.#latest.delete(this.#latest.keys().next().value!);
    return false;
  }

  #placed(event: JsonObject): JsonObject {
    const at = this.#contents.within(event);
    return (event["content_index"] ?? 0) === at ? event : { ...event, content_index: at };
  }

  #frame(response: JsonObject): readonly ChatChunk[] {
    if (this.#isFramed) return NO_CHUNKS;
    this.#isFramed = true;
    return [{ ...frameOf(response), ...chunkOf({ role: "assistant" }) }];
  }

  /** `size` is the length of the event's data. */
  #onItemEvent(type: string, event: JsonObject, size: number): readonly ChatChunk[] {
    switch (type) {
      case ITEM_ADDED:
        return isObject(event["item"]) ? this.#onAdded(event, event["item"]) : NO_CHUNKS;
      case ITEM_DONE: {
        const { item } = event;
        if (!isObject(item)) return NO_CHUNKS;
        this.#chunks.keep(size);
        return this.#chunks.settle(this.#itemAt(event, kindOf(item), item["id"]), item);
      }
      case ANNOTATION_ADDED:
        return this.#chunks.annotation(this.#itemAt(event, "message"), event["content_index"], event["annotation"]);
      default: {
        const form = formOfEvent(type);
        return form === null || form.chat === null ? NO_CHUNKS : this.#onText(form, type, event);
      }
    }
  }

  #onText(form: PartForm, type: string, event: JsonObject): readonly ChatChunk[] {
    if (type === form.delta) return this.#onPiece(form, this.#itemAt(event, form.item), event);
    const item = this.#itemAt(event, form.item);
    const whole = event[form.whole];
    if (form.at !== null) return this.#chunks.complete(item, form, event[form.at], whole);
    if (item.call === null) item.name ||= textOrEmpty(event["name"]);
    return this.#chunks.completeInput(item, textOrEmpty(whole));
  }

  #onPiece(form: PartForm, item: StreamItem, event: JsonObject): readonly ChatChunk[] {
    if (isLate(item, event["sequence_number"])) return NO_CHUNKS;
    const piece = textOrEmpty(event["delta"]);
    if (form.at === null) return this.#chunks.callInput(item, piece);
    const chunks = this.#chunks.grow(item, form, event[form.at], piece);
    return form.isAnnotated && event["logprobs"] !== undefined ? this.#withLogprobs(chunks, item, event) : chunks;
  }

  #withLogprobs(chunks: readonly ChatChunk[], item: StreamItem, event: JsonObject): readonly ChatChunk[] {
    const { logprobs = null } = this.#chunks.logprobs(item, event["content_index"], event["logprobs"]);
    if (logprobs === null) return chunks;
    const delta = chunks[0]?.choices[0]?.delta ?? {};
    return [{ choices: [{ index: 0, delta, logprobs }] }];
  }

  #onAdded(event: JsonObject, source: JsonObject): readonly ChatChunk[] {
    const kind = kindOf(source);
    const place = placeOf(event, source["id"]);
    const there = place === null ? undefined : this.#places.get(place);
    // Some servers give several items one index.
    if (there !== undefined && there.id !== null && typeof source["id"] === "string" && there.id !== source["id"])
      this.#places.delete(place!);
    const item = this.#itemAt(event, kind, source["id"]);
    return item.called === null ? NO_CHUNKS : this.#chunks.openCall(item, source);
  }

  /** Returns the item that an event speaks of. It begins with the event when there is none of this kind at its place. */
  #itemAt(event: JsonObject, kind: ItemKind, id: Json | undefined = event["item_id"]): StreamItem {
    const place = placeOf(event, id);
    const there = place === null ? this.#items.findLast((item) => item.kind === kind) : this.#places.get(place);
    if (there?.kind === kind) return there;
    const item = this.#begin(kind, event["type"] === ITEM_ADDED ? id : undefined);
    if (typeof place === "string") this.#chunks.keep(place.length);
    if (place !== null) this.#places.set(place, item);
    return item;
  }

  #begin(kind: ItemKind, id: Json | undefined): StreamItem {
    if (this.#items.length >= MAX_ITEMS)
      throw new MalformedAnswer(`The provider's answer has more than ${MAX_ITEMS} items.`);
    const item = newItem(kind, id);
    this.#chunks.keep(item.id?.length ?? 0);
    this.#items.push(item);
    return item;
  }

  #onEnd(response: JsonObject, status: string, data: string): readonly ChatChunk[] {
    const ended = { ...response, status: response["status"] ?? status };
    // before what has come is compared with the whole, which an answer that failed may not have
    requireEnded(ended, this.#rules, data);
    const output = objectsIn(response["output"]);
    const chunks = [...this.#missingOf(output), ...this.#unnamedCalls()];
    this.#items.forEach(requireMended);
    const finish = finishOf(ended, this.#chunks.hasCalls);
    const whole = output.length > 0 ? output : this.#whole;
    this.isTerminated = true;
    return [
      ...chunks,
      {
        choices: [{ index: 0, delta: carriedItems(whole, this.#rules.carriedAs), ...finish }],
        ...besideChoices(response, whole),
      },
    ];
  }

  /**
   * What has not come before of the whole answer. Its items are found by id, else by kind and order, because in some
   * streams ids and indexes differ from those of the whole. Throws MalformedAnswer where the whole says something else.
   */
  #missingOf(output: readonly JsonObject[]): readonly ChatChunk[] {
    if (output.length === 0) return NO_CHUNKS;
    const waiting = new Set(this.#items);
    const matched = matchedItems(output, waiting, sameAs, alike);
    const items: StreamItem[] = [];
    const chunks = output.flatMap((whole, at) => {
      const item = matched[at] ?? this.#begin(kindOf(whole), whole["id"]);
      items.push(item);
      return this.#chunks.settle(item, whole);
    });
    this.#chunks.requireOrder(items);
    return chunks;
  }

  /** Calls of which only the name and the input came. */
  #unnamedCalls(): readonly ChatChunk[] {
    return this.#items.flatMap((item) =>
      item.call === null && item.held !== "" ? this.#chunks.openCall(item, { name: item.name }) : NO_CHUNKS,
    );
  }
}

/** The items of a kind with the id of the whole, or the id of its call. */
function sameAs(whole: JsonObject): (item: StreamItem) => boolean {
  const [own, called, isKind] = [textOrEmpty(whole["id"]), textOrEmpty(whole["call_id"]), alike(whole)];
  return (item) => isKind(item) && ((own !== "" && item.id === own) || (called !== "" && item.callId === called));
}

function alike(whole: JsonObject): (item: StreamItem) => boolean {
  const own = kindOf(whole);
  return ({ kind }) => kind === own;
}
