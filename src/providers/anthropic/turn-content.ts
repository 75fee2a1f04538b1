// Carries a complete turn of Claude when chat completions cannot express all of it: tools that the vendor ran and their
// results, compactions, citations of documents, thinking between text and tool calls.
// https://platform.claude.com/docs/en/api/messages (content), .../build-with-claude/citations, .../compaction
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { carriedBlocks, carriedExtras, type ChatContent } from "../carried-content.ts";
import { annotationsOf } from "./citations.ts";

const VENDOR = "anthropic";

/** The order of blocks that a chat completion message can express. Blocks of other types have no place in it. */
const ORDER: Readonly<Record<string, number>> = { thinking: 0, redacted_thinking: 0, text: 1, tool_use: 2 };

/**
 * The member of an answer's message or of a delta. `container` is where the vendor's tools ran; the next request names
 * it.
 */
export function carriedTurn(
  blocks: readonly JsonObject[],
  container: Json | undefined,
  answerTool: string | null,
): { readonly extra_content?: JsonObject } {
  const packed = {
    ...(isBeyondChat(blocks, answerTool) && { content: blocks }),
    ...(isObject(container) && { container }),
  };
  return Object.keys(packed).length === 0 ? {} : { extra_content: { [VENDOR]: packed } };
}

/**
 * A turn with the tool call of an emulated JSON answer is not carried: the call is the answer's text, and if it were
 * sent back as a call it would have no result.
 */
function isBeyondChat(blocks: readonly JsonObject[], answerTool: string | null): boolean {
  if (answerTool !== null && blocks.some(({ type, name }) => type === "tool_use" && name === answerTool)) return false;
  let reached = 0;
  for (const block of blocks) {
    const place = ORDER[block["type"] as string];
    if (place === undefined || place < reached || hasCitationWithoutAddress(block)) return true;
    reached = place;
  }
  return false;
}

function hasCitationWithoutAddress({ type, citations }: JsonObject): boolean {
  return (
    type === "text" &&
    Array.isArray(citations) &&
    (citations as readonly Json[]).some((citation) => annotationsOf([citation], 0, 1).length === 0)
  );
}

function chatContentOf(blocks: readonly JsonObject[]): ChatContent {
  return {
    text: blocks.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : "")).join(""),
    calls: blocks.filter(({ type }) => type === "tool_use").map(({ id, input }) => ({ id: id as string, input })),
  };
}

/**
 * The blocks of an earlier answer, to be sent back unchanged. `null` when the message expresses everything. Empty texts
 * are left out, because the vendor refuses them.
 */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return (
    carriedBlocks(message, VENDOR, chatContentOf)?.filter(({ type, text }) => type !== "text" || text !== "") ?? null
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

/** A block that a stream is still adding to. */
export type GrowingBlock = Record<string, Json | undefined>;

/**
 * The member to which each type of delta adds. Other members of these deltas belong only to the stream. A delta of an
 * unlisted type adds to the members that it names.
 */
const PIECES: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
  compaction_delta: "content",
};

/** Adds a delta to its block. Pieces of an input are collected under their own name until the block ends. */
export function growBlock(block: GrowingBlock, delta: JsonObject): void {
  if (delta["type"] === "citations_delta") {
    const { citations } = block;
    if (Array.isArray(citations)) (citations as Json[]).push(delta["citation"]!);
    else block["citations"] = [delta["citation"]!];
    return;
  }
  const own = PIECES[delta["type"] as string];
  for (const name of own === undefined ? Object.keys(delta) : [own]) {
    const value = delta[name];
    if (name === "type" || value === undefined) continue;
    const there = block[name];
    block[name] = typeof there === "string" && typeof value === "string" ? there + value : value;
  }
}
