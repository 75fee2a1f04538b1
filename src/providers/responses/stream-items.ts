// The items of a streamed answer, and how much of each has come: deltas that were lost, came late or never are supplied
// from the event that ends a part, an item or the answer, each of which repeats the whole. Where the pieces are not what
// the whole begins with, the answer has failed: what the client has cannot be taken back. Of each text a digest is kept,
// unlike in a stream that passes (passed-items.ts of the operation), which may have to be told again.
import { chunkOf, NO_CHUNKS } from "../interface/stream-decoder.ts";
import type { ChatChunk, ChunkChoice, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import { type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import { requireFewPlaces, requireKeptItems } from "../content-blocks/turn-chunks.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";
import { annotationsOf, callIdOf, inputOf, type ItemKind } from "./output-items.ts";
import { PieceDigest } from "./piece-digest.ts";
import { REASONING_BREAK, reasoningDetails } from "./reasoning-items.ts";
import { formOfCall, type PartForm, PARTS } from "./stream-grammar.ts";

/** A text of an item: a content part or a part of the summary. */
interface Part {
  readonly form: PartForm;
  readonly at: number;
  /** What has come of it. */
  readonly said: PieceDigest;
  /** Where the text begins in the content of the answer. */
  start: number;
  /** The whole has come. */
  isWhole: boolean;
  annotations: number;
  hasLogprobs: boolean;
}

export interface StreamItem {
  readonly kind: ItemKind;
  /** The form of the input of a call; `null` for other items. */
  readonly called: PartForm | null;
  id: string | null;
  readonly parts: Map<string, Part>;
  /** The index of the tool call; `null` before the name is known. */
  call: number | null;
  name: string;
  /** The input of a call whose name has not come. */
  held: string;
  /** The number of its latest piece; 0 where the server does not count. */
  number: number;
  /** A piece came too late to be added. */
  isDisordered: boolean;
  /** What has come of the input. */
  readonly input: PieceDigest;
  isInputWhole: boolean;
  /** `call_id` of the call; empty where none came. */
  callId: string;
  /** The whole item, once it has come. */
  whole: JsonObject | null;
}

export function newItem(kind: ItemKind, id: Json | undefined): StreamItem {
  return {
    kind,
    called: formOfCall(kind),
    id: typeof id === "string" ? id : null,
    parts: new Map(),
    call: null,
    name: "",
    held: "",
    number: 0,
    isDisordered: false,
    input: new PieceDigest(),
    isInputWhole: false,
    callId: "",
    whole: null,
  };
}

/** Whether a piece has a number below that of an earlier piece of its item, so that its place has gone. */
export function isLate(item: StreamItem, number: Json | undefined): boolean {
  if (typeof number !== "number" || number <= 0) return false;
  if (number < item.number) return (item.isDisordered = true);
  item.number = number;
  return false;
}

/** Throws MalformedAnswer for an item of which a piece came too late, and no whole item after it. */
export function requireMended({ isDisordered }: StreamItem): void {
  if (isDisordered) throw new MalformedAnswer(OUT_OF_ORDER);
}

/** Makes chunks of what items contribute, and counts what later chunks refer to. */
export class ItemChunks {
  readonly #format: string;
  #textLength = 0;
  #calls = 0;
  #details = 0;
  #places = 0;
  #kept = 0;
  #hasReasoned = false;
  /** The part to which something was added last; `null` before the first. */
  #growing: Part | null = null;
  /** The part that each text of the answer has grown by last. */
  readonly #latest = new Map<PartForm["chat"], Part>();

  constructor(reasoningFormat: string) {
    this.#format = reasoningFormat;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** Counts what is kept of all items together. Throws MalformedAnswer. */
  keep(characters: number): void {
    this.#kept += characters;
    requireKeptItems(this.#kept);
  }

  /** Adds a piece to the part with this index. A piece that comes after the whole is left out. */
  grow(item: StreamItem, form: PartForm, at: Json | undefined, piece: string): readonly ChatChunk[] {
    if (piece === "") return NO_CHUNKS;
    const part = this.#part(item, form, at);
    if (!part.isWhole) return this.#grown(part, piece);
    item.isDisordered = true;
    return NO_CHUNKS;
  }

  /**
   * Adds what is missing of the whole text of a part; a text that is absent says nothing. Throws MalformedAnswer where
   * the pieces are not what the whole begins with.
   */
  complete(item: StreamItem, form: PartForm, at: Json | undefined, text: Json | undefined): readonly ChatChunk[] {
    if (typeof text !== "string") return NO_CHUNKS;
    const part = this.#part(item, form, at);
    const missing = missingOf(part.said, text);
    part.isWhole = true;
    return missing === "" ? NO_CHUNKS : this.#grown(part, missing);
  }

  #grown(part: Part, piece: string): readonly ChatChunk[] {
    const isFirst = part.said.length === 0;
    const { chat } = part.form;
    if (!isFirst && this.#latest.get(chat) !== part) throw new MalformedAnswer(OUT_OF_ORDER);
    this.#latest.set(chat, part);
    this.#growing = part;
    part.said.add(piece);
    switch (chat) {
      case "content":
        if (isFirst) part.start = this.#textLength;
        this.#textLength += piece.length;
        return [chunkOf({ content: piece })];
      case "refusal":
        return [chunkOf({ refusal: piece })];
      default: {
        const text = isFirst && this.#hasReasoned ? REASONING_BREAK + piece : piece;
        this.#hasReasoned = true;
        return [chunkOf({ reasoning_content: text })];
      }
    }
  }

  /** Returns what takes further pieces of the part to which something was added last. */
  growth(): (piece: string) => void {
    const part = this.#growing;
    return (piece) => {
      if (part === null) return;
      part.said.add(piece);
      if (part.form.chat === "content") this.#textLength += piece.length;
    };
  }

  annotation(item: StreamItem, at: Json | undefined, annotation: Json | undefined): readonly ChatChunk[] {
    const part = this.#part(item, PARTS.message.output_text, at);
    const annotations = annotationsOf([annotation ?? null], part.start);
    part.annotations += annotations.length;
    return annotations.length === 0 ? NO_CHUNKS : [chunkOf({ annotations })];
  }

  logprobs(item: StreamItem, at: Json | undefined, entries: Json | undefined): Pick<ChunkChoice, "logprobs"> {
    const found = objectsIn(entries);
    if (found.length === 0) return {};
    this.#part(item, PARTS.message.output_text, at).hasLogprobs = true;
    return { logprobs: { content: found, refusal: null } };
  }

  /** Takes from the item what a call needs before its input can be sent. */
  openCall(item: StreamItem, source: JsonObject): readonly ChatChunk[] {
    const name = textOrEmpty(source["name"]);
    if (item.name !== "" && name !== "" && item.name !== name) throw new MalformedAnswer(OTHER_TEXT);
    item.name ||= name;
    item.callId ||= textOrEmpty(source["call_id"]);
    if (item.call !== null || item.name === "") return NO_CHUNKS;
    item.call = this.#calls++;
    const { call: index, held } = item;
    item.held = "";
    this.#kept -= held.length;
    const id = callIdOf(source);
    const delta: ToolCallDelta =
      item.called?.chat === "custom"
        ? { index, id, type: "custom", custom: { name: item.name, input: held } }
        : { index, id, type: "function", function: { name: item.name, arguments: held } };
    return [chunkOf({ tool_calls: [delta] })];
  }

  /** Throws MalformedAnswer for too much input before the name of its call. */
  callInput(item: StreamItem, piece: string): readonly ChatChunk[] {
    if (piece === "") return NO_CHUNKS;
    if (!item.isInputWhole) return this.#grownInput(item, piece);
    item.isDisordered = true;
    return NO_CHUNKS;
  }

  #grownInput(item: StreamItem, piece: string): readonly ChatChunk[] {
    item.input.add(piece);
    const { call: index } = item;
    if (index !== null)
      return [
        chunkOf({
          tool_calls: [
            item.called?.chat === "custom"
              ? { index, custom: { input: piece } }
              : { index, function: { arguments: piece } },
          ],
        }),
      ];
    this.keep(piece.length);
    item.held += piece;
    return NO_CHUNKS;
  }

  /** Adds what is missing of the whole input of a call. An empty one says nothing. Throws as `complete` does. */
  completeInput(item: StreamItem, input: string): readonly ChatChunk[] {
    if (input === "") return NO_CHUNKS;
    const missing = missingOf(item.input, input);
    item.isInputWhole = true;
    return missing === "" ? NO_CHUNKS : this.#grownInput(item, missing);
  }

  /**
   * Adds what is missing of a whole item. An item that comes whole a second time has to say the same, or more. Throws
   * MalformedAnswer where it does not say what has come.
   */
  settle(item: StreamItem, whole: JsonObject): readonly ChatChunk[] {
    const isFirst = item.whole === null;
    item.whole ??= whole;
    item.isDisordered = false;
    switch (item.kind) {
      case "message":
        return this.#settleMessage(item, whole["content"]);
      case "reasoning":
        return [
          ...this.#settleReasoning(item, PARTS.reasoning.reasoning_text, whole["content"]),
          ...this.#settleReasoning(item, PARTS.reasoning.summary_text, whole["summary"]),
          ...(isFirst ? this.#detailsOf(whole) : NO_CHUNKS),
        ];
      default:
        if (item.called === null) return NO_CHUNKS;
        return [...this.openCall(item, whole), ...this.completeInput(item, inputOf(whole))];
    }
  }

  /** Throws MalformedAnswer where the texts of messages, in the order of the whole answer, came in another one. */
  requireOrder(items: readonly StreamItem[]): void {
    let end = 0;
    for (const { parts } of items)
      for (const { start, said } of [...parts.values()]
        .filter(isSaidText)
        .toSorted((one, other) => one.at - other.at)) {
        if (start < end) throw new MalformedAnswer(OUT_OF_ORDER);
        end = start + said.length;
      }
  }

  #settleMessage(item: StreamItem, content: Json | undefined): readonly ChatChunk[] {
    if (typeof content === "string") return this.complete(item, PARTS.message.output_text, 0, content);
    const sources = objectsIn(content);
    const chunks = sources.flatMap((source, at) => {
      if (source["type"] === "refusal") return this.complete(item, PARTS.message.refusal, at, source["refusal"]);
      const text = this.complete(item, PARTS.message.output_text, at, source["text"]);
      const part = this.#part(item, PARTS.message.output_text, at);
      const annotations = annotationsOf(source["annotations"], part.start).slice(part.annotations);
      part.annotations += annotations.length;
      const { logprobs = null } = part.hasLogprobs ? {} : this.logprobs(item, at, source["logprobs"]);
      return [
        ...text,
        ...(annotations.length === 0 ? NO_CHUNKS : [chunkOf({ annotations })]),
        ...(logprobs === null ? NO_CHUNKS : [{ choices: [{ index: 0, delta: {}, logprobs }] }]),
      ];
    });
    const isRefusal = (at: number): boolean => sources[at]!["type"] === "refusal";
    if (sources.length > 0)
      requireAll(item, ({ form, at }) => at < sources.length && isRefusal(at) === (form === PARTS.message.refusal));
    return chunks;
  }

  #settleReasoning(item: StreamItem, form: PartForm, parts: Json | undefined): readonly ChatChunk[] {
    const sources = objectsIn(parts);
    const chunks = sources.flatMap(({ text }, at) => this.complete(item, form, at, text));
    if (sources.length > 0) requireAll(item, (part) => part.form !== form || part.at < sources.length);
    return chunks;
  }

  #detailsOf(whole: JsonObject): readonly ChatChunk[] {
    const details: readonly ReasoningDetail[] = reasoningDetails(whole, this.#details, this.#format);
    this.#details += details.length;
    const delta: ChunkDelta = { reasoning_details: details };
    return details.length === 0 ? NO_CHUNKS : [chunkOf(delta)];
  }

  #part({ parts }: StreamItem, form: PartForm, at: Json | undefined): Part {
    const index = typeof at === "number" && Number.isSafeInteger(at) && at >= 0 ? at : 0;
    const key = `${form.type} ${index}`;
    let part = parts.get(key);
    if (part === undefined) {
      requireFewPlaces(++this.#places);
      const start = this.#textLength;
      part = { form, at: index, said: new PieceDigest(), start, isWhole: false, annotations: 0, hasLogprobs: false };
      parts.set(key, part);
    }
    return part;
  }
}

const OTHER_TEXT = "The provider's stream repeats a part of the answer with other text than its pieces had.";
const OUT_OF_ORDER = "The provider's stream has the texts of the answer in another order.";

function missingOf(said: PieceDigest, whole: string): string {
  if (!said.begins(whole)) throw new MalformedAnswer(OTHER_TEXT);
  return whole.slice(said.length);
}

function isSaidText({ form, said }: Part): boolean {
  return form.chat === "content" && said.length > 0;
}

/** Throws MalformedAnswer for a part that has come and is not in the whole item. */
function requireAll({ parts }: StreamItem, isThere: (part: Part) => boolean): void {
  for (const part of parts.values()) if (part.said.length > 0 && !isThere(part)) throw new MalformedAnswer(OTHER_TEXT);
}
