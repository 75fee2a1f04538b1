// A plan of tool calls in the user's text, which `sandbox:tools` follows round by round: "Call echo {"message": "Hi"}
// and call get-sum {"a": 1, "b": 2}, then call get-env." A name is that of an offered function, or the part of one
// behind its `__`. `then` begins the next round. Reading takes time in proportion to the length of the text, whatever
// it contains.
import type { Message } from "../../core/chat.ts";
import { isObject, type JsonObject, jsonIn } from "../../core/json.ts";
import { textIn } from "./words.ts";

export interface PlannedCall {
  readonly name: string;
  /** `null` when the arguments are made from the function's schema. */
  readonly args: string | null;
}

/** The rest of the plan of a conversation. */
export interface Plan {
  /** The calls of the next round. Empty when all rounds are done. */
  readonly calls: readonly PlannedCall[];
  /** The number of tool calls in the rounds that are done. */
  readonly called: number;
  /** The results of those rounds. */
  readonly results: readonly Message[];
}

const MAX_TEXT = 65_536;
const MAX_ARGUMENTS = 4096;
/** The most tool calls of one plan, in all rounds. */
const MAX_CALLS = 128;
/**
 * The most different words behind `call` in all messages, because each is compared with the names of all functions.
 */
const MAX_NAMES_ASKED = 256;
const STEP = /\bcall\s+([\w.-]{1,128})|\bthen\b/gi;

/** `null` when the conversation has no plan, or has moved on to another subject. */
export function planOf(messages: readonly Message[], functions: readonly JsonObject[]): Plan | null {
  const nameOf = namesOf(functions);
  let steps: readonly (readonly PlannedCall[])[] = [];
  const at = messages.findLastIndex(({ role, content }) => {
    if (role !== "user") return false;
    steps = stepsIn(textIn(content), nameOf);
    // Images in tool results come as a user message with content parts.
    return typeof content === "string" || steps.length > 0;
  });
  if (steps.length === 0) return null;
  const since = messages.slice(at + 1);
  const turns = since.filter(({ role, tool_calls: calls }) => role === "assistant" && (calls?.length ?? 0) > 0);
  return {
    calls: steps[turns.length] ?? [],
    called: turns.reduce((sum, { tool_calls: calls }) => sum + calls!.length, 0),
    results: since.filter(({ role }) => role === "tool"),
  };
}

/** Finds the name of the function that a word means, the first in the order of the list. */
function namesOf(functions: readonly JsonObject[]): (asked: string) => string | undefined {
  const names = functions.map(({ name }) => name).filter((name) => typeof name === "string");
  const found = new Map<string, string | undefined>();
  return (asked) => {
    if (!found.has(asked) && found.size < MAX_NAMES_ASKED) {
      const behindLabel = `__${asked}`;
      found.set(
        asked,
        names.find((name) => name === asked || name.endsWith(behindLabel)),
      );
    }
    return found.get(asked);
  };
}

function stepsIn(text: string, nameOf: (asked: string) => string | undefined): readonly (readonly PlannedCall[])[] {
  const steps: PlannedCall[][] = [[]];
  let calls = 0;
  for (const match of text.slice(0, MAX_TEXT).matchAll(STEP)) {
    const [whole, word] = match;
    if (word === undefined) {
      if (steps.at(-1)!.length > 0) steps.push([]);
      continue;
    }
    const name = nameOf(word.replace(/[.]+$/, ""));
    if (name === undefined) continue;
    if (++calls > MAX_CALLS) break;
    steps.at(-1)!.push({ name, args: argumentsAt(text, match.index + whole.length) });
  }
  return steps.filter((step) => step.length > 0);
}

/** The JSON object that begins at `from`, after white space. */
function argumentsAt(text: string, from: number): string | null {
  const near = text.slice(from, from + 2 * MAX_ARGUMENTS).trimStart();
  const json = near[0] === "{" ? balanced(near.slice(0, MAX_ARGUMENTS)) : null;
  return json !== null && isObject(jsonIn(json)) ? json : null;
}

/** The text up to the brace that closes the first one, as JSON reads it: braces within strings do not count. */
function balanced(text: string): string | null {
  let open = 0;
  let isInText = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isInText) {
      if (character === "\\") at++;
      else if (character === '"') isInText = false;
    } else if (character === '"') isInText = true;
    else if (character === "{") open++;
    else if (character === "}" && --open === 0) return text.slice(0, at + 1);
  }
  return null;
}
