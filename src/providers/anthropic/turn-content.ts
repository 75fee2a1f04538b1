// Carries a complete turn of Claude when chat completions cannot express all of it: tools that the vendor ran and their
// results, compactions, citations of documents, thinking between text and tool calls.
// https://platform.claude.com/docs/en/api/messages (content), .../build-with-claude/citations, .../compaction
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import {
  type BlockCall,
  carriedBlocks,
  carriedExtras,
  type ChatContent,
  type GrowingBlock,
  isBeyondChat,
  isSameBlockCall,
} from "../content-blocks/carried-turn.ts";
import { parseObject } from "../conversation/tool-calls.ts";
import { hasCitationBeyondAnnotation, urlCitations } from "../content-blocks/citations.ts";

const VENDOR = "anthropic";

/** The order of blocks that a chat completion message can express. Blocks of other types have no place in it. */
const ORDER: ReadonlyMap<unknown, number> = new Map([
  ["thinking", 0],
  ["redacted_thinking", 0],
  ["text", 1],
  ["tool_use", 2],
]);

/**
 * The member of an answer's message or of a delta. `container` is where the vendor's tools ran; the next request names
 * it.
 */
export function carriedTurn(
  blocks: readonly JsonObject[],
  container: Json | undefined,
  answerTool: string | null,
): { readonly extra_content?: JsonObject } {
  const isAnswer = ({ type, name }: JsonObject): boolean => type === "tool_use" && name === answerTool;
  const carried = {
    ...(isBeyondChat(blocks, placeOf, isAnswer) && { content: blocks }),
    ...(isObject(container) && { container }),
  };
  return Object.keys(carried).length === 0 ? {} : { extra_content: { [VENDOR]: carried } };
}

function placeOf({ type, citations }: JsonObject): number | null {
  const isBeyond = type === "text" && hasCitationBeyondAnnotation(citations, addressOf, EXPRESSED);
  return isBeyond ? null : (ORDER.get(type) ?? null);
}

const EXPRESSED: ReadonlySet<string> = new Set(["type", "url", "source", "title"]);

/** https://platform.claude.com/docs/en/build-with-claude/citations */
function addressOf({ url, source }: JsonObject): Json | undefined {
  return url ?? source;
}

export function annotationsOf(citations: Json | undefined, start: number, end: number): JsonObject[] {
  return urlCitations(citations, addressOf, [start, end]);
}

function chatContentOf(blocks: readonly JsonObject[]): ChatContent<BlockCall> {
  return {
    text: blocks.map(({ type, text }) => (type === "text" ? textOrEmpty(text) : "")).join(""),
    calls: blocks.filter(({ type }) => type === "tool_use").map(({ id, input }) => ({ id: id as string, input })),
  };
}

/**
 * The blocks of an earlier answer, to be sent back unchanged. `null` when the message expresses everything. Empty texts
 * are left out, because the vendor refuses them.
 */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return (
    carriedBlocks(message, VENDOR, chatContentOf, isSameBlockCall)?.filter(
      ({ type, text }) => type !== "text" || text !== "",
    ) ?? null
  );
}

/** The id of the container of the newest earlier answer that has one. `null` when there is none. */
export function containerOf(messages: readonly Message[]): string | null {
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!;
    const container = message.role === "assistant" ? carriedExtras(message, VENDOR)?.["container"] : undefined;
    if (isObject(container) && typeof container["id"] === "string") return container["id"];
  }
  return null;
}

/**
 * The member to which each type of delta adds. Other members of these deltas belong only to the stream. A delta of an
 * unlisted type adds to the members that it names.
 */
const PIECES: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "signature"],
  ["input_json_delta", "partial_json"],
  ["compaction_delta", "content"],
]);

/** Returns the piece that a delta adds to a text of its block; undefined where it brings something else. */
export function pieceOf(delta: JsonObject): string | undefined {
  const name = PIECES.get(delta["type"]);
  const piece = name === undefined ? undefined : delta[name];
  return typeof piece === "string" ? piece : undefined;
}

/** Returns a delta that brings another piece than `delta` and nothing else. */
export function withPiece({ type }: JsonObject, piece: string): JsonObject {
  return { type: type!, [PIECES.get(type)!]: piece };
}

/** Adds a delta to its block. Pieces of an input are collected under their own name until the block ends. */
export function growBlock(block: GrowingBlock, delta: JsonObject): void {
  if (delta["type"] === "citations_delta") {
    const { citations } = block;
    if (Array.isArray(citations)) (citations as Json[]).push(delta["citation"]!);
    else block["citations"] = [delta["citation"]!];
    return;
  }
  const own = PIECES.get(delta["type"]);
  for (const name of own === undefined ? Object.keys(delta) : [own]) {
    const value = delta[name];
    if (name === "type" || value === undefined) continue;
    const there = block[name];
    block[name] = typeof there === "string" && typeof value === "string" ? there + value : value;
  }
}

/** Joins the pieces of an input into one object. Returns false when they are no object. */
export function endBlock(block: GrowingBlock): boolean {
  const pieces = block["partial_json"];
  if (pieces === undefined) return true;
  delete block["partial_json"];
  if (pieces === "") return true;
  const input = typeof pieces === "string" ? parseObject(pieces) : null;
  if (input !== null) block["input"] = input;
  return input !== null;
}
