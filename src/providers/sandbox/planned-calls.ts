// A plan of tool calls in the user's words, which `sandbox:tools` follows round by round: "Call echo {"message": "Hi"} and call get-sum {"a": 1, "b": 2}, then call
// get-env." Names are those of offered functions, or what stands behind the `__` of one; `then` begins the next round.
import type { Message } from "../../core/chat.ts";
import { isObject, type JsonObject } from "../../core/json.ts";

export interface PlannedCall {
  readonly name: string;
  /** Null: as the schema wants it. */
  readonly args: string | null;
}

/** What is left of the plan of a conversation. */
export interface Plan {
  /** Empty: all rounds have been. */
  readonly calls: readonly PlannedCall[];
  /** Calls of the rounds that have been. */
  readonly called: number;
  /** What came of them. */
  readonly results: readonly Message[];
}

const MAX_TEXT = 65_536;
const STEP = /\bcall\s+([\w.-]{1,128})|\bthen\b/gi;

/** Null: the conversation has none, or has gone on to something else. */
export function planOf(messages: readonly Message[], functions: readonly JsonObject[]): Plan | null {
  // images of results come as messages of a user, in parts
  const at = messages.findLastIndex(
    ({ role, content }) =>
      role === "user" && (typeof content === "string" || stepsIn(textIn(content), functions).length > 0),
  );
  const steps = at < 0 ? [] : stepsIn(textIn(messages[at]!.content), functions);
  if (steps.length === 0) return null;
  const since = messages.slice(at + 1);
  const turns = since.filter(({ role, tool_calls: calls }) => role === "assistant" && (calls?.length ?? 0) > 0);
  return {
    calls: steps[turns.length] ?? [],
    called: turns.reduce((sum, { tool_calls: calls }) => sum + calls!.length, 0),
    results: since.filter(({ role }) => role === "tool"),
  };
}

function stepsIn(text: string, functions: readonly JsonObject[]): readonly (readonly PlannedCall[])[] {
  const steps: PlannedCall[][] = [[]];
  for (const match of text.slice(0, MAX_TEXT).matchAll(STEP)) {
    const [whole, word] = match;
    if (word === undefined) steps.push([]);
    else {
      const asked = word.replace(/[.]+$/, "");
      const name = functions
        .map((known) => known["name"])
        .find((known) => typeof known === "string" && (known === asked || known.endsWith(`__${asked}`)));
      if (typeof name === "string") steps.at(-1)!.push({ name, args: argumentsAt(text, match.index + whole.length) });
    }
  }
  return steps.filter((step) => step.length > 0);
}

/** The JSON object that begins there, behind white space. */
function argumentsAt(text: string, from: number): string | null {
  const start = from + /^\s*/.exec(text.slice(from))![0].length;
  if (text[start] !== "{") return null;
  for (let end = text.indexOf("}", start); end >= 0; end = text.indexOf("}", end + 1)) {
    const json = text.slice(start, end + 1);
    try {
      if (isObject(JSON.parse(json))) return json;
    } catch {
      // a brace within a text, or of an object within it
    }
    if (end - start > 4096) return null;
  }
  return null;
}

function textIn(content: Message["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : [])).join("\n");
}
