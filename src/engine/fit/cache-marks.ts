// Marks of a vendor's prompt cache where a conversation is stable: behind the tools, behind the system text, and behind
// the turn before the last (promise 16.2). A request has the marks of its client or those of the gateway, never both.
// They are set when the request is written, in the thread that has the conversation.

// Decides (the request): Does the gateway set marks of the vendor's prompt cache, and where? By: `withCacheMarks`,
// `hasOwnMarks`. Also: in a native request: `providers/claude/cache-marks.ts` (`markEdits`); switched on by
// `cachesPrompts` of `core/snapshot.ts`. Rule: With `prompt_cache: auto`, at a model that takes marks, where the client
// has set none: behind the tools, the system text and the turn before the last.
import type { ChatRequest, Message, WrittenRequest } from "../../core/chat.ts";
import { CACHE_MARK, type CacheMarks, SHORT_MARK } from "../../core/configured/prompt-cache.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { withMembers } from "../../core/request/request-source.ts";
import { turnPieces } from "../../core/request/turn-order.ts";

/** Members with which clients mark, or say how the vendor is to mark. */
const OWN_MARKS = [CACHE_MARK, "prompt_cache_breakpoint", "prompt_cache_options"] as const;

/** Whether the client has set marks itself. Another thread that holds the body has looked at blocks that no translation knows. */
export function hasOwnMarks({ messages, held, params, extra, written }: ChatRequest): boolean {
  return (
    held?.isMarked === true ||
    isMarked(extra) ||
    (written !== undefined &&
      (isMarkedBody(written) || isMarked(written.added) || written.held?.names.some(isMarkName) === true)) ||
    (params.tools ?? []).some((tool) => isMarked(tool) || isMarked(tool["function"])) ||
    messages.some(isMarkedMessage)
  );
}

/** Values of the client in which a member of that name is no mark: what a tool is called with, and schemas. */
const OTHER_VALUES: ReadonlySet<string> = new Set(["input", "input_schema", "arguments", "parameters"]);

/** Looks at blocks and tools too that no translation knows, because the vendor counts their marks. */
function isMarkedBody({ text, body }: Pick<WrittenRequest, "text" | "body">): boolean {
  const isWithin = (value: Json | undefined): boolean => {
    if (Array.isArray(value)) return (value as readonly Json[]).some(isWithin);
    if (!isObject(value)) return false;
    return (
      isMarked(value) ||
      Object.entries(value).some(
        ([name, inner]) => typeof inner === "object" && !OTHER_VALUES.has(name) && isWithin(inner),
      )
    );
  };
  // within a text, the quotes would be escaped
  return OWN_MARKS.some((name) => text.includes(`"${name}"`)) && isWithin(body);
}

function isMarkedMessage(message: Message): boolean {
  const { content, tool_calls: calls } = message;
  return (
    isMarked(message) ||
    (Array.isArray(content) && (content as readonly Json[]).some(isMarked)) ||
    (Array.isArray(calls) && (calls as readonly Json[]).some(isMarked))
  );
}

function isMarked(value: Json | undefined): boolean {
  return isObject(value) && OWN_MARKS.some((name) => value[name] !== undefined && value[name] !== null);
}

function isMarkName(name: string): boolean {
  return (OWN_MARKS as readonly string[]).includes(name);
}

/** Sets the marks in a translated request. Returns the same request where none is set. */
export function withCacheMarks(request: ChatRequest, { most, inTools, inAnswers }: CacheMarks): ChatRequest {
  const { messages, params } = request;
  const { tools = [] } = params;
  const tool = inTools ? tools.findLastIndex(mayMarkTool) : -1;
  // a system text that is written first is stable before the turns are
  const places = [systemPlace(messages), turnPlace(messages, inAnswers)]
    .filter((place) => place !== -1)
    .slice(0, tool === -1 ? most : most - 1);
  if (tool === -1 && places.length === 0) return request;
  return withMembers(request, {
    ...(places.length > 0 && {
      messages: messages.map((message, index) =>
        places.includes(index) ? { ...message, [CACHE_MARK]: SHORT_MARK } : message,
      ),
    }),
    ...(tool !== -1 && {
      params: { ...params, tools: tools.with(tool, { ...tools[tool]!, [CACHE_MARK]: SHORT_MARK }) },
    }),
  });
}

/** A tool that the model has to look for first is no part of the prompt. */
function mayMarkTool(tool: JsonObject): boolean {
  return tool["type"] === "function" && tool["defer_loading"] !== true;
}

/** Returns the index of the last system message before the first turn; -1 where there is none. */
function systemPlace(messages: readonly Message[]): number {
  const first = messages.findIndex((message) => !isSystem(message));
  return messages.slice(0, first === -1 ? undefined : first).findLastIndex(hasContent);
}

/** Returns the index of the last message that can be marked in the turn before the last, or before that; -1 for none. */
function turnPlace(messages: readonly Message[], inAnswers: boolean): number {
  const last = messages.findLast(isOfTurn);
  if (last === undefined) return -1;
  const before = messages.findLastIndex((message) => isOfTurn(message) && isAnswer(message) !== isAnswer(last));
  return messages
    .slice(0, before + 1)
    .findLastIndex((message) =>
      isAnswer(message) ? inAnswers && mayMark(message) : isOfTurn(message) && hasContent(message),
    );
}

/** Messages that say nothing are left out where their vendor would refuse them, and separate no turns then. */
function isOfTurn(message: Message): boolean {
  return !isSystem(message) && (hasContent(message) || MORE.some((name) => message[name] != null));
}
const MORE = [
  "tool_calls",
  "tool_call_id",
  "reasoning_content",
  "reasoning_details",
  "refusal",
  "extra_content",
] as const;

/** A turn that ends in reasoning takes no mark, and one that carries its vendor's own blocks may end in some that do not. */
function mayMark(message: Message): boolean {
  const last = turnPieces(message).at(-1)!;
  return message["extra_content"] == null && (hasContent(last) || (last.tool_calls ?? []).length > 0);
}

function hasContent({ content }: Message): boolean {
  if (typeof content === "string") return content !== "";
  const last = content?.at(-1);
  return last !== undefined && last["text"] !== "";
}

function isSystem({ role }: Message): boolean {
  return role === "system" || role === "developer";
}

function isAnswer({ role }: Message): boolean {
  return role === "assistant";
}
