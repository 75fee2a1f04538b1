// The blocks of a turn as the vendor wrote them, when chat completions have no form for some of them: tools that the
// vendor ran itself and their results, citations of documents, thinking between text and tool calls. They travel in
// order in one member of the message, `extra_content.<vendor>.content`, and are sent back to that vendor in place of
// the message's other members (record 0006).
import type { Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { parseObject } from "../conversation/tool-calls.ts";
import { MAX_KEPT } from "./turn-chunks.ts";

/** The part of a list of blocks that chat completions can express as well. */
export interface ChatContent<Call> {
  readonly text: string;
  readonly calls: readonly Call[];
}

/** A call whose input is an object. */
export interface BlockCall {
  readonly id: string;
  readonly input: Json | undefined;
}

/** What a vendor's decoder has put into a message's `extra_content` for later turns. */
export function carriedExtras(message: JsonObject, vendor: string): JsonObject | null {
  const extra = message["extra_content"];
  const packed = isObject(extra) ? extra[vendor] : undefined;
  return isObject(packed) ? packed : null;
}

/**
 * The blocks that came with a message. `null` when there are none, or when they no longer match the message: a client
 * or a guard has then changed the message, and its present content counts.
 */
export function carriedBlocks<Call>(
  message: Message,
  vendor: string,
  saidBy: (blocks: readonly JsonObject[]) => ChatContent<Call>,
  isSameCall: (call: Call, made: ToolCall) => boolean,
): readonly JsonObject[] | null {
  const content = carriedExtras(message, vendor)?.["content"];
  if (!Array.isArray(content) || content.length === 0 || !(content as readonly Json[]).every(isObject)) return null;
  const blocks = content as readonly JsonObject[];
  const { text, calls } = saidBy(blocks);
  const made = message.tool_calls ?? [];
  const isSame =
    text === textOf(message.content) &&
    calls.length === made.length &&
    calls.every((call, index) => isSameCall(call, made[index]!));
  return isSame ? blocks : null;
}

function textOf(content: Message["content"]): string {
  if (!Array.isArray(content)) return textOrEmpty(content);
  return (content as readonly JsonObject[])
    .map((part) => (part["type"] === "text" ? textOrEmpty(part["text"]) : ""))
    .join("");
}

export function isSameBlockCall({ id, input }: BlockCall, made: Partial<ToolCall>): boolean {
  const called = made.function;
  if (made.id !== id || !isObject(called) || typeof called.arguments !== "string") return false;
  const given = called.arguments.trim() === "" ? {} : parseObject(called.arguments);
  return given !== null && JSON.stringify(given) === JSON.stringify(input ?? {});
}

/**
 * Whether a message of chat completions cannot express the blocks. `placeOf` gives a block's position when such a
 * message is encoded (reasoning, text, tool calls), and `null` for a block that no message can express. A turn with the
 * tool call of an emulated JSON answer is not carried: the call is the answer's text, and if it were sent back as a
 * call it would have no result.
 */
export function isBeyondChat(
  blocks: readonly JsonObject[],
  placeOf: (block: JsonObject) => number | null,
  isAnswerCall: (block: JsonObject) => boolean,
): boolean {
  if (blocks.some(isAnswerCall)) return false;
  let reached = 0;
  for (const block of blocks) {
    const place = placeOf(block);
    if (place === null || place < reached) return true;
    reached = place;
  }
  return false;
}

/** A block that a stream is still adding to. */
export type GrowingBlock = Record<string, Json | undefined>;

/**
 * The blocks of a streamed turn, as the vendor writes them. They are given up when they are too long to be kept, or
 * when a piece of them cannot be parsed.
 */
export class GrowingTurn {
  #blocks: Map<Json | undefined, GrowingBlock> | null = new Map();
  #characters = 0;

  /** Empty when the blocks were given up. */
  get blocks(): readonly JsonObject[] {
    return [...(this.#blocks?.values() ?? [])];
  }

  /** `size` is the number of characters of the block, which may be whole when it begins. */
  begin(index: Json | undefined, block: JsonObject, size: number): void {
    this.#count(size);
    this.#blocks?.set(index, { ...block });
  }

  /**
   * Adds a delta to its block, which begins with it when there was no start. `size` is the number of characters that are
   * kept of it.
   */
  grow(
    index: Json | undefined,
    delta: JsonObject,
    size: number,
    add: (block: GrowingBlock, delta: JsonObject) => void,
  ): void {
    this.#count(size);
    if (this.#blocks === null) return;
    const block = this.#blocks.get(index) ?? {};
    this.#blocks.set(index, block);
    add(block, delta);
  }

  /** `finish` returns false when the block cannot be read. */
  end(index: Json | undefined, finish: (block: GrowingBlock) => boolean): void {
    const block = this.#blocks?.get(index);
    if (block !== undefined && !finish(block)) this.#blocks = null;
  }

  #count(size: number): void {
    this.#characters += size;
    if (this.#characters > MAX_KEPT) this.#blocks = null;
  }
}
