// Joins the rounds of an answer into one message, and restores the turns when the client sends them back (promise
// 10.3). `x_gateway_mcp.replay` holds what precedes the client's next message: the results of approved calls, then each
// turn with calls that ran here, followed by their results. If calls of the last turn went to the client, that turn
// replaces the client's message, which repeats it. Otherwise the message follows, without the texts of the turns.
import type { Message, ReasoningDetail, ToolCall } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";

/** Separates the texts of two rounds in the joined text that the client gets. */
export const BETWEEN_ROUNDS = "\n\n";

/** Joins the texts of rounds. Rounds without text add nothing. */
export function joinedTexts(texts: readonly (string | null | undefined)[]): string {
  return texts.filter((text) => text !== null && text !== undefined && text !== "").join(BETWEEN_ROUNDS);
}

/**
 * Returns the turns of an answer that the client sent back, in place of its one message. The messages of `replay` must
 * have been checked.
 */
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

/** A text that the client has changed is kept in full. */
function withoutBeginning(text: string, beginning: string): string {
  if (beginning === "" || !text.startsWith(beginning)) return text;
  const rest = text.slice(beginning.length);
  return rest.startsWith(BETWEEN_ROUNDS) ? rest.slice(BETWEEN_ROUNDS.length) : rest;
}
