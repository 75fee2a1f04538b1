// Turns of APIs whose turns are lists of content blocks: adjacent messages of one role become one turn.
import type { MessageRole } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";

/** These APIs refuse empty texts: empty messages are left out, and this is reported to the caller. */
export const LEFT_OUT_EMPTY: ReadonlySet<MessageRole> = new Set(["system", "developer", "user", "assistant"]);

/**
 * Adjacent messages of one role. Their contents are joined once, not message by message, because a conversation of tens
 * of thousands of messages may be one run.
 */
export interface Run<Role extends string, Content> {
  readonly role: Role;
  readonly contents: Content[];
}

/** Appends a message's content to the last run, or begins a run. Empty contents are left out. */
export function addContent<Role extends string, Content extends { readonly length: number }>(
  runs: Run<Role, Content>[],
  role: Role,
  content: Content,
): void {
  if (content.length === 0) return;
  const last = runs.at(-1);
  if (last?.role === role) last.contents.push(content);
  else runs.push({ role, contents: [content] });
}

/**
 * Leaves out the texts of an answer that has calls or other blocks and no text but white space, as some models write it
 * before a call. Claude refuses it: "text content blocks must contain non-whitespace text". One with a mark for the cache
 * stays. https://github.com/anomalyco/opencode/issues/31259, https://github.com/LibreChat-AI/agents/pull/124
 */
export function withoutBlankTexts(blocks: readonly JsonObject[]): readonly JsonObject[] {
  const isText = ({ text }: JsonObject): boolean => typeof text === "string";
  const isMarked = (block: JsonObject, at: number): boolean =>
    block["cache_control"] !== undefined || blocks[at + 1]?.["cachePoint"] !== undefined;
  const says = (block: JsonObject, at: number): boolean =>
    isText(block) && ((block["text"] as string).trim() !== "" || isMarked(block, at));
  return blocks.every(isText) || blocks.some(says) ? blocks : blocks.filter((block) => !isText(block));
}
