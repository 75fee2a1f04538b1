// Encodes messages as `system` and turns: https://platform.claude.com/docs/en/api/messages. Adjacent messages of one
// role become one turn, and tool results stand first in their turn, as the vendor requires. A participant's `name` has
// no counterpart and is left out.
import type { Message, MessageRole, ToolCall } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { parseJson } from "../../wire/json.ts";
import { JsonError } from "../../wire/json-error.ts";
import { type CallIdForm, fittingCallId } from "../call-ids.ts";
import { calledFunction } from "../called-function.ts";
import { encodeParts, namesUploadedFile } from "./encode-content.ts";
import type { ModelFacts } from "./models.ts";
import { thinkingBlocks } from "./thinking-blocks.ts";
import { turnContent } from "./turn-content.ts";

export interface Conversation {
  readonly system: string | readonly JsonObject[] | undefined;
  readonly messages: readonly Turn[];
  /** Whether a block names a file that was uploaded before. */
  readonly uploadedFiles: boolean;
}

export interface Turn extends JsonObject {
  readonly role: "user" | "assistant" | "system";
  readonly content: string | readonly JsonObject[];
}

/** The vendor refuses empty texts: empty messages are left out, and this is reported to the caller. */
export const LEFT_OUT_EMPTY: ReadonlySet<MessageRole> = new Set(["system", "developer", "user", "assistant"]);

/**
 * When the model accepts system turns, later system messages keep their place, so that the prompt before them does not
 * change. The vendor accepts a system turn only behind a user turn, at the end or before an assistant turn, and never
 * two in a row. A system message before a user turn therefore moves behind that turn, and system messages without such
 * a place go into `system`, before all turns. Throws GatewayError `unsupported_content_block` with the path.
 */
export function encodeConversation(
  messages: readonly Message[],
  { systemTurns }: Pick<ModelFacts, "systemTurns">,
): Conversation {
  const system: SystemText[] = [];
  const runs: Turn[][] = [];
  /** System messages after the first turn that have not been placed yet. */
  let waiting: SystemText[] = [];
  const place = (): void => {
    const last = runs.at(-1)?.at(-1);
    if (last?.role === "user" || endsInServerTool(last)) runs.push([{ role: "system", content: joinSystem(waiting)! }]);
    else system.push(...waiting);
    waiting = [];
  };
  messages.forEach((message, index) => {
    const path = `messages[${index}]`;
    if (message.role === "system" || message.role === "developer") {
      const words = encodeSystem(message, path);
      if (words.length > 0) (systemTurns && runs.length > 0 ? waiting : system).push(words);
      return;
    }
    const turn = encodeTurn(message, path);
    if (turn.role === "assistant" && turn.content.length > 0 && waiting.length > 0) place();
    addTurn(runs, turn);
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

/** A system turn may follow such an assistant turn, just as it may follow a user turn. */
function endsInServerTool(turn: Turn | undefined): boolean {
  const last = typeof turn?.content === "string" ? undefined : turn?.content.at(-1);
  return (
    turn?.role === "assistant" &&
    last !== undefined &&
    /^(?:server_tool_use|.+_tool_result)$/.test(last["type"] as string)
  );
}

function encodeSystem(message: Message, path: string): string | readonly JsonObject[] {
  const content = encodeContent(message, path);
  if (typeof content === "string") return content;
  const unsupported = content.findIndex((block) => block["type"] !== "text");
  if (unsupported !== -1)
    throw new GatewayError(
      "unsupported_content_block",
      `${path}: a ${message.role} message can contain only text for this provider; got ${JSON.stringify(content[unsupported]!["type"])}.`,
      { param: `${path}.content` },
    );
  return content;
}

function joinSystem(parts: readonly SystemText[]): Conversation["system"] {
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
  const carried = turnContent(message);
  if (carried !== null) return withCacheControl(carried, message["cache_control"]);
  const content = encodeContent(message, path);
  const thinking = thinkingBlocks(message);
  const calls = (message.tool_calls ?? []).map((call, index) => encodeToolCall(call, `${path}.tool_calls[${index}]`));
  const refusal =
    typeof message.refusal === "string" && message.refusal !== "" && content.length === 0
      ? [{ type: "text", text: message.refusal }]
      : [];
  if (thinking.length + calls.length + refusal.length === 0) return content;
  return withCacheControl([...thinking, ...asBlocks(content), ...refusal, ...calls], message["cache_control"]);
}

/** The text, or a list of blocks when the content is more than text. */
function encodeContent(message: Message, path: string): string | readonly JsonObject[] {
  const { content } = message;
  const blocks = typeof content === "string" ? content : encodeParts(content ?? [], `${path}.content`);
  return withCacheControl(blocks, message["cache_control"]);
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
  const caller = (opaque?.["anthropic"] as JsonObject | undefined)?.["caller"];
  return {
    type: "tool_use",
    id: toolUseId(id),
    name: called.name,
    input: parseInput(called.arguments),
    ...(isObject(caller) && { caller }),
    ...(isObject(mark) && { cache_control: mark }),
  };
}

/**
 * The vendor accepts only an object as input. Other arguments (of a tool call that was cut off, or invalid JSON of the
 * model) are wrapped as the vendor advises, so that the model sees what it wrote:
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
 */
function parseInput(text: string): JsonObject {
  if (text.trim() === "") return {};
  try {
    const value = parseJson(text);
    return isObject(value) ? value : { INVALID_JSON: text };
  } catch (thrown) {
    if (thrown instanceof JsonError) return { INVALID_JSON: text };
    throw thrown;
  }
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

/** Appends a turn. Each run consists of adjacent turns of one role and becomes one turn. */
function addTurn(runs: Turn[][], turn: Turn): void {
  if (turn.content.length === 0) return;
  const last = runs.at(-1);
  if (last?.[0]?.role === turn.role) last.push(turn);
  else runs.push([turn]);
}

/** Joins a run once, not turn by turn, because a conversation of tens of thousands of messages may be one run. */
function joinRun(run: readonly Turn[]): Turn {
  const [first] = run as readonly [Turn];
  return run.length === 1
    ? first
    : { role: first.role, content: resultsFirst(run.flatMap(({ content }) => asBlocks(content))) };
}

function resultsFirst(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const isResult = (block: JsonObject) => block["type"] === "tool_result";
  return [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
}

function asBlocks(content: string | readonly JsonObject[]): readonly JsonObject[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}
