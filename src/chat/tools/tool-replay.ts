// What an answer over several rounds says as one message, and the turns that it was made of again, once the client brings them back (promise 10.3).
//
// `x_gateway_mcp.replay` holds what stands between the client's conversation and its next message: results of calls that the client had approved, then each turn of
// which some call ran here (text, reasoning and all calls of that round alone), each followed by the messages that answer those. Where the last turn has calls that
// went to the client, it is the very turn that the client's message shows, and stands in its place; else that message follows, without what the turns before it said.
import type { Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";

/** Between the texts of two rounds, in the one text that the client gets. */
export const BETWEEN_ROUNDS = "\n\n";

/** Texts of rounds as one; rounds without text leave nothing. */
export function joinedTexts(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text !== null && text !== undefined && text !== "").join(BETWEEN_ROUNDS);
}

/** The turns of an answer that the client brought back, in place of its one message. `replay` has been checked as messages are. */
export function replayedTurns(
  { x_gateway_mcp: _mcp, ...shown }: Message,
  replay: readonly Message[],
): readonly Message[] {
  const turns = replay.filter(({ role }) => role === "assistant");
  if (isTurnOf(shown, turns.at(-1))) return replay;
  const rest: Record<string, unknown> = { ...shown };
  for (const name of ["content", "reasoning_content"] as const) {
    const text = shown[name];
    if (typeof text === "string")
      rest[name] = withoutBeginning(text, joinedTexts(turns.map((turn) => textOf(turn[name]))));
  }
  if (rest["content"] === "" && shown.tool_calls !== undefined) rest["content"] = null;
  if (rest["reasoning_content"] === "") delete rest["reasoning_content"];
  const said = turns.reduce((sum, { reasoning_details: details }) => sum + (details?.length ?? 0), 0);
  if (said > 0 && shown.reasoning_details !== undefined)
    rest["reasoning_details"] = shown.reasoning_details.slice(said) satisfies readonly ReasoningDetail[];
  return [...replay, rest as unknown as Message];
}

function isTurnOf({ tool_calls: calls = [], function_call: called }: Message, turn: Message | undefined): boolean {
  const made: readonly ToolCall[] = turn?.tool_calls ?? [];
  if (called !== undefined && called !== null)
    return made.some(
      ({ function: one }) => isObject(one) && one.name === called.name && one.arguments === called.arguments,
    );
  const ids = new Set(made.map(({ id }) => id));
  return calls.length > 0 && calls.every(({ id }) => ids.has(id));
}

function textOf(value: Message["content"] | Message["reasoning_content"]): string | null {
  return typeof value === "string" ? value : null;
}

/** A text that a client has changed stays as it is. */
function withoutBeginning(text: string, beginning: string): string {
  if (beginning === "" || !text.startsWith(beginning)) return text;
  const rest = text.slice(beginning.length);
  return rest.startsWith(BETWEEN_ROUNDS) ? rest.slice(BETWEEN_ROUNDS.length) : rest;
}
