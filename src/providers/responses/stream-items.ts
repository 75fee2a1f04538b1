// The items of a streamed answer, and how much of each has come: deltas that were lost, came late or never are supplied
// from the event that ends a part, an item or the answer, each of which repeats the whole.
import type { ChatChunk, ChunkChoice, ChunkDelta, ReasoningDetail, ToolCallDelta } from "../../core/chat.ts";
import type { Json, JsonObject } from "../../core/json.ts";
import { chunkOf, MAX_KEPT, NO_CHUNKS } from "../content-blocks/turn-chunks.ts";
import { MalformedAnswer } from "../provider.ts";
import { objectsIn, textOrEmpty } from "../sent-json.ts";
import { annotationsOf, callIdOf, inputOf, type ItemKind } from "./output-items.ts";
import { REASONING_BREAK, reasoningDetails } from "./reasoning-items.ts";

/** A text of an item: a content part or a part of the summary. */
interface Part {
  readonly kind: PartKind;
  /** The characters that have come. */
  length: number;
  /** Where the text begins in the content of the answer. */
  readonly start: number;
  annotations: number;
  hasLogprobs: boolean;
}
export type PartKind = "text" | "refusal" | "raw" | "summary";

export interface StreamItem {
  readonly kind: ItemKind;
  id: string | null;
  readonly parts: Map<string, Part>;
  /** The index of the tool call; `null` before the name is known. */
  call: number | null;
  name: string;
  /** The input of a call whose name has not come. */
  held: string;
  inputLength: number;
  /** The whole item, once it has come. */
  whole: JsonObject | null;
}

export function newItem(kind: ItemKind, id: Json | undefined): StreamItem {
  return {
    kind,
    id: typeof id === "string" ? id : null,
    parts: new Map(),
    call: null,
    name: "",
    held: "",
    inputLength: 0,
    whole: null,
  };
}

/** Makes chunks of what items contribute, and counts what later chunks refer to. */
export class ItemChunks {
  readonly #format: string;
  #textLength = 0;
  #calls = 0;
  #details = 0;
  #hasReasoned = false;
  /** The part to which something was added last; `null` before the first. */
  #growing: Part | null = null;

