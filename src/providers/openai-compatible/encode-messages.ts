// The messages for a row. When nothing has to change, the original array is returned, so that the encoder can copy the
// caller's own text.
import type { BlockType, ChatRequest, ContentPart, Message } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import { mappedList } from "../../core/request/mapped-list.ts";
import type { Target } from "../../core/target.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";
import { withBreakpoints, withMarkOf } from "../conversation/cache-breakpoints.ts";
import { type CallIdForm, fittingCallId } from "../conversation/tool-calls.ts";
import { isElsewhere } from "./conversation.ts";
import type { OpenAICompatibleRow } from "./row.ts";
import type { WirePlan } from "./wire-plan.ts";

export function wireMessages(
  row: OpenAICompatibleRow,
  plan: WirePlan,
  request: ChatRequest,
  target: Target,
  joins: Joins = null,
): readonly Message[] {
  let messages: readonly Message[] = request.messages;
  if (row.takesDeveloper !== true) messages = withoutDeveloper(messages);
  if (row.reasoningBack !== undefined) messages = withReasoning(messages, row.reasoningBack);
  if (plan.blocks.size > 0 && anyOf(plan.blocks, request.blocks)) messages = withBlocks(messages, plan.blocks);
  if (plan.cacheBreakpoints) messages = mappedList(messages, withBreakpoints);
  if (plan.textAsString) messages = withTextAsString(messages, joins);
  const isHere = !isElsewhere(row, target);
  if (plan.callIds !== null && isHere) messages = withCallIds(messages, plan.callIds);
  if (plan.reasoningBesideCalls !== null && isHere && mayThink(request))
    messages = withReasoningBesideCalls(messages, row.reasoningBack!, plan.reasoningBesideCalls);
  return row.hooks?.messages === undefined ? messages : row.hooks.messages(messages, target.model, joins);
}

function withoutDeveloper(messages: readonly Message[]): readonly Message[] {
  return mappedList(messages, (message) => (message.role === "developer" ? { ...message, role: "system" } : message));
}

/**
 * Sends the reasoning under the row's name for it. Other reasoning members have been left out where the row does not
 * name them.
 */
function withReasoning(
  messages: readonly Message[],
  name: NonNullable<OpenAICompatibleRow["reasoningBack"]>,
): readonly Message[] {
  return mappedList(messages, (message) => {
    if (message.role !== "assistant") return message;
    const { reasoning_content: content, reasoning, ...rest } = message;
    const text = content ?? reasoning;
    const isThere =
      (name !== "reasoning_content" && content !== undefined) || (name !== "reasoning" && reasoning !== undefined);
    return isThere ? { ...rest, ...(text !== undefined && text !== null && { [name]: text }) } : message;
  });
}

/** The id is changed in the same way in a tool call and in its result, and on every turn. */
function withCallIds(messages: readonly Message[], form: CallIdForm): readonly Message[] {
  return mappedList(messages, (message) => {
    const { tool_call_id: answered, tool_calls: calls } = message;
    const fitting = typeof answered === "string" ? fittingCallId(answered, form) : answered;
    const named = calls?.map((call) =>
      typeof call.id !== "string" || fittingCallId(call.id, form) === call.id
        ? call
        : { ...call, id: fittingCallId(call.id, form) },
    );
    const isSame = fitting === answered && (named?.every((call, index) => call === calls![index]) ?? true);
    return isSame
      ? message
      : {
          ...message,
          ...(fitting !== undefined && { tool_call_id: fitting }),
          ...(named !== undefined && { tool_calls: named }),
        };
  });
}

/** Whether nothing in the request turns thinking off. */
function mayThink({ params, extra }: ChatRequest): boolean {
  const { thinking } = extra;
  return params.reasoning_effort !== "none" && !(isObject(thinking) && thinking["type"] === "disabled");
}

function withReasoningBesideCalls(messages: readonly Message[], name: string, standIn: string): readonly Message[] {
  return mappedList(messages, (message) =>
    (message.tool_calls ?? []).length === 0 || typeof message[name] === "string"
      ? message
      : { ...message, [name]: standIn },
  );
}

function anyOf(rewrites: WirePlan["blocks"], present: ChatRequest["blocks"]): boolean {
  for (const type of rewrites.keys()) if (present.has(type)) return true;
  return false;
}

function withBlocks(messages: readonly Message[], rewrites: WirePlan["blocks"]): readonly Message[] {
  return mappedList(messages, (message, at) => {
    if (!Array.isArray(message.content)) return message;
    const parts = message.content as readonly ContentPart[];
    const written = parts.map((part, index) => {
      const rewrite = rewrites.get(part.type as BlockType);
      return rewrite === undefined ? part : withMarkOf(rewrite.write(part, `messages[${at}].content[${index}]`), part);
    });
    return written.some((part, index) => part !== parts[index]) ? { ...message, content: written } : message;
  });
}

function withTextAsString(messages: readonly Message[], joins: Joins): readonly Message[] {
  return mappedList(messages, (message) => {
    if (!Array.isArray(message.content)) return message;
    const parts = message.content as readonly ContentPart[];
    if (!parts.every((part) => part.type === "text")) return message;
    const texts = parts.map((part) => part["text"] as string);
    return { ...message, content: joinTexts(texts, "\n", joins) };
  });
}
