// The conversation between rounds: the model's turn, the results of its calls, and behind all results their images.
import type { ChatRequest, Message, ToolCall, UnansweredCall } from "../../core/chat.ts";
import { isObject, isJsonObject } from "../../core/json.ts";
import { withOrderOf } from "../../core/request/turn-order.ts";
import type { NextRound, ToolOutcome } from "./tool-session.ts";

/**
 * The members of an assistant message that go back to the model, including reasoning and data that a provider needs.
 */
const TURN_MEMBERS = ["content", "reasoning_content", "reasoning_details", "extra_content", "tool_calls"] as const;

interface Conversation extends Pick<ChatRequest, "toolImages" | "held"> {
  readonly messages: readonly Message[];
}

/** If `turn` is null, the calls are already at the end of the conversation. */
export function withOutcomes(
  { messages, toolImages, held }: Conversation,
  turn: Message | null,
  outcomes: readonly ToolOutcome[],
): { readonly conversation: Conversation } & Pick<NextRound, "added" | "replay"> {
  const first = held?.count ?? 0;
  let end = first + messages.length;
  // results must stand together, so images of earlier results move behind the new ones
  if (turn === null) while (toolImages.has(end - 1)) end -= 1;
  const results = outcomes.map(({ message }) => message);
  const images = imagesOf(outcomes);
  const own = Math.max(0, end - first);
  const turns = turn === null ? [] : [turnOf(turn, outcomes)];
  const all = [...messages.slice(0, own), ...turns, ...results, ...messages.slice(own), ...images];
  const places = [
    ...[...toolImages].map((place) => (place < end ? place : place + results.length)),
    ...images.map(() => first + all.length - 1),
  ];
  return {
    conversation: {
      messages: all,
      toolImages: places.length === 0 ? toolImages : new Set(places),
      ...(held !== undefined && {
        held: end < first ? { ...held, inserted: { at: end, count: results.length } } : held,
      }),
    },
    added: [...turns, ...results, ...images],
    replay: [...turns, ...outcomes.map(({ shown }) => shown), ...images],
  };
}

function turnOf(turn: Message, outcomes: readonly ToolOutcome[]): Message {
  const kept = TURN_MEMBERS.flatMap((name) =>
    turn[name] === undefined || (turn[name] === null && name !== "content") ? [] : [[name, turn[name]] as const],
  );
  const ran = new Set(outcomes.map(({ call }) => call.id));
  const calls = turn.tool_calls?.map((call) => (ran.has(call.id) ? withReadableArguments(call) : call));
  const message = { role: "assistant" as const, content: null, ...Object.fromEntries(kept) };
  return withOrderOf(calls === undefined ? message : { ...message, tool_calls: calls }, turn);
}

/**
 * Some providers take arguments as an object, and fail for arguments that are not one. The invalid text is kept in the
 * object, so that the model can see its mistake.
 */
export function withReadableArguments(call: ToolCall): ToolCall {
  const { arguments: text } = call.function;
  const readable = text.trim() === "" ? "{}" : isJsonObject(text) ? text : JSON.stringify({ INVALID_JSON: text });
  return readable === text ? call : { ...call, function: { ...call.function, arguments: readable } };
}

function imagesOf(outcomes: readonly ToolOutcome[]): readonly Message[] {
  const parts = outcomes.flatMap(({ images }) => images);
  return parts.length === 0 ? [] : [{ role: "user", content: parts as Message["content"] & object }];
}

/**
 * Returns the function calls of the last turn that have no result, if only results and their images follow that turn.
 */
export function unansweredCalls(messages: readonly Message[]): readonly UnansweredCall[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const calls = messages[last]?.tool_calls ?? [];
  const behind = messages.slice(last + 1);
  const answered = new Set(behind.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id])));
  // images of results are in user messages with parts; any other message means that the turn is over
  if (behind.some(({ role, content }) => role !== "tool" && !(role === "user" && Array.isArray(content)))) return [];
  return calls.flatMap((call, index) =>
    isRunnable(call) && !answered.has(call.id) ? [{ call, path: `messages[${last}].tool_calls[${index}]` }] : [],
  );
}

/** Only the client can run calls of forms that are specific to a vendor. */
function isRunnable({ id, type, function: called }: Partial<ToolCall>): boolean {
  return (
    typeof id === "string" &&
    (type ?? "function") === "function" &&
    isObject(called) &&
    typeof called.arguments === "string"
  );
}
