// A plan of tool calls in the user's words, which `sandbox:tools` follows round by round: "Call echo {"message": "Hi"} and call get-sum {"a": 1, "b": 2}, then call
// get-env." Names are those of offered functions, or what stands behind the `__` of one; `then` begins the next round. However a text is written, reading it takes
// time in proportion to its length.
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
const MAX_ARGUMENTS = 4096;
/** Of one plan, in all rounds. */
const MAX_CALLS = 128;
/** Different words behind `call`, in all messages: each is compared with the names of all functions. */
const MAX_NAMES_ASKED = 256;
const STEP = /\bcall\s+([\w.-]{1,128})|\bthen\b/gi;

/** Null: the conversation has none, or has gone on to something else. */
export function planOf(messages: readonly Message[], functions: readonly JsonObject[]): Plan | null {
  const nameOf = namesOf(functions);
  let steps: readonly (readonly PlannedCall[])[] = [];
  const at = messages.findLastIndex(({ role, content }) => {
    if (role !== "user") return false;
    steps = stepsIn(textIn(content), nameOf);
    // images of results come as messages of a user, in parts
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

/** The name of the function that a word means, the first in the order of their list. */
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

/** The JSON object that begins there, behind white space. */
function argumentsAt(text: string, from: number): string | null {
  const near = text.slice(from, from + 2 * MAX_ARGUMENTS).trimStart();
  const json = near[0] === "{" ? balanced(near.slice(0, MAX_ARGUMENTS)) : null;
  if (json === null) return null;
  try {
    return isObject(JSON.parse(json)) ? json : null;
  } catch {
    return null;
  }
}

/** Up to the brace that closes the first one, as it is for JSON: braces within texts are letters like others. */
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

function textIn(content: Message["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : [])).join("\n");
}