  constructor(reasoningFormat: string) {
    this.#format = reasoningFormat;
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  /** Adds a piece to the part with this index. */
  grow(item: StreamItem, kind: PartKind, at: Json | undefined, piece: string): readonly ChatChunk[] {
    if (piece === "") return NO_CHUNKS;
    const part = this.#part(item, kind, at);
    const isFirst = part.length === 0;
    part.length += piece.length;
    this.#growing = part;
    switch (kind) {
      case "text":
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

  /** Returns what counts further characters of the part to which something was added last. */
  growth(): (characters: number) => void {
    const part = this.#growing;
    return (characters) => {
      if (part === null) return;
      part.length += characters;
      if (part.kind === "text") this.#textLength += characters;
    };
  }

  /** Adds what is missing of the whole text of a part. */
  complete(item: StreamItem, kind: PartKind, at: Json | undefined, text: string): readonly ChatChunk[] {
    const { length } = this.#part(item, kind, at);
    return length < text.length ? this.grow(item, kind, at, text.slice(length)) : NO_CHUNKS;
  }

  annotation(item: StreamItem, at: Json | undefined, annotation: Json | undefined): readonly ChatChunk[] {
    const part = this.#part(item, "text", at);
    const annotations = annotationsOf([annotation ?? null], part.start);
    part.annotations += annotations.length;
    return annotations.length === 0 ? NO_CHUNKS : [chunkOf({ annotations })];
  }

  logprobs(item: StreamItem, at: Json | undefined, entries: Json | undefined): Pick<ChunkChoice, "logprobs"> {
    const found = objectsIn(entries);
    if (found.length === 0) return {};
    this.#part(item, "text", at).hasLogprobs = true;
    return { logprobs: { content: found, refusal: null } };
  }

  /** Takes from the item what a call needs before its input can be sent. */
  openCall(item: StreamItem, source: JsonObject): readonly ChatChunk[] {
    item.name ||= textOrEmpty(source["name"]);
    if (item.call !== null || item.name === "") return NO_CHUNKS;
    item.call = this.#calls++;
    const { call: index, name, held } = item;
    item.held = "";
    const id = callIdOf(source);
    const delta: ToolCallDelta =
      item.kind === "custom"
        ? { index, id, type: "custom", custom: { name, input: held } }
        : { index, id, type: "function", function: { name, arguments: held } };
    return [chunkOf({ tool_calls: [delta] })];
  }

  /** Throws MalformedAnswer for too much input before the name of its call. */
  callInput(item: StreamItem, piece: string): readonly ChatChunk[] {
    if (piece === "") return NO_CHUNKS;
    item.inputLength += piece.length;
    const { call: index } = item;
    if (index !== null)
      return [
        chunkOf({
          tool_calls: [
            item.kind === "custom" ? { index, custom: { input: piece } } : { index, function: { arguments: piece } },
          ],
        }),
      ];
    item.held += piece;
    if (item.held.length > MAX_KEPT)
      throw new MalformedAnswer("The provider's stream has too many arguments of a tool call before the call's name.");
    return NO_CHUNKS;
  }

  completeInput(item: StreamItem, input: string): readonly ChatChunk[] {
    return item.inputLength < input.length ? this.callInput(item, input.slice(item.inputLength)) : NO_CHUNKS;
  }

  /** Adds what is missing of a whole item. An item that comes whole a second time adds nothing. */
  settle(item: StreamItem, whole: JsonObject): readonly ChatChunk[] {
    if (item.whole !== null) return NO_CHUNKS;
    item.whole = whole;
    switch (item.kind) {
      case "message":
        return this.#settleMessage(item, whole["content"]);
      case "reasoning":
        return [
          ...this.#settleReasoning(item, "raw", whole["content"]),
          ...this.#settleReasoning(item, "summary", whole["summary"]),
          ...this.#detailsOf(whole),
        ];
      case "function":
      case "custom":
        return [...this.openCall(item, whole), ...this.completeInput(item, inputOf(whole, item.kind))];
      default:
        return NO_CHUNKS;
    }
  }

  #settleMessage(item: StreamItem, content: Json | undefined): readonly ChatChunk[] {
    if (typeof content === "string") return this.complete(item, "text", 0, content);
    return objectsIn(content).flatMap((source, at) => {
      if (source["type"] === "refusal") return this.complete(item, "refusal", at, textOrEmpty(source["refusal"]));
      const text = this.complete(item, "text", at, textOrEmpty(source["text"]));
      const part = this.#part(item, "text", at);
      const annotations = annotationsOf(source["annotations"], part.start).slice(part.annotations);
      const { logprobs = null } = part.hasLogprobs ? {} : this.logprobs(item, at, source["logprobs"]);
      return [
        ...text,
        ...(annotations.length === 0 ? NO_CHUNKS : [chunkOf({ annotations })]),
        ...(logprobs === null ? NO_CHUNKS : [{ choices: [{ index: 0, delta: {}, logprobs }] }]),
      ];
    });
  }

  #settleReasoning(item: StreamItem, kind: "raw" | "summary", parts: Json | undefined): readonly ChatChunk[] {
    return objectsIn(parts).flatMap(({ text }, at) => this.complete(item, kind, at, textOrEmpty(text)));
  }

  #detailsOf(whole: JsonObject): readonly ChatChunk[] {
    const details: readonly ReasoningDetail[] = reasoningDetails(whole, this.#details, this.#format);
    this.#details += details.length;
    const delta: ChunkDelta = { reasoning_details: details };
    return details.length === 0 ? NO_CHUNKS : [chunkOf(delta)];
  }

  #part({ parts }: StreamItem, kind: PartKind, at: Json | undefined): Part {
    const key = `${kind} ${typeof at === "number" ? at : 0}`;
    let part = parts.get(key);
    if (part === undefined) {
      part = { kind, length: 0, start: this.#textLength, annotations: 0, hasLogprobs: false };
      parts.set(key, part);
    }
    return part;
  }
}
