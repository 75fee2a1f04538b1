// Carries a complete turn of Converse when chat completions cannot express all of it: tools that the service ran and
// their results, and citations of documents.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { carriedBlocks, type ChatContent } from "../carried-content.ts";
import { annotationsOf } from "./citations.ts";

const VENDOR = "bedrock";

/** A call of a tool that the service itself runs. */
export function isOfService({ type }: JsonObject): boolean {
  return type === "server_tool_use";
}

/** The member of an answer's message or of a delta. */
export function carriedTurn(
  blocks: readonly JsonObject[],
  answerTool: string | null,
): { readonly extra_content?: JsonObject } {
  return isBeyondChat(blocks, answerTool) ? { extra_content: { [VENDOR]: { content: blocks } } } : {};
}

/**
 * A turn with the tool call of an emulated JSON answer is not carried: the call is the answer's text, and if it were
 * sent back as a call it would have no result.
 */
function isBeyondChat(blocks: readonly JsonObject[], answerTool: string | null): boolean {
  if (answerTool !== null && blocks.some(({ toolUse }) => isObject(toolUse) && toolUse["name"] === answerTool))
    return false;
  let reached = 0;
  for (const block of blocks) {
    const place = placeOf(block);
    if (place === null || place < reached) return true;
    reached = place;
  }
  return false;
}

/**
 * The position of a block when a chat completion message is encoded: reasoning, text, tool calls. `null` when such a
 * message cannot express the block.
 */
function placeOf({ text, reasoningContent, toolUse, citationsContent }: JsonObject): number | null {
  if (isObject(reasoningContent)) return 0;
  if (typeof text === "string") return 1;
  if (isObject(citationsContent)) return hasCitationWithoutAddress(citationsContent) ? null : 1;
  return isObject(toolUse) && !isOfService(toolUse) ? 2 : null;
}

function hasCitationWithoutAddress({ citations }: JsonObject): boolean {
  return (
    Array.isArray(citations) &&
    (citations as readonly Json[]).some((citation) => annotationsOf([citation], 0, 1).length === 0)
  );
}

function chatContentOf(blocks: readonly JsonObject[]): ChatContent {
  return {
    text: blocks.map(textOf).join(""),
    calls: blocks.flatMap(({ toolUse }) =>
      isObject(toolUse) && !isOfService(toolUse)
        ? [{ id: toolUse["toolUseId"] as string, input: toolUse["input"] }]
        : [],
    ),
  };
}

function textOf({ text, citationsContent }: JsonObject): string {
  if (typeof text === "string") return text;
  const content = isObject(citationsContent) ? citationsContent["content"] : undefined;
  return Array.isArray(content)
    ? (content as readonly Json[])
        .map((each) => (isObject(each) && typeof each["text"] === "string" ? each["text"] : ""))
        .join("")
    : "";
}

/**
 * The blocks of an earlier answer, to be sent back unchanged. `null` when the message expresses everything. Blocks that
 * the service refuses are left out: empty texts, and reasoning without a signature.
 */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return (
    carriedBlocks(message, VENDOR, chatContentOf)?.filter((block) => block["text"] !== "" && !isUnsigned(block)) ?? null
  );
}

function isUnsigned({ reasoningContent }: JsonObject): boolean {
  const text = isObject(reasoningContent) ? reasoningContent["reasoningText"] : undefined;
  return isObject(text) && (text["signature"] ?? "") === "";
}

/**
 * A block that a stream is still adding to. Text blocks have no start event, and become cited blocks with their first
 * citation.
 */
export type GrowingBlock = Record<string, Json | undefined>;

/** Adds a delta to its block. The pieces of an input are joined as a text until the block ends. */
export function growBlock(block: GrowingBlock, delta: JsonObject): void {
  const { text, toolUse, reasoningContent, citation } = delta;
  if (typeof text === "string") addText(block, text);
  else if (isObject(citation)) addCitation(block, citation);
  else if (isObject(toolUse))
    block["toolUse"] = {
      ...(block["toolUse"] as JsonObject | undefined),
      input: pieceOf((block["toolUse"] as JsonObject | undefined)?.["input"]) + pieceOf(toolUse["input"]),
    };
  else if (isObject(reasoningContent)) addReasoning(block, reasoningContent);
  else for (const [name, value] of Object.entries(delta)) addOther(block, name, value!);
}

function pieceOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function addText(block: GrowingBlock, text: string): void {
  const cited = block["citationsContent"];
  if (isObject(cited))
    block["citationsContent"] = { ...cited, content: [{ text: textOf({ citationsContent: cited }) + text }] };
  else block["text"] = pieceOf(block["text"]) + text;
}

function addCitation(block: GrowingBlock, citation: JsonObject): void {
  const { text, citationsContent: cited } = block;
  delete block["text"];
  if (isObject(cited)) (cited["citations"] as Json[]).push(citation);
  else block["citationsContent"] = { content: [{ text: pieceOf(text) }], citations: [citation] };
}

function addReasoning(block: GrowingBlock, { text, signature, redactedContent }: JsonObject): void {
  if (typeof redactedContent === "string") {
    block["reasoningContent"] = { redactedContent };
    return;
  }
  const there =
    isObject(block["reasoningContent"]) && isObject(block["reasoningContent"]["reasoningText"])
      ? block["reasoningContent"]["reasoningText"]
      : {};
  const signed = pieceOf(there["signature"]) + pieceOf(signature);
  block["reasoningContent"] = {
    reasoningText: { text: pieceOf(there["text"]) + pieceOf(text), ...(signed !== "" && { signature: signed }) },
  };
}

/** A result of a tool that the service ran begins with its id, and its content comes in parts of a list. */
function addOther(block: GrowingBlock, name: string, value: Json): void {
  const there = block[name];
  if (!Array.isArray(value)) block[name] = value;
  else if (isObject(there))
    block[name] = {
      ...there,
      content: [
        ...(Array.isArray(there["content"]) ? (there["content"] as readonly Json[]) : []),
        ...(value as readonly Json[]),
      ],
    };
  else block[name] = { content: value };
}
