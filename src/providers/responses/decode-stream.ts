// Decodes the events of a streamed answer into chunks: https://platform.openai.com/docs/api-reference/responses-streaming.
// Events may come twice, late or never; unknown events are ignored. The answer is complete only with its terminal event.
import type { ChatChunk } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { chunkOf, MAX_KEPT, NO_CHUNKS } from "../content-blocks/turn-chunks.ts";
import { readErrorJson } from "../answers/error-body.ts";
import { MalformedAnswer, type StreamDecoder, StreamError } from "../provider.ts";
import { objectsIn, requireNoChunk, requireSentObject, textOrEmpty, valueOfEvent } from "../answers/sent-json.ts";
import { carriedItems } from "./carried-items.ts";
import { besideChoices, finishOf, frameOf } from "./outcome.ts";
import { type ItemKind, kindOf } from "./output-items.ts";
import type { ResponsesRules } from "./rules.ts";
import { ItemChunks, isLate, newItem, requireMended, type PartKind, type StreamItem } from "./stream-items.ts";

/** The most items of one answer. */
const MAX_ITEMS = 4_096;
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

interface TextEvent {
  readonly item: ItemKind;
  readonly part: PartKind;
  /** The member with the index of the part. */
  readonly at: "content_index" | "summary_index";
  /** The member with the text of the event that ends the part. */
  readonly whole: "text" | "refusal";
}
const TEXTS: ReadonlyMap<string, TextEvent> = new Map<string, TextEvent>([
  ["response.output_text", { item: "message", part: "text", at: "content_index", whole: "text" }],
  ["response.refusal", { item: "message", part: "refusal", at: "content_index", whole: "refusal" }],
  ["response.reasoning_text", { item: "reasoning", part: "raw", at: "content_index", whole: "text" }],
  ["response.reasoning_summary_text", { item: "reasoning", part: "summary", at: "summary_index", whole: "text" }],
]);
const INPUTS: ReadonlyMap<string, { readonly item: "function" | "custom"; readonly whole: string }> = new Map([
  ["response.function_call_arguments", { item: "function", whole: "arguments" }],
  ["response.custom_tool_call_input", { item: "custom", whole: "input" }],
] as const);

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
  readonly #latest = new Map<number, string>();
  #isFramed = false;
  #wholeCharacters = 0;
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
    if (!isObject(response)) return this.#onItemEvent(type, event, data.length);
    const frame = this.#frame(response);
    return Object.hasOwn(TERMINAL, type) ? [...frame, ...this.#onEnd(response, TERMINAL[type]!, data)] : frame;
  }

  end(): readonly ChatChunk[] {
    return NO_CHUNKS;
  }

  growth(): (piece: string) => void {
    return this.#chunks.growth();
  }

  #isRepeated(number: Json | undefined, data: string): boolean {
    // Servers that do not count send 0 with every event.
    if (typeof number !== "number" || number <= 0) return false;
    if (this.#latest.get(number) === data) return true;
    this.#latest.set(number, data);
    if (this.#latest.size > LATEST) this.#latest.delete(this.#latest.keys().next().value!);
    return false;
  }

  #frame(response: JsonObject): readonly ChatChunk[] {
    if (this.#isFramed) return NO_CHUNKS;
    this.#isFramed = true;
    return [{ ...frameOf(response), ...chunkOf({ role: "assistant" }) }];
  }

  /** `size` is the length of the event's data. */
  #onItemEvent(type: string, event: JsonObject, size: number): readonly ChatChunk[] {
    switch (type) {
      case "response.output_item.added":
        return isObject(event["item"]) ? this.#onAdded(event, event["item"]) : NO_CHUNKS;
      case "response.output_item.done": {
        const { item } = event;
        if (!isObject(item)) return NO_CHUNKS;
        this.#wholeCharacters += size;
        if (this.#wholeCharacters > MAX_KEPT)
          throw new MalformedAnswer(`The provider's stream holds items of more than ${MAX_KEPT} characters.`);
        return this.#chunks.settle(this.#itemAt(event, kindOf(item), item["id"]), item);
      }
      case "response.output_text.annotation.added":
        return this.#chunks.annotation(this.#itemAt(event, "message"), event["content_index"], event["annotation"]);
      default: {
        const cut = type.lastIndexOf(".");
        const [stem, step] = [type.slice(0, cut), type.slice(cut + 1)];
        return step === "delta" || step === "done" ? this.#onPiece(stem, step, event) : NO_CHUNKS;
      }
    }
  }

  #onPiece(stem: string, step: "delta" | "done", event: JsonObject): readonly ChatChunk[] {
    const text = TEXTS.get(stem);
    if (text !== undefined) {
      const item = this.#itemAt(event, text.item);
      const at = event[text.at];
      if (step === "done") return this.#chunks.complete(item, text.part, at, event[text.whole]);
      if (isLate(item, event["sequence_number"])) return NO_CHUNKS;
      const chunks = this.#chunks.grow(item, text.part, at, textOrEmpty(event["delta"]));
      return text.part === "text" && event["logprobs"] !== undefined ? this.#withLogprobs(chunks, item, event) : chunks;
    }
    const input = INPUTS.get(stem);
    if (input === undefined) return NO_CHUNKS;
    const item = this.#itemAt(event, input.item);
    if (step === "delta") {
      if (isLate(item, event["sequence_number"])) return NO_CHUNKS;
      return this.#chunks.callInput(item, textOrEmpty(event["delta"]));
    }
    if (item.call === null) item.name ||= textOrEmpty(event["name"]);
    return this.#chunks.completeInput(item, textOrEmpty(event[input.whole]));
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
    return kind === "function" || kind === "custom" ? this.#chunks.openCall(item, source) : NO_CHUNKS;
  }

  /** Returns the item that an event speaks of. It begins with the event when there is none of this kind at its place. */
  #itemAt(event: JsonObject, kind: ItemKind, id: Json | undefined = event["item_id"]): StreamItem {
    const place = placeOf(event, id);
    const there = place === null ? this.#items.findLast((item) => item.kind === kind) : this.#places.get(place);
    if (there?.kind === kind) return there;
    const item = this.#begin(kind, event["type"] === "response.output_item.added" ? id : undefined);
    if (place !== null) this.#places.set(place, item);
    return item;
  }

  #begin(kind: ItemKind, id: Json | undefined): StreamItem {
    if (this.#items.length >= MAX_ITEMS)
      throw new MalformedAnswer(`The provider's answer has more than ${MAX_ITEMS} items.`);
    const item = newItem(kind, id);
    this.#items.push(item);
    return item;
  }

  #onEnd(response: JsonObject, status: string, data: string): readonly ChatChunk[] {
    const ended = { ...response, status: response["status"] ?? status };
    const output = objectsIn(response["output"]);
    const chunks = [...this.#missingOf(output), ...this.#unnamedCalls()];
    this.#items.forEach(requireMended);
    const finish = finishOf(ended, this.#chunks.hasCalls, this.#rules, data);
    const whole = output.length > 0 ? output : this.#items.map(({ whole: one }) => one).filter((one) => one !== null);
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
    const matched = matchedItems(output, waiting);
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

function placeOf({ output_index: index }: JsonObject, id: Json | undefined): number | string | null {
  if (typeof index === "number") return index;
  return typeof id === "string" && id !== "" ? id : null;
}

/** Takes from `waiting` the item of each whole one; undefined where none has come. */
function matchedItems(output: readonly JsonObject[], waiting: Set<StreamItem>): readonly (StreamItem | undefined)[] {
  const take = (isIt: (item: StreamItem) => boolean): StreamItem | undefined => {
    for (const item of waiting)
      if (isIt(item)) {
        waiting.delete(item);
        return item;
      }
    return undefined;
  };
  const byId = output.map((whole) => {
    const [kind, id, callId] = [kindOf(whole), textOrEmpty(whole["id"]), textOrEmpty(whole["call_id"])];
    return take(
      (item) => item.kind === kind && ((id !== "" && item.id === id) || (callId !== "" && item.callId === callId)),
    );
  });
  return output.map((whole, at) => byId[at] ?? take(({ kind }) => kind === kindOf(whole)));
}
