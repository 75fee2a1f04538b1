// Fits a conversation to its target (promise 6.10): members of messages, content parts, tool calls and tools that the
// provider does not support are left out and reported, by the provider's table of members. Unchanged objects keep their
// identity, so that the caller's own text can be sent. The encoder of the provider then writes what fits.
import { withMembers } from "../../core/request/request-source.ts";
import {
  saysMoreThanText,
  type ChatRequest,
  type ContentPart,
  type Message,
  type MessageRole,
  type ToolCall,
} from "../../core/chat.ts";
import { isFilled, isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import type { ConversationMembers, Members } from "../../providers/conversation/conversation-members.ts";
import { effectiveCapability } from "../../core/capability.ts";
import type { Target } from "../../core/target.ts";
import { dialectOf } from "../../providers/interface/dialect.ts";
import type { EncodedRequest, JoinedText } from "../../providers/interface/encoded-request.ts";
import type { Provider } from "../../providers/interface/provider.ts";
import { withCacheMarks } from "./cache-marks.ts";
import { partOf, taskFormOf, type TaskPart } from "./task-parts.ts";

/** Only such names are reported, because the caller chooses the names of members and the report is sent in a header. */
const PLAIN_NAME = /^[\w.-]{1,64}$/;
const MAX_NAMES = 32;
const OTHERS = "messages[].(others)";

/** Collects what is left out. */
class Left {
  readonly names: string[] = [];

  add(place: string, name: string): void {
    const member = PLAIN_NAME.test(name) ? `${place}.${name}` : OTHERS;
    const noted = this.names.length < MAX_NAMES ? member : OTHERS;
    if (!this.names.includes(member) && !this.names.includes(noted)) this.names.push(noted);
  }
}

/**
 * `left` of the result are the members that were left out, each place once and without indexes: `messages[].name`,
 * `messages[].tool_calls[].extra_content`.
 */
export function fitConversation(request: ChatRequest, members: ConversationMembers) {
  const left = new Left();
  const {
    params: { tools: offered },
    held,
  } = request;
  // the thread that holds the conversation leaves out the same members before it writes the conversation
  for (const message of held?.skeleton ?? []) fitMessage(message, members, left);
  const messages = mappedList(request.messages, (message) => fitMessage(message, members, left));
  const tools = offered === undefined ? offered : mappedList(offered, (tool) => fitTool(tool, members, left));
  if (messages === request.messages && tools === offered) return { request, left: left.names };
  return {
    request: withMembers(request, {
      messages,
      ...(tools !== offered && tools !== undefined && { params: { ...request.params, tools } }),
    }),
    left: left.names,
  };
}

function fitMessage(sent: Message, members: ConversationMembers, left: Left): Message {
  const message = withRefusalAsText(sent, members);
  const { content, tool_calls: calls } = message;
  const fitted = withTextInPlace(
    message,
    fitReasoning(
      message,
      fitMembers(message, OF_MESSAGE, members.messages[message.role], members, "messages[]", left),
      members,
      left,
    ),
  );
  const parts = Array.isArray(content)
    ? mappedList(content as readonly ContentPart[], (part) => fitPart(part, message.role, members, left))
    : content;
  const made =
    Array.isArray(calls) && fitted["tool_calls"] !== undefined
      ? mappedList(calls as readonly ToolCall[], (call) => fitCall(call, members, left))
      : calls;
  if (parts === content && made === calls) return fitted as Message;
  return {
    ...fitted,
    ...(parts !== content && { content: parts }),
    ...(made !== calls && { tool_calls: made }),
  } as Message;
}

const OF_MESSAGE: readonly string[] = ["role", "content"];

/** Says a refusal as the text of its message where the provider has no other place for it. */
function withRefusalAsText(message: Message, members: ConversationMembers): Message {
  if (!isFilled(message.refusal) || isFilled(message.content)) return message;
  const { refusal, ...others } = message;
  const accepted = members.messages[message.role];
  return typeof refusal !== "string" || accepted === "any" || accepted.has("refusal")
    ? message
    : { ...others, content: refusal };
}

/** A message whose content was null because of what has been left out has an empty text, as null would be no message. */
function withTextInPlace(message: Message, fitted: JsonObject): JsonObject {
  return !isSet(message.content) && saysMoreThanText(message) && !saysMoreThanText(fitted)
    ? { ...fitted, content: "" }
    : fitted;
}

/**
 * Removes reasoning that its vendor has not signed, where the provider accepts only signed reasoning, and reasoning of
 * another vendor, where it accepts only plain text.
 */
function fitReasoning(message: Message, fitted: JsonObject, members: ConversationMembers, left: Left): JsonObject {
  if (message.role !== "assistant") return fitted;
  const there = REASONING.filter((name) => isFilled(fitted[name]));
  if (there.length === 0 || isReasoningTaken(message, members)) return fitted;
  const without: Record<string, Json | undefined> = { ...fitted };
  for (const name of there) {
    left.add("messages[]", name);
    delete without[name];
  }
  return without;
}
const REASONING = ["reasoning_content", "reasoning_details"] as const;

function isReasoningTaken(message: Message, { hasSignedReasoning, hasPlainReasoning }: ConversationMembers): boolean {
  return (
    (hasSignedReasoning === null || isSkeletonSigned(message) || hasSignedReasoning(message)) &&
    (hasPlainReasoning === null || hasPlainReasoning(message))
  );
}

/** Counts the reasoning details of a skeleton as signed, because it has no values. */
function isSkeletonSigned({ reasoning_details: details, extra_content: extra }: Message): boolean {
  return (details as unknown) === true || (isObject(extra) && Object.values(extra).includes(true));
}

function fitPart(part: ContentPart, role: MessageRole, members: ConversationMembers, left: Left): ContentPart {
  const { type } = part;
  const ofType = members.parts.get(type);
  const accepted = role === "assistant" ? withoutNames(ofType, members.notInAnswers) : ofType;
  return accepted === undefined
    ? part
    : (fitMembers(part, ["type", type], accepted, members, "messages[].content[]", left) as ContentPart);
}

function withoutNames(accepted: Members | undefined, names: ReadonlySet<string>): Members | undefined {
  return accepted === undefined || accepted === "any" || names.size === 0 ? accepted : accepted.difference(names);
}

function fitCall(call: ToolCall, members: ConversationMembers, left: Left): ToolCall {
  // where the provider's row allows it, a tool call may have no type or not be an object
  if (!isObject(call)) return call;
  const type = (call as Partial<ToolCall>).type ?? "function";
  const fitted = fitMembers(call, ["id", "type", type], members.calls, members, "messages[].tool_calls[]", left);
  const { function: called } = call;
  if (type !== "function" || !isObject(called)) return fitted as ToolCall;
  const named = fitMembers(called, NO_NAMES, members.functions, members, "messages[].tool_calls[].function", left);
  return (named === called ? fitted : { ...fitted, function: named }) as ToolCall;
}
const NO_NAMES: readonly string[] = [];

/** Tools of a vendor's own type concern only the caller and the vendor. */
function fitTool(tool: JsonObject, members: ConversationMembers, left: Left): JsonObject {
  return isObject(tool) && (tool["type"] ?? "function") === "function"
    ? fitMembers(tool, OF_TOOL, members.tools, members, "tools[]", left)
    : tool;
}
const OF_TOOL: readonly string[] = ["type", "function"];

/** `own` has the members that every object of the kind has. Returns the same object when nothing is left out. */
function fitMembers(
  holder: JsonObject,
  own: readonly string[],
  accepted: Members,
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
    } else if (accepted !== "any" && !accepted.has(name)) {
      // null means "not set" (promise 5.2), so that nothing is lost
      if (holder[name] !== null) left.add(place, name);
      delete (fitted ??= { ...holder })[name];
    }
  }
  return fitted ?? holder;
}

