// Encodes messages as `system` and turns: https://platform.claude.com/docs/en/api/messages. Adjacent messages of one
// role become one turn, and tool results stand first in their turn, as the vendor requires. A participant's `name` has
// no counterpart and is left out.
import type { Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { unsupportedBlock } from "../../core/refusals.ts";
import { turnPieces } from "../../core/request/turn-order.ts";
import { addContent, type Run, withoutBlankTexts } from "../content-blocks/turns.ts";
import { asBlocks } from "../conversation/text-block.ts";
import { calledFunction, type CallIdForm, fittingCallId, toolInput } from "../conversation/tool-calls.ts";
import { encodeParts, namesUploadedFile } from "./encode-content.ts";
import type { ModelFacts } from "../claude/models.ts";
import { thinkingBlocks } from "../claude/thinking-blocks.ts";
import { turnContent } from "./turn-content.ts";

export interface EncodedConversation {
  readonly system: string | readonly JsonObject[] | undefined;
  readonly messages: readonly Turn[];
  /** Whether a block names a file that was uploaded before. */
  readonly uploadedFiles: boolean;
}

export interface Turn extends JsonObject {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly JsonObject[];
}

/**
 * When the model accepts system turns, later system messages keep their place, so that the prompt before them does not
 * change. The vendor accepts a system turn only behind a user turn, at the end or before an assistant turn, and never
 * two in a row. A system message before a user turn therefore moves behind that turn, and system messages without such
 * a place go into `system`, before all turns. Throws GatewayError `unsupported_content_block` with the path.
 */
export function encodeConversation(
  messages: readonly Message[],
  { systemTurns }: Pick<ModelFacts, "systemTurns">,
): EncodedConversation {
  const system: SystemText[] = [];
  const runs: TurnRun[] = [];
  /** System messages after the first turn that have not been placed yet. */
  let waiting: SystemText[] = [];
  const place = (): void => {
    const last = runs.at(-1);
    if (last?.role === "user" || endsInServerTool(last)) addContent(runs, "system", joinSystem(waiting)!);
    else system.push(...waiting);
    waiting = [];
  };
  messages.forEach((message, index) => {
    const path = `messages[${index}]`;
    if (message.role === "system" || message.role === "developer") {
      const text = encodeSystem(message, path);
      if (text.length > 0) (systemTurns && runs.length > 0 ? waiting : system).push(text);
      return;
    }
    const { role, content } = encodeTurn(message, path);
    if (role === "assistant" && content.length > 0 && waiting.length > 0) place();
    addContent(runs, role, content);
  });
  if (waiting.length > 0) place();
  const turns = runs.map(joinRun);
  return {
    system: joinSystem(system),
    messages: turns,
    uploadedFiles: turns.some(({ content }) => typeof content !== "string" && namesUploadedFile(content)),
  };
}

type SystemText = string | readonly JsonObject[];
type TurnRun = Run<Turn["role"], Turn["content"]>;

/** A system turn may follow such an assistant turn, just as it may follow a user turn. */
function endsInServerTool(run: TurnRun | undefined): boolean {
  const content = run?.contents.at(-1);
  const last = typeof content === "string" ? undefined : content?.at(-1);
  return (
    run?.role === "assistant" &&
    last !== undefined &&
    /^(?:server_tool_use|.+_tool_result)$/.test(last["type"] as string)
  );
}

function encodeSystem(message: Message, path: string): string | readonly JsonObject[] {
  const content = encodeContent(message, path);
  if (typeof content === "string") return content;
  const unsupported = content.findIndex((block) => block["type"] !== "text");
  if (unsupported !== -1)
    throw unsupportedBlock(
      `${path}.content`,
      `${path}.content: a ${message.role} message can contain only text for this provider; got ${JSON.stringify(content[unsupported]!["type"])}.`,
    );
  return content;
}

function joinSystem(parts: readonly SystemText[]): EncodedConversation["system"] {
  const filled = parts.filter((part) => part.length > 0);
  return filled.length <= 1 ? filled[0] : filled.flatMap(asBlocks);
}

function encodeTurn(message: Message, path: string): Turn {
  if (message.role === "assistant") return { role: "assistant", content: encodeAssistant(message, path) };
  if (message.role === "tool" || message.role === "function")
    return { role: "user", content: [encodeToolResult(message, path)] };
  return { role: "user", content: encodeContent(message, path) };
}

function encodeAssistant(message: Message, path: string): Turn["content"] {
  const content = encodeAnswer(message, path);
  return typeof content === "string" ? content : withoutBlankTexts(content);
}

function encodeAnswer(message: Message, path: string): Turn["content"] {
  const carried = turnContent(message);
  if (carried !== null) return withCacheControl(carried, message["cache_control"]);
  const pieces = turnPieces(message);
  if (pieces.length > 1) return pieces.flatMap((piece) => asBlocks(encodePiece(piece, path)));
  return encodePiece(message, path);
}

function encodePiece(message: Message, path: string): Turn["content"] {
  const content = encodeUnmarked(message, path);
  const thinking = thinkingBlocks(message);
  const calls = (message.tool_calls ?? []).map((call, index) => encodeToolCall(call, `${path}.tool_calls[${index}]`));
  const refusal =
    typeof message.refusal === "string" && message.refusal !== "" && content.length === 0
      ? [{ type: "text", text: message.refusal }]
      : [];
  if (thinking.length + calls.length + refusal.length === 0) return withCacheControl(content, message["cache_control"]);
  return withCacheControl([...thinking, ...asBlocks(content), ...refusal, ...calls], message["cache_control"]);
}

function encodeContent(message: Message, path: string): string | readonly JsonObject[] {
  return withCacheControl(encodeUnmarked(message, path), message["cache_control"]);
}

/** The text, or a list of blocks when the content is more than text; without a mark of the whole message. */
function encodeUnmarked({ content }: Message, path: string): string | readonly JsonObject[] {
  return typeof content === "string" ? content : encodeParts(content ?? [], `${path}.content`);
}

/** A `cache_control` on the whole message goes to its last block, up to which the vendor then caches. */
function withCacheControl(
  content: string | readonly JsonObject[],
  mark: Json | undefined,
): string | readonly JsonObject[] {
  if (!isObject(mark) || content.length === 0) return content;
  const blocks = asBlocks(content);
  const last = blocks.at(-1)!;
  return last["cache_control"] === undefined ? [...blocks.slice(0, -1), { ...last, cache_control: mark }] : blocks;
}

function encodeToolCall(call: ToolCall, path: string): JsonObject {
  const { id, cache_control: mark, extra_content: opaque } = call;
  const called = calledFunction(call, path);
  const carried = opaque?.["anthropic"];
  const { caller, toolset_name: toolset } = isObject(carried) ? carried : {};
  return {
    type: "tool_use",
    id: toolUseId(id),
    name: called.name,
    input: toolInput(called.arguments),
    ...(isObject(caller) && { caller }),
    ...(typeof toolset === "string" && { toolset_name: toolset }),
    ...(isObject(mark) && { cache_control: mark }),
  };
}

function encodeToolResult(message: Message, path: string): JsonObject {
  const { content, tool_call_id: id, cache_control: mark } = message;
  return {
    type: "tool_result",
    tool_use_id: toolUseId(id ?? ""),
    content: typeof content === "string" ? content : encodeParts(content ?? [], `${path}.content`),
    ...(message["is_error"] === true && { is_error: true }),
    ...(isObject(mark) && { cache_control: mark }),
  };
}

/** The pattern that the vendor names when it refuses an id: https://platform.claude.com/docs/en/api/messages */
const CALL_IDS: CallIdForm = { fits: /^[a-zA-Z0-9_-]+$/, length: 32 };

function toolUseId(id: string): string {
  return fittingCallId(id, CALL_IDS);
}

function joinRun({ role, contents }: TurnRun): Turn {
  return {
    role,
    content: contents.length === 1 ? contents[0]! : resultsFirst(contents.flatMap(asBlocks)),
  };
}

function resultsFirst(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const isResult = (block: JsonObject) => block["type"] === "tool_result";
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}
