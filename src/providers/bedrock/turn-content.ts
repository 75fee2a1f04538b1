// A turn of Converse whole, where chat completions cannot say all of it: tools that the service ran and what they gave, citations of documents.
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html
import type { Message } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { carriedBlocks, type SaidInChat } from "../carried-content.ts";
import { annotationsOf } from "./citations.ts";

const VENDOR = "bedrock";

/** A call of a tool that the service itself runs. */
export function isOfService({ type }: JsonObject): boolean {
  return type === "server_tool_use";
}

/** Member of an answer's message or of a delta. */
export function packedTurn(
  blocks: readonly JsonObject[],
  answerTool: string | null,
): { readonly extra_content?: JsonObject } {
  return isBeyondChat(blocks, answerTool) ? { extra_content: { [VENDOR]: { content: blocks } } } : {};
}

/** The call of an answer in JSON is its text: what would go back as a call has no result. */
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

/** Where a message of chat completions has it when it goes back: reasoning, words, calls. Null: it has no words for it. */
function placeOf({ text, reasoningContent, toolUse, citationsContent }: JsonObject): number | null {
  if (isObject(reasoningContent)) return 0;
  if (typeof text === "string") return 1;
  if (isObject(citationsContent)) return hasUnsaidCitation(citationsContent) ? null : 1;
  return isObject(toolUse) && !isOfService(toolUse) ? 2 : null;
}

function hasUnsaidCitation({ citations }: JsonObject): boolean {
  return (
    Array.isArray(citations) &&
    (citations as readonly Json[]).some((citation) => annotationsOf([citation], 0, 1).length === 0)
  );
}

function saidBy(blocks: readonly JsonObject[]): SaidInChat {
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

/** The blocks of an earlier answer, to be sent back as they came; null where the message says all. What the service refuses, texts without a character and reasoning without a signature, stays away. */
export function turnContent(message: Message): readonly JsonObject[] | null {
  return carriedBlocks(message, VENDOR, saidBy)?.filter((block) => block["text"] !== "" && !isUnsigned(block)) ?? null;
}

function isUnsigned({ reasoningContent }: JsonObject): boolean {
  const text = isObject(reasoningContent) ? reasoningContent["reasoningText"] : undefined;
  return isObject(text) && (text["signature"] ?? "") === "";
}

/** A block in the making. Texts have no start in a stream, and become cited ones with their first citation. */
export type GrowingBlock = Record<string, Json | undefined>;

/** Adds what a delta says. Pieces of an input are a text until the block ends. */
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

/** Results of tools that the service ran begin with their id, and their content comes in pieces of a list. */
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