/** Returns the data of the vendors that the provider accepts; `null` when there is none. */
function vendorsOf(extra: JsonObject, accepted: readonly string[], place: string, left: Left): JsonObject | null {
  const vendors = Object.keys(extra);
  const kept = vendors.filter((vendor) => accepted.includes(vendor));
  if (kept.length === vendors.length) return extra;
  if (kept.length === 0) return null;
  for (const vendor of vendors) if (!accepted.includes(vendor)) left.add(`${place}.extra_content`, vendor);
  return Object.fromEntries(kept.map((vendor) => [vendor, extra[vendor]!]));
}

/** The roles whose empty messages are left out of translated requests at every provider. */
export const SILENT_ROLES: ReadonlySet<MessageRole> = new Set(["assistant"]);

/**
 * Leaves out turns of the model that say nothing to a target. In a translated request, a turn may have nothing but
 * reasoning that only another provider can read; without it, an empty message of the assistant would be left, which
 * providers refuse or take for an answer. Returns the same request when it has no such turn.
 */
export function withoutSilentTurns(request: ChatRequest): ChatRequest {
  if (request.written === undefined || !request.messages.some(isSilent)) return request;
  const messages = request.messages.filter((message) => !isSilent(message));
  return messages.length === 0 ? request : withMembers(request, { messages });
}

function isSilent({ role, content, ...others }: Message): boolean {
  return (
    SILENT_ROLES.has(role) &&
    (content === "" || content === null || (Array.isArray(content) && content.length === 0)) &&
    Object.values(others).every((member) => member === undefined || member === null)
  );
}

/**
 * Adapts images from tool results to a target. A model that takes images gets them; any other gets only the line in the
 * result that mentions them. The client did not send them, so a request never fails because of them (promises 6.4,
 * 10.2).
 */
export function withToolImages(
  request: ChatRequest,
  provider: Provider,
  { model }: Pick<Target, "model">,
): ChatRequest {
  const { toolImages, messages, blocks, held } = request;
  if (toolImages.size === 0) return request;
  if (
    dialectOf(provider, model).assistantAfterTools === true ||
    effectiveCapability(provider.capabilities, "image_url", model).support === "unsupported"
  )
    // the thread that holds the conversation removes the images from it
    return held !== undefined
      ? request
      : withMembers(request, { messages: messages.filter((_message, index) => !toolImages.has(index)) });
  const [first] = toolImages;
  return blocks.has("image_url")
    ? request
    : { ...request, blocks: new Map([...blocks, ["image_url", `messages[${first}].content`]]) };
}

/** Writes a request for a target; of a task, only the inputs of `part` unless that is null. Throws GatewayError. */
export function encodedRequest(
  request: ChatRequest,
  provider: Provider,
  target: Target,
  part: TaskPart | null,
): EncodedRequest {
  const { task } = request.form;
  if (task === undefined) {
    const spoken = withoutSilentTurns(request);
    return provider.encodeRequest(
      spoken.cacheMarks === undefined ? spoken : withCacheMarks(spoken, spoken.cacheMarks),
      target,
    );
  }
  return taskFormOf(task, provider, target.model).encode(part === null ? request : partOf(request, part), target);
}

/** The texts that the target reads as one each, although they are made of several of the request. Throws GatewayError. */
export function joinedTexts(request: ChatRequest, provider: Provider, target: Target): readonly JoinedText[] {
  const { task, rawPrompts } = request.form;
  if (provider.joinedTexts === undefined || task !== undefined || rawPrompts !== undefined) return [];
  return provider.joinedTexts(withoutSilentTurns(request), target);
}
