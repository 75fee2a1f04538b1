// Fits a conversation to its target (decisions 6.10): members of messages, content parts, calls and tools that the provider has no place for are left out, and
// named. Works on data alone: the provider's table of members. What is left as it was keeps its identity, so that the caller's own text can be sent.
import type { ChatRequest, ContentPart, Message, ToolCall } from "../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../core/json.ts";
import type { ConversationMembers, Members } from "../providers/conversation-members.ts";

export interface FittedConversation {
  readonly request: ChatRequest;
  /** What was left out, once each, without the places: `messages[].name`, `messages[].tool_calls[].extra_content`. */
  readonly left: readonly string[];
}

/** Names of members are the caller's own words, and go into a header. */
const PLAIN_NAME = /^[\w.-]{1,64}$/;
const MAX_NAMES = 32;
const OTHERS = "messages[].(others)";

/** Collects what is left out. */
class Left {
  readonly names = new Set<string>();

  add(place: string, name: string): void {
    const told = PLAIN_NAME.test(name) ? `${place}.${name}` : OTHERS;
    this.names.add(this.names.size < MAX_NAMES || this.names.has(told) ? told : OTHERS);
  }
}

export function fitConversation(request: ChatRequest, members: ConversationMembers): FittedConversation {
  const left = new Left();
  const {
    params: { tools: offered },
    held,
  } = request;
  // the thread that holds the conversation leaves the same out of it, before it writes it
  for (const message of held?.skeleton ?? []) fitMessage(message, members, left);
  const messages = mapped(request.messages, (message) => fitMessage(message, members, left));
  const tools = offered === undefined ? offered : mapped(offered, (tool) => fitTool(tool, members, left));
  const changed = [
    ...(messages === request.messages ? NOTHING : ["messages"]),
    ...(tools === offered ? NOTHING : ["tools"]),
  ];
  if (changed.length === 0) return { request, left: left.names.size === 0 ? NOTHING : [...left.names] };
  return {
    request: {
      ...request,
      messages,
      ...(tools !== undefined && { params: { ...request.params, tools } }),
      source: { ...request.source, rewritten: new Set([...request.source.rewritten, ...changed]) },
    },
    left: [...left.names],
  };
}
const NOTHING: readonly string[] = [];

/** The same list when `change` gives back every item as it is. */
function mapped<T>(list: readonly T[], change: (item: T) => T): readonly T[] {
  let changed: T[] | null = null;
  for (let index = 0; index < list.length; index++) {
    const item = list[index]!;
    const other = change(item);
    if (other !== item) (changed ??= [...list])[index] = other;
  }
  return changed ?? list;
}

function fitMessage(message: Message, members: ConversationMembers, left: Left): Message {
  const { content, tool_calls: calls } = message;
  const fitted = fitReasoning(
    message,
    fitMembers(message, OF_MESSAGE, members.messages[message.role], members, "messages[]", left),
    members,
    left,
  );
  const parts = Array.isArray(content)
    ? mapped(content as readonly ContentPart[], (part) => fitPart(part, members, left))
    : content;
  const made =
    Array.isArray(calls) && fitted["tool_calls"] !== undefined
      ? mapped(calls as readonly ToolCall[], (call) => fitCall(call, members, left))
      : calls;
  if (parts === content && made === calls) return fitted as Message;
  return {
    ...fitted,
    ...(parts !== content && { content: parts }),
    ...(made !== calls && { tool_calls: made }),
  } as Message;
}

const OF_MESSAGE: readonly string[] = ["role", "content"];

/** Reasoning that its vendor has not signed, where nothing else is taken back. */
function fitReasoning(
  message: Message,
  fitted: JsonObject,
  { hasSignedReasoning }: ConversationMembers,
  left: Left,
): JsonObject {
  if (hasSignedReasoning === null || message.role !== "assistant") return fitted;
  const unsigned = REASONING.filter((name) => isSaid(fitted[name]));
  if (unsigned.length === 0 || isSkeletonSigned(message) || hasSignedReasoning(message)) return fitted;
  const without: Record<string, Json | undefined> = { ...fitted };
  for (const name of unsigned) {
    left.add("messages[]", name);
    delete without[name];
  }
  return without;
}
const REASONING = ["reasoning_content", "reasoning_details"] as const;

function isSaid(value: Json | undefined): boolean {
  return value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
}

/** In a skeleton, which has no values, details count as signed. */
function isSkeletonSigned({ reasoning_details: details, extra_content: extra }: Message): boolean {
  return (details as unknown) === true || (isObject(extra) && Object.values(extra).includes(true));
}

function fitPart(part: ContentPart, members: ConversationMembers, left: Left): ContentPart {
  const { type } = part;
  const taken = members.parts.get(type);
  return taken === undefined
    ? part
    : (fitMembers(part, ["type", type], taken, members, "messages[].content[]", left) as ContentPart);
}

function fitCall(call: ToolCall, members: ConversationMembers, left: Left): ToolCall {
  // a call may come without its type, or be no object, where the provider's row allows it
  if (!isObject(call)) return call;
  const type = (call as Partial<ToolCall>).type ?? "function";
  const fitted = fitMembers(call, ["id", "type", type], members.calls, members, "messages[].tool_calls[]", left);
  const { function: called } = call;
  if (type !== "function" || !isObject(called)) return fitted as ToolCall;
  const named = fitMembers(called, NO_NAMES, members.functions, members, "messages[].tool_calls[].function", left);
  return (named === called ? fitted : { ...fitted, function: named }) as ToolCall;
}
const NO_NAMES: readonly string[] = [];

/** Tools of a vendor's own type are between the caller and the vendor. */
function fitTool(tool: JsonObject, members: ConversationMembers, left: Left): JsonObject {
  return isObject(tool) && (tool["type"] ?? "function") === "function"
    ? fitMembers(tool, OF_TOOL, members.tools, members, "tools[]", left)
    : tool;
}
const OF_TOOL: readonly string[] = ["type", "function"];

/** `own`: what every holder of the kind has. The same object when nothing is left out. */
function fitMembers(
  holder: JsonObject,
  own: readonly string[],
  taken: Members,
  { extraContent }: ConversationMembers,
  place: string,
  left: Left,
): JsonObject {
  let fitted: Record<string, Json | undefined> | null = null;
  for (const name in holder) {
    if (own.includes(name)) continue;
    if (name === "extra_content") {
      const extra = holder[name];
      const kept = isObject(extra) ? vendorsOf(extra, extraContent, place, left) : extra;
      if (kept === extra && isObject(extra)) continue;
      fitted ??= { ...holder };
      if (kept !== null && isObject(kept)) fitted[name] = kept;
      else {
        if (extra !== null) left.add(place, name);
        delete fitted[name];
      }
    } else if (taken !== "any" && !taken.has(name)) {
      // null says "not set" (promise 5.2): leaving it out loses nothing
      if (holder[name] !== null) left.add(place, name);
      delete (fitted ??= { ...holder })[name];
    }
  }
  return fitted ?? holder;
}

/** The data of the vendors that are taken; null where there is none. */
function vendorsOf(extra: JsonObject, taken: readonly string[], place: string, left: Left): JsonObject | null {
  const vendors = Object.keys(extra);
  const kept = vendors.filter((vendor) => taken.includes(vendor));
  if (kept.length === vendors.length) return extra;
  if (kept.length === 0) return null;
  for (const vendor of vendors) if (!taken.includes(vendor)) left.add(`${place}.extra_content`, vendor);
  return Object.fromEntries(kept.map((vendor) => [vendor, extra[vendor]!]));
}
