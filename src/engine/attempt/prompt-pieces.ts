// The pieces of a prompt as a target is sent it, by which the next call of its conversation is compared with it (promise
// 16.2). Marks of the prompt cache are no part of them, because they move on with the conversation.
import type { ChatRequest } from "../../core/chat.ts";
import type { PromptPieces } from "../../core/configured/prompt-cache.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { hashText } from "../../core/rendezvous.ts";
import { withEdits } from "../../core/request/json-edit.ts";
import { nativeFormOf } from "../../providers/native-forms.ts";

/** The messages after these are not compared. */
const MOST_MESSAGES = 4096;

/** Returns null where the vendor has a part of the conversation that the request does not show. */
export function promptPieces({ messages, params, written }: ChatRequest): PromptPieces | null {
  if (written?.spoken === undefined) return piecesOf(params.tools, undefined, messages);
  const prompt = nativeFormOf(written.spoken.operation)?.prompt(withEdits(written.body, written.edits ?? [])) ?? null;
  return prompt === null ? null : piecesOf(prompt.tools, prompt.system, prompt.turns);
}

function piecesOf(tools: Json | undefined, system: Json | undefined, turns: Json | undefined): PromptPieces {
  const list = Array.isArray(turns) ? (turns as readonly Json[]) : turns === undefined ? [] : [turns];
  return {
    tools: hashOf(contentOf(tools)),
    system: hashOf(contentOf(system)),
    messages: Uint32Array.from(list.slice(0, MOST_MESSAGES), (turn) => hashOf(turnOf(turn))),
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
