// Encodes messages as `system` and turns:
// https://docs.aws.amazon.com/bedrock/latest/userguide/conversation-inference-call.html. Adjacent messages of one role
// become one turn, and tool results stand first in their turn. A participant's `name` has no counterpart and is left
// out.
import type { Message, ToolCall } from "../../core/chat.ts";
import { type JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import { addContent, type Run, withoutBlankTexts } from "../content-blocks/turns.ts";
import { calledFunction, type CallIdForm, fittingCallId, toolInput } from "../conversation/tool-calls.ts";
import { cachePoint, encodeParts, type DocumentNaming } from "./encode-content.ts";
import { documentNames } from "./media.ts";
import type { FamilyFacts } from "./models.ts";
import { reasoningBlocks } from "./reasoning.ts";
import { turnContent } from "./turn-content.ts";

export interface EncodedConversation {
  readonly system: readonly JsonObject[];
  readonly messages: readonly Turn[];
  /** Whether there are tool calls or tool results, which the vendor accepts only beside `toolConfig`. */
  readonly usesTools: boolean;
}

interface Turn extends JsonObject {
  readonly role: "user" | "assistant";
  readonly content: readonly JsonObject[];
}

type TurnRun = Run<Turn["role"], Turn["content"]>;

/** Throws GatewayError `unsupported_content_block` with the path. */
export function encodeConversation(messages: readonly Message[], facts: FamilyFacts): EncodedConversation {
  const naming = documentNames();
  const systems: (readonly JsonObject[])[] = [];
  const runs: TurnRun[] = [];
  for (const [index, message] of messages.entries()) {
    const path = `messages[${index}]`;
    if (message.role === "system" || message.role === "developer") {
      systems.push(encodeSystem(message, path, naming));
      continue;
    }
    const { role, content } = encodeTurn(message, path, naming);
    addContent(runs, role, content);
  }
  const system = systems.flat();
  const turns = (facts.system || system.length === 0 ? runs : withSystemInFirstTurn(runs, system)).map(
    ({ role, contents }): Turn => ({
      role,
      content: role === "user" ? withTextBesideDocuments(resultsFirst(contents.flat())) : contents.flat(),
    }),
  );
  return {
    system: facts.system ? system : [],
    messages: turns,
    usesTools: turns.some(({ content }) =>
      content.some((block) => block["toolUse"] !== undefined || block["toolResult"] !== undefined),
    ),
  };
}

/** "A text block must be included when using documents": https://github.com/maximhq/bifrost/issues/5817 */
function withTextBesideDocuments(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const first = blocks.findIndex((block) => block["document"] !== undefined);
  return first === -1 || blocks.some((block) => block["text"] !== undefined)
    ? blocks
    : blocks.toSpliced(first, 0, { text: "See the attached document." });
}

function withSystemInFirstTurn(runs: readonly TurnRun[], system: readonly JsonObject[]): readonly TurnRun[] {
  const first = runs.findIndex(({ role }) => role === "user");
  if (first === -1) return [{ role: "user", contents: [system] }, ...runs];
  return runs.map((run, index) => (index === first ? { ...run, contents: [system, ...run.contents] } : run));
}

const SYSTEM_BLOCKS = new Set(["text", "guardContent", "cachePoint"]);

function encodeSystem(message: Message, path: string, naming: DocumentNaming): JsonObject[] {
  const blocks = encodeContent(message, path, naming);
  const unsupported = blocks.flatMap((block) => Object.keys(block)).find((name) => !SYSTEM_BLOCKS.has(name));
  if (unsupported !== undefined)
    throw unsupportedBlock(
      `${path}.content`,
      `${path}.content: a ${message.role} message can contain only text for this provider; got ${JSON.stringify(unsupported)}.`,
    );
  return blocks;
}

function encodeTurn(message: Message, path: string, naming: DocumentNaming): Turn {
  if (message.role === "assistant") return { role: "assistant", content: encodeAssistant(message, path, naming) };
  if (message.role === "tool" || message.role === "function")
    return { role: "user", content: encodeToolResult(message, path, naming) };
  return { role: "user", content: encodeContent(message, path, naming) };
}

function encodeAssistant(message: Message, path: string, naming: DocumentNaming): readonly JsonObject[] {
  const carried = turnContent(message);
  return withoutBlankTexts(
    carried === null
      ? turnPieces(message).flatMap((piece) => encodePiece(piece, path, naming))
      : withCachePoint(carried, message),
  );
}

function encodePiece(message: Message, path: string, naming: DocumentNaming): JsonObject[] {
  const content = encodeBlocks(message, path, naming);
  const calls = (message.tool_calls ?? []).map((call, index) => encodeToolCall(call, `${path}.tool_calls[${index}]`));
  const refusal =
    typeof message.refusal === "string" && message.refusal !== "" && content.length === 0
      ? [{ text: message.refusal }]
      : [];
  return withCachePoint([...reasoningBlocks(message), ...content, ...refusal, ...calls], message);
}

function encodeContent(message: Message, path: string, naming: DocumentNaming): JsonObject[] {
  return withCachePoint(encodeBlocks(message, path, naming), message);
}

/** Adds the cache point for a `cache_control` on the whole message. The vendor refuses one behind nothing. */
function withCachePoint(blocks: readonly JsonObject[], { cache_control: mark }: Message): JsonObject[] {
  return blocks.length === 0 ? [] : [...blocks, ...cachePoint(mark)];
}

function encodeBlocks({ content }: Message, path: string, naming: DocumentNaming): JsonObject[] {
  if (typeof content !== "string") return encodeParts(content ?? [], `${path}.content`, naming);
  return content === "" ? [] : [{ text: content }];
}

function encodeToolCall(call: ToolCall, path: string): JsonObject {
  const called = calledFunction(call, path);
  return { toolUse: { toolUseId: toolUseId(call.id), name: called.name, input: toolInput(called.arguments) } };
}

/** "text content blocks must contain non-whitespace text": https://github.com/anomalyco/opencode/issues/46335 */
const isBlank = ({ text }: JsonObject): boolean => typeof text === "string" && text.trim() === "";

function encodeToolResult(message: Message, path: string, naming: DocumentNaming): JsonObject[] {
  const blocks = encodeBlocks(message, path, naming);
  const points = blocks.filter((block) => block["cachePoint"] !== undefined);
  const toolResult = {
    toolUseId: toolUseId(message.tool_call_id ?? ""),
    content: blocks.filter((block) => block["cachePoint"] === undefined && !isBlank(block)),
    ...(message["is_error"] === true && { status: "error" }),
  };
  // Cache points stand beside results, never inside them.
  return [{ toolResult }, ...points, ...cachePoint(message["cache_control"])];
}

/**
 * The pattern of `toolUseId` in https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html
 */
const CALL_IDS: CallIdForm = { fits: /^[a-zA-Z0-9_.:-]{1,64}$/, length: 32 };

function toolUseId(id: string): string {
  return fittingCallId(id, CALL_IDS);
}

/** Each result keeps the cache points behind it. */
function resultsFirst(blocks: readonly JsonObject[]): readonly JsonObject[] {
  if (!blocks.some((block) => block["toolResult"] !== undefined)) return blocks;
  const results: JsonObject[] = [];
  const others: JsonObject[] = [];
  let into = others;
  for (const block of blocks) {
    if (block["cachePoint"] === undefined) into = block["toolResult"] === undefined ? others : results;
    into.push(block);
  }
  return [...results, ...others];
}
