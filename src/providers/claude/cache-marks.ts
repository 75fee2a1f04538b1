// The marks that the gateway sets in a body of the Messages API that a client wrote: behind the tools, behind the system
// text, and behind the turn before the last. https://platform.claude.com/docs/en/build-with-claude/prompt-caching
import { CACHE_MARK, type CacheMarks, SHORT_MARK } from "../../core/configured/prompt-cache.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";

/** A request may have four marks, on tools and on blocks of every role. */
export const CLAUDE_MARKS: CacheMarks = { most: 4, inTools: true, inAnswers: true };

/** The blocks that can have a mark. Thinking and empty texts cannot. */
const MARKABLE: ReadonlySet<string> = new Set(["text", "image", "document", "tool_use", "tool_result"]);

/** Returns the changes that set the marks in a body that has none. `edits` are the changes that it gets before. */
export function markEdits(body: JsonObject, edits: readonly JsonEdit[], { most }: CacheMarks): readonly JsonEdit[] {
  return [toolMark(body, edits), systemMark(body, edits), turnMark(body, edits)]
    .filter((edit) => edit !== null)
    .slice(0, most);
}

function toolMark({ tools }: JsonObject, edits: readonly JsonEdit[]): JsonEdit | null {
  if (!Array.isArray(tools) || editOf(["tools"], edits) !== undefined) return null;
  const at = tools.findLastIndex(
    (tool: Json, index) =>
      isObject(tool) && tool["defer_loading"] !== true && editOf(["tools", index], edits) === undefined,
  );
  return at === -1 ? null : { path: ["tools", at, CACHE_MARK], value: SHORT_MARK };
}

function systemMark({ system }: JsonObject, edits: readonly JsonEdit[]): JsonEdit | null {
  return contentMark(system, ["system"], edits);
}

/** The turn of one author is all of its messages in a row. System messages between turns have no mark. */
function turnMark({ messages }: JsonObject, edits: readonly JsonEdit[]): JsonEdit | null {
  if (!Array.isArray(messages) || editOf(["messages"], edits) !== undefined) return null;
  const roleAt = (index: number): Json | undefined => {
    const message = messages[index] as Json | undefined;
    return isObject(message) ? message["role"] : undefined;
  };
  let at = messages.length - 1;
  while (at >= 0 && roleAt(at) === "system") at -= 1;
  const last = roleAt(at);
  while (at >= 0 && (roleAt(at) === last || roleAt(at) === "system")) at -= 1;
  for (; at >= 0; at--) {
    const message = messages[at] as Json;
    if (!isObject(message) || message["role"] === "system") continue;
    if (editOf(["messages", at], edits) !== undefined) continue;
    const mark = contentMark(message["content"], ["messages", at, "content"], edits);
    if (mark !== null) return mark;
  }
  return null;
}

/** Marks the last block that can have a mark. A text becomes a block, as its guards have left it. */
function contentMark(content: Json | undefined, path: JsonEdit["path"], edits: readonly JsonEdit[]): JsonEdit | null {
  const edit = editOf(path, edits);
  const sent = edit === undefined ? content : edit.value;
  if (typeof sent === "string")
    return sent === "" ? null : { path, value: [{ type: "text", text: sent, [CACHE_MARK]: SHORT_MARK }] };
  if (!Array.isArray(sent) || edit !== undefined) return null;
  const at = sent.findLastIndex(
    (block: Json, index) => isMarkable(block) && editOf([...path, index], edits) === undefined,
  );
  return at === -1 ? null : { path: [...path, at, CACHE_MARK], value: SHORT_MARK };
}

function isMarkable(block: Json): boolean {
  return isObject(block) && MARKABLE.has(block["type"] as string) && (block["type"] !== "text" || block["text"] !== "");
}

/** Returns the last edit that replaces or removes the value at this very place. */
function editOf(path: JsonEdit["path"], edits: readonly JsonEdit[]): JsonEdit | undefined {
  return edits.findLast(
    (edit) => edit.path.length === path.length && edit.path.every((name, depth) => name === path[depth]),
  );
}
