// A conversation as a raw prompt can express it: turns of text by system, user and assistant. What a text cannot
// express is refused with its path.
import { textOrEmpty } from "../../core/json.ts";
import type { ContentPart, Message } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { unsupportedValue } from "../../core/refusals.ts";
import { type Joins, joinTexts } from "../conversation/join-texts.ts";

export interface Turn {
  readonly role: "system" | "user" | "assistant";
  readonly content: string;
}

/** Developer messages become system turns. Throws GatewayError `unsupported_value` for tool calls and tool results. */
export function turnsOf(messages: readonly Message[], joins: Joins = null): readonly Turn[] {
  return messages.map((message, index) => {
    const { role } = message;
    if (role === "tool" || role === "function")
      throw unsayable(`messages[${index}].role`, `a message with the role ${role}`);
    refuseCalls(message, index);
    return { role: role === "developer" ? "system" : role, content: contentOf(message, joins) };
  });
}

/** Tool calls have no form in a prompt that is made from the caller's own marks or from a template without tools. */
export function refuseCalls(message: Message, index: number): void {
  if ((message.tool_calls?.length ?? 0) > 0) throw unsayable(`messages[${index}].tool_calls`, "tool calls");
  if (message.function_call !== undefined && message.function_call !== null)
    throw unsayable(`messages[${index}].function_call`, "a function call");
}

export function unsayable(param: string, what: string): GatewayError {
  return unsupportedValue(
    param,
    `This model takes a raw prompt of plain text, which cannot represent ${what}; use a chat model.`,
  );
}

/**
 * Joins text blocks into one text, as a chat template does. Other blocks have already been refused by the capability
 * table.
 */
function contentOf(message: Message, joins: Joins): string {
  return joinTexts(textsOf(message), TEXT_BREAK, joins);
}

/** What a form writes between the texts of one message. */
export const TEXT_BREAK = "\n";

/** The texts that `contentOf` joins. */
export function textsOf({ content, refusal }: Message): readonly string[] {
  if (typeof content === "string" && content !== "") return [content];
  if (!Array.isArray(content)) return [textOrEmpty(refusal)];
  return (content as readonly ContentPart[]).map((part) => textOrEmpty(part["text"]));
}

/** How a system text is written in a form without system turns: into a user turn, between two texts. */
export interface SystemFold {
  readonly into: "first" | "last";
  readonly before: string;
  readonly after: string;
}

/**
 * Moves leading system turns into a user turn and turns later ones into user turns. Then it joins adjacent turns of one
 * role, because these forms alternate.
 */
export function alternating(turns: readonly Turn[], fold: SystemFold): readonly Turn[] {
  const begins = turns.findIndex(({ role }) => role !== "system");
  const leading = begins < 0 ? turns : turns.slice(0, begins);
  const rest = begins < 0 ? [] : turns.slice(begins);
  const merged = mergedTurns(
    rest.map(({ role, content }) => ({ role: role === "system" ? "user" : role, content }) as const),
  );
  if (leading.length === 0) return merged;
  const system = `${fold.before}${leading.map(({ content }) => content).join("\n\n")}${fold.after}`;
  const at =
    fold.into === "first"
      ? merged.findIndex(({ role }) => role === "user")
      : merged.findLastIndex(({ role }) => role === "user");
  if (at < 0) return [{ role: "user", content: system }, ...merged];
  return merged.map((turn, index) => (index === at ? { ...turn, content: system + turn.content } : turn));
}

function mergedTurns(turns: readonly Turn[]): readonly Turn[] {
  const merged: Turn[] = [];
  for (const turn of turns) {
    const last = merged.at(-1);
    if (last?.role === turn.role)
      merged[merged.length - 1] = { ...last, content: `${last.content}\n\n${turn.content}` };
    else merged.push(turn);
  }
  return merged;
}
