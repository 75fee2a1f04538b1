// Marks of the prompt cache for models that have explicit breakpoints: a `cache_control` of a content part becomes
// `prompt_cache_breakpoint`. A request may have any number of them, of which the vendor writes four.
// https://developers.openai.com/api/docs/guides/prompt-caching#prompt-cache-breakpoints
import type { ContentPart, Message } from "../../core/chat.ts";
import { CACHE_MARK, type CacheMarks } from "../../core/configured/prompt-cache.ts";
import { isObject, type JsonObject } from "../../core/json.ts";
import type { MemberTable } from "./conversation-members.ts";

const BREAKPOINT = "prompt_cache_breakpoint";

/**
 * The vendor writes the latest three beside one of its own behind the newest message:
 * https://developers.openai.com/api/docs/guides/prompt-caching
 */
export const BREAKPOINT_MARKS: CacheMarks = { most: 3, inTools: false, inAnswers: false };

/** The blocks of an answer can have none. */
export function withMarks(table: MemberTable): MemberTable {
  const added = (names: readonly string[] | "any" = [], ...more: readonly string[]): readonly string[] | "any" =>
    names === "any" ? names : [...names, ...more];
  return {
    ...table,
    system: added(table.system, CACHE_MARK),
    user: added(table.user, CACHE_MARK),
    tool: added(table.tool, CACHE_MARK),
    everyPart: added(table.everyPart, CACHE_MARK, BREAKPOINT),
    notInAnswers: [CACHE_MARK, BREAKPOINT],
  };
}

/** A mark of the whole message is one of its last part. Returns the same message where it has no mark. */
export function withBreakpoints(message: Message): Message {
  const { [CACHE_MARK]: mark, content, ...others } = message;
  const parts: readonly ContentPart[] =
    typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
  const marksLast = isObject(mark) && content !== "" && parts.length > 0;
  if (
    !marksLast &&
    mark === undefined &&
    !(Array.isArray(content) && parts.some((part) => part[CACHE_MARK] !== undefined))
  )
    return message;
  const marked = marksLast ? [...parts.slice(0, -1), { ...parts.at(-1)!, [CACHE_MARK]: mark }] : parts;
  const written = marked.map(withBreakpoint);
  return { ...others, content: marksLast || Array.isArray(content) ? written : content } as Message;
}

/** The lifetimes of the two forms have none in common: that of the breakpoint is the vendor's own. */
function withBreakpoint<Part extends JsonObject>(part: Part): Part {
  const { [CACHE_MARK]: mark, ...others } = part as JsonObject;
  if (mark === undefined) return part;
  const isMarked = isObject(mark) && others[BREAKPOINT] === undefined;
  return { ...others, ...(isMarked && { [BREAKPOINT]: { mode: "explicit" } }) } as unknown as Part;
}

/** The breakpoint of a part, as a member of the part that is sent. */
export function breakpointOf(part: ContentPart): JsonObject {
  const mark = part[BREAKPOINT];
  return isObject(mark) ? { [BREAKPOINT]: mark } : {};
}

/** Returns what a part became with the part's mark. */
export function withMarkOf(written: ContentPart, part: ContentPart): ContentPart {
  const mark = part[CACHE_MARK];
  return mark === undefined || written === part ? written : { ...written, [CACHE_MARK]: mark };
}
