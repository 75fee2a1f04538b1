// A turn of Claude whole, where chat completions cannot say all of it: tools that the vendor ran and what they gave, compactions, citations of documents,
// thinking between words and calls. https://platform.claude.com/docs/en/api/messages (content), .../build-with-claude/citations, .../compaction
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { carriedBlocks, packedFor, type SaidInChat } from "../carried-content.ts";
import { annotationsOf } from "./citations.ts";

const VENDOR = "anthropic";

/** The order in which a message of chat completions goes back; blocks that are not here have no other place. */
const ORDER: Readonly<Record<string, number>> = { thinking: 0, redacted_thinking: 0, text: 1, tool_use: 2 };

/** Member of an answer's message or of a delta. `container`: the place where the vendor's tools ran, which the next request names. */
export function packedTurn(
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

/** The call of an answer in JSON is its text: what would go back as a call has no result. */
function isBeyondChat(blocks: readonly JsonObject[], answerTool: string | null): boolean {
  if (answerTool !== null && blocks.some(({ type, name }) => type === "tool_use" && name === answerTool)) return false;
  let reached = 0;
  for (const block of blocks) {
    const place = ORDER[block["type"] as string];
    if (place === undefined || place < reached || hasUnsaidCitation(block)) return true;
    reached = place;
  }
  return false;
}

function hasUnsaidCitation({ type, citations }: JsonObject): boolean {
  return (
    type === "text" &&
    Array.isArray(citations) &&
    (citations as readonly Json[]).some((citation) => annotationsOf([citation], 0, 1).length === 0)
  );
}

function saidBy(blocks: readonly JsonObject[]): SaidInChat {
  return {
    text: blocks.map(({ type, text }) => (type === "text" && typeof text === "string" ? text : "")).join(""),
    calls: blocks.filter(({ type }) => type === "tool_use").map(({ id, input }) => ({ id: id as string, input })),
  };
}

/** The blocks of an earlier answer, to be sent back as they came; null where the message says all. Texts without a character are refused by the vendor. */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return carriedBlocks(message, VENDOR, saidBy)?.filter(({ type, text }) => type !== "text" || text !== "") ?? null;
}

/** The id of the container that the newest of the earlier answers was made in; null where there is none. */
export function containerOf(messages: readonly Message[]): string | null {
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!;
    const container = message.role === "assistant" ? packedFor(message, VENDOR)?.["container"] : undefined;
    if (isObject(container) && typeof container["id"] === "string") return container["id"];
  }
  return null;
}

/** A block in the making: what comes of it in a stream is added to what it began with. */
export type GrowingBlock = Record<string, Json | undefined>;

/** The member that a delta adds to; what else stands in it is of the stream alone. Deltas that are not here add to the members that they name. */
const PIECES: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
  compaction_delta: "content",
};

/** Adds what a delta says. Pieces of an input are collected under their own name until the block ends. */
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
