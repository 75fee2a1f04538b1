// The conversation between the rounds of a call with tool servers: a turn of the model, results of its calls behind it, and images of those results behind all of them.
import type { ChatRequest, Message, ToolCall } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import type { ToolOutcome } from "./tool-session.ts";

/** Members of an answer's message that belong to the conversation: reasoning and what a provider needs to take it back among them. */
const OF_TURN = ["content", "reasoning_content", "reasoning_details", "extra_content", "tool_calls"] as const;

type Conversation = Pick<ChatRequest, "messages" | "toolImages" | "held">;

/** `turn` null: the calls stand at the end of the conversation, which no other thread holds. */
export function withOutcomes(
  { messages, toolImages, held: elsewhere }: Conversation,
  turn: Message | null,
  outcomes: readonly ToolOutcome[],
): Pick<Conversation, "messages" | "toolImages"> {
  let end = messages.length;
  // results stand together, and images of earlier ones go behind them
  if (turn === null) while (toolImages.has(end - 1)) end -= 1;
  const results = outcomes.map(({ message }) => message);
  const images = imagesOf(outcomes);
  const held = messages.slice(end);
  const before = turn === null ? messages.slice(0, end) : [...messages, turnOf(turn, outcomes)];
  const all = [...before, ...results, ...held, ...images];
  const first = elsewhere?.count ?? 0;
  const places = [
    ...[...toolImages].map((place) => (place < first + end ? place : place + results.length)),
    ...images.map(() => first + all.length - 1),
  ];
  return { messages: all, toolImages: places.length === 0 ? toolImages : new Set(places) };
}

function turnOf(turn: Message, outcomes: readonly ToolOutcome[]): Message {
  const kept = OF_TURN.flatMap((name) =>
    turn[name] === undefined || (turn[name] === null && name !== "content") ? [] : [[name, turn[name]] as const],
  );
  const ran = new Set(outcomes.map(({ call }) => call.id));
  const calls = turn.tool_calls?.map((call) => (ran.has(call.id) ? withReadableArguments(call) : call));
  return { role: "assistant", content: null, ...Object.fromEntries(kept), ...(calls && { tool_calls: calls }) };
}

/** Some providers take arguments as an object, and fail for any that are none. The slip stays for the model to read. */
function withReadableArguments(call: ToolCall): ToolCall {
  const { arguments: text } = call.function;
  const readable = text.trim() === "" ? "{}" : isJsonObject(text) ? text : JSON.stringify({ INVALID_JSON: text });
  return readable === text ? call : { ...call, function: { ...call.function, arguments: readable } };
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

function imagesOf(outcomes: readonly ToolOutcome[]): readonly Message[] {
  const parts = outcomes.flatMap(({ images }) => images);
  return parts.length === 0 ? [] : [{ role: "user", content: parts as Message["content"] & object }];
}

/** Calls of the last turn without a result, where nothing but results stands behind it. */
export function unansweredCalls(
  messages: readonly Message[],
): readonly { readonly call: ToolCall; readonly path: string }[] {
  const last = messages.findLastIndex(({ role }) => role === "assistant");
  const calls = messages[last]?.tool_calls ?? [];
  const behind = messages.slice(last + 1);
  const answered = new Set(behind.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id])));
  // images of results are messages of a user, and a turn that is over has no calls that wait
  if (behind.some(({ role, content }) => role !== "tool" && !(role === "user" && Array.isArray(content)))) return [];
  return calls.flatMap((call, index) =>
    isRunnable(call) && !answered.has(call.id) ? [{ call, path: `messages[${last}].tool_calls[${index}]` }] : [],
  );
}

/** Forms of calls that only some vendors have are between them and the client. */
function isRunnable({ id, function: called }: ToolCall): boolean {
  return typeof id === "string" && isObject(called) && typeof called.arguments === "string";
}

/** What the last round's request has more than the first one's. */
export function addedMessages(first: Conversation, last: Conversation): readonly Message[] {
  const known = new Set(first.messages);
  return last.messages.filter((message) => !known.has(message));
}
