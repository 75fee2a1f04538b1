// The pieces of a prompt as a target is sent it, by which the next call of its conversation is compared with it (promise
// 16.2). Marks of the prompt cache are no part of them, because they move on with the conversation.
import type { ChatRequest, Message, Origins, WrittenRequest } from "../../core/chat.ts";
import type { NumberedPrompt } from "../../core/configured/prompt-cache.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { hashText } from "../../core/rendezvous.ts";
import { withEdits } from "../../core/request/json-edit.ts";
import { nativeFormOf } from "../../providers/native-forms.ts";

/** The messages after these are not compared. */
const MOST_MESSAGES = 4096;

/** Returns null where the vendor has a part of the conversation that the request does not show. */
export function promptPieces({ messages, params, written }: ChatRequest): NumberedPrompt | null {
  if (written?.spoken === undefined) {
    const system = systemCount(messages, written);
    const numbers = written === undefined ? messages.map((_, at) => at + 1) : numbersOf(messages, written.origins);
    return piecesOf(params.tools, messages.slice(0, system).map(turnOf), messages.slice(system), numbers.slice(system));
  }
  const prompt = nativeFormOf(written.spoken.operation)?.prompt(withEdits(written.body, written.edits ?? [])) ?? null;
  return prompt === null ? null : piecesOf(prompt.tools, prompt.system, prompt.turns);
}

/** How many of the messages say the system text: of a translated request what the client did not write as messages. */
function systemCount(messages: readonly Message[], written: WrittenRequest | undefined): number {
  const end = messages.findIndex(({ role }, at) =>
    written === undefined ? !SYSTEM_ROLES.has(role) : !SYSTEM_MEMBERS.has(written.origins.messages[at] ?? ""),
  );
  return end === -1 ? messages.length : end;
}

const SYSTEM_ROLES: ReadonlySet<string> = new Set(["system", "developer"]);
const SYSTEM_MEMBERS: ReadonlySet<string> = new Set(["system", "instructions"]);

/** A message that several of the client's became has the number of the first of them. Rounds of tools add more messages. */
function numbersOf(messages: readonly Message[], { messages: paths }: Origins): readonly number[] {
  let last = 0;
  return messages.map((_message, at) => {
    const path = paths[at];
    const index = path === undefined ? undefined : LISTED.exec(path)?.[1];
    if (index !== undefined) last = Number(index) + 1;
    else if (path === undefined) last += 1;
    return Math.max(last, 1);
  });
}

const LISTED = /^\w+\[(\d+)\]/;

function piecesOf(
  tools: Json | undefined,
  system: Json | undefined,
  turns: Json | undefined,
  numbers?: readonly number[],
): NumberedPrompt {
  const list = (Array.isArray(turns) ? (turns as readonly Json[]) : turns === undefined ? [] : [turns]).slice(
    0,
    MOST_MESSAGES,
  );
  return {
    tools: hashOf(contentOf(tools)),
    system: hashOf(contentOf(system)),
    messages: Uint32Array.from(list, (turn) => hashOf(turnOf(turn))),
    numbers: Uint32Array.from(list, (_turn, at) => numbers?.[at] ?? at + 1),
  };
}

/** Returns 0 for what says nothing. */
function hashOf(value: Json | undefined): number {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return 0;
  return hashText(JSON.stringify(value)) >>> 0 || 1;
}

function turnOf(turn: Json): Json {
  if (!isObject(turn)) return turn;
  const { content, ...rest } = unmarked(turn);
  return content === undefined ? rest : { ...rest, content: contentOf(content)! };
}

/** A text that got a mark has become a block, which says the same. */
function contentOf(content: Json | undefined): Json | undefined {
  if (!Array.isArray(content)) return content;
  const blocks = (content as readonly Json[]).map((block) => (isObject(block) ? unmarked(block) : block));
  const [only] = blocks;
  const isText = blocks.length === 1 && isObject(only) && only["type"] === "text" && Object.keys(only).length === 2;
  return isText ? only["text"]! : blocks;
}

function unmarked(block: JsonObject): JsonObject {
  if (!("cache_control" in block || "prompt_cache_breakpoint" in block)) return block;
  const { cache_control: _mark, prompt_cache_breakpoint: _breakpoint, ...rest } = block;
  return rest;
}
