// Carries a complete turn of Converse when chat completions cannot express all of it: tools that the service ran and
// their results, and citations of documents.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import {
  type BlockCall,
  carriedBlocks,
  type ChatContent,
  type GrowingBlock,
  isBeyondChat,
  isSameBlockCall,
} from "../content-blocks/carried-turn.ts";
import { hasCitationBeyondAnnotation, urlCitations } from "../content-blocks/citations.ts";
import { parseObject } from "../conversation/tool-calls.ts";

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
  const isAnswer = ({ toolUse }: JsonObject): boolean => isObject(toolUse) && toolUse["name"] === answerTool;
  return isBeyondChat(blocks, placeOf, isAnswer) ? { extra_content: { [VENDOR]: { content: blocks } } } : {};
}

/**
 * The position of a block when a chat completion message is encoded: reasoning, text, tool calls. `null` when such a
 * message cannot express the block.
 */
function placeOf({ text, reasoningContent, toolUse, citationsContent }: JsonObject): number | null {
  if (isObject(reasoningContent)) return 0;
  if (typeof text === "string") return 1;
  if (isObject(citationsContent))
    return hasCitationBeyondAnnotation(citationsContent["citations"], addressOf, EXPRESSED) ? null : 1;
  return isObject(toolUse) && !isOfService(toolUse) ? 2 : null;
}

const EXPRESSED: ReadonlySet<string> = new Set(["title", "source"]);

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html */
function addressOf({ location, source }: JsonObject): Json | undefined {
  const web = isObject(location) ? location["web"] : undefined;
  return isObject(web) ? web["url"] : source;
}

export function annotationsOf(citations: Json | undefined, start: number, end: number): JsonObject[] {
  return urlCitations(citations, addressOf, [start, end]);
}

function chatContentOf(blocks: readonly JsonObject[]): ChatContent<BlockCall> {
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
  return isObject(citationsContent) ? citedText(citationsContent) : "";
}

/** With citations on, the text of the answer is in blocks of cited content. */
export function citedText({ content }: JsonObject): string {
  return objectsIn(content)
    .map(({ text }) => textOrEmpty(text))
    .join("");
}

/**
 * The blocks of an earlier answer, to be sent back unchanged. `null` when the message expresses everything. Blocks that
 * the service refuses are left out: empty texts, and reasoning without a signature.
 */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return (
    carriedBlocks(message, VENDOR, chatContentOf, isSameBlockCall)?.filter(
      (block) => block["text"] !== "" && !isUnsigned(block),
    ) ?? null
  );
}

function isUnsigned({ reasoningContent }: JsonObject): boolean {
  const text = isObject(reasoningContent) ? reasoningContent["reasoningText"] : undefined;
  return isObject(text) && (text["signature"] ?? "") === "";
}

/** Returns the piece that a delta adds to a text of its block; undefined where it brings something else, or something beside it. */
export function pieceOf(delta: JsonObject): string | undefined {
  const { text, reasoningContent, toolUse } = delta;
  if (Object.keys(delta).length > 1) return undefined;
  if (typeof text === "string") return text;
  const inner = reasoningContent ?? toolUse;
  if (!isObject(inner) || Object.keys(inner).length > 1) return undefined;
  const piece = reasoningContent === undefined ? inner["input"] : inner["text"];
  return typeof piece === "string" ? piece : undefined;
}

/** Returns the delta with another piece. */
export function withPiece({ reasoningContent, toolUse }: JsonObject, piece: string): JsonObject {
  if (reasoningContent !== undefined) return { reasoningContent: { text: piece } };
  return toolUse === undefined ? { text: piece } : { toolUse: { input: piece } };
}

/**
 * Adds a delta to its block. Text blocks have no start event, and become cited blocks with their first citation. The
 * pieces of an input are joined as a text until the block ends.
 */
export function growBlock(block: GrowingBlock, delta: JsonObject): void {
  const { text, toolUse, reasoningContent, citation } = delta;
  if (typeof text === "string") addText(block, text);
  else if (isObject(citation)) addCitation(block, citation);
  else if (isObject(toolUse))
    block["toolUse"] = {
      ...(block["toolUse"] as JsonObject | undefined),
      input: textOrEmpty((block["toolUse"] as JsonObject | undefined)?.["input"]) + textOrEmpty(toolUse["input"]),
    };
  else if (isObject(reasoningContent)) addReasoning(block, reasoningContent);
  else for (const [name, value] of Object.entries(delta)) addOther(block, name, value!);
}

/** Reads the pieces of an input as one object. Returns false when they are no object. */
export function endBlock(block: GrowingBlock): boolean {
  const { toolUse } = block;
  if (!isObject(toolUse)) return true;
  const pieces = toolUse["input"];
  const input = typeof pieces === "string" && pieces !== "" ? parseObject(pieces) : {};
  if (input !== null) block["toolUse"] = { ...toolUse, input };
  return input !== null;
}

function addText(block: GrowingBlock, text: string): void {
  const cited = block["citationsContent"];
  if (isObject(cited)) block["citationsContent"] = { ...cited, content: [{ text: citedText(cited) + text }] };
  else block["text"] = textOrEmpty(block["text"]) + text;
}

function addCitation(block: GrowingBlock, citation: JsonObject): void {
  const { text, citationsContent: cited } = block;
  delete block["text"];
  const there = isObject(cited) ? cited["citations"] : undefined;
  if (Array.isArray(there)) (there as Json[]).push(citation);
  else
    block["citationsContent"] = {
      content: [{ text: textOrEmpty(text) }],
      ...(isObject(cited) && cited),
      citations: [citation],
    };
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
  const signed = textOrEmpty(there["signature"]) + textOrEmpty(signature);
  block["reasoningContent"] = {
    reasoningText: {
      text: textOrEmpty(there["text"]) + textOrEmpty(text),
      ...(signed !== "" && { signature: signed }),
    },
  };
}

/** A result of a tool that the service ran begins with its id, and its content comes in parts of a list. */
function addOther(block: GrowingBlock, name: string, value: Json): void {
  const there = block[name];
  if (!Array.isArray(value)) block[name] = value;
  else if (isObject(there) && Array.isArray(there["content"]))
    for (const part of value as readonly Json[]) (there["content"] as Json[]).push(part);
  else block[name] = { ...(isObject(there) && there), content: [...(value as readonly Json[])] };
}
