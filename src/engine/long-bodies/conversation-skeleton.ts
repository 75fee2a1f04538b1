// A conversation without its texts: which members its messages, parts and tool calls have, by role and by type. It is
// small, however long the conversation is.
import type { ContentPart, Message, ToolCall } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, setMember } from "../../core/json.ts";

/**
 * The most names for each kind of object. Further names are summed up as one, because fit-conversation.ts reports no
 * more of them.
 */
const MAX_NAMES = 64;
const MAX_NAME = 64;
/** Replaces names that are left out; it contains nothing from the caller that a guard would have to search. */
const OTHER = "(…)";

type Members = Record<string, Json>;

interface Role {
  readonly members: Members;
  readonly parts: Map<string, Members>;
  readonly calls: Map<string, CallMembers>;
  hasParts: boolean;
}

interface CallMembers {
  readonly members: Members;
  /** Those of the function; `null` where no call of the type has one. */
  called: Members | null;
}

export function skeletonOf(messages: readonly Message[]): readonly Message[] {
  const roles = new Map<string, Role>();
  for (const message of messages) {
    const known = roles.get(message.role) ?? { members: {}, parts: new Map(), calls: new Map(), hasParts: false };
    roles.set(message.role, known);
    note(known.members, message);
    const { content, tool_calls: calls } = message;
    if (Array.isArray(content)) {
      known.hasParts = true;
      for (const part of content as readonly ContentPart[])
        if (part.type.length <= MAX_NAME)
          note(
            entryOf<Members>(known.parts, part.type, () => ({})),
            part,
          );
    }
    if (Array.isArray(calls)) for (const call of calls as readonly Json[]) if (isObject(call)) noteCall(known, call);
  }
  return [...roles].map(([role, { members, parts, calls, hasParts }]) => {
    const content = hasParts ? [...parts].map(([type, part]) => ({ ...part, type })) : "";
    const made = [...calls].map(([type, { members: own, called }]) => ({
      ...own,
      type,
      ...(called !== null && { function: called }),
    }));
    return {
      ...members,
      role,
      content,
      ...(made.length > 0 && { tool_calls: made as unknown as readonly ToolCall[] }),
    } as Message;
  });
}

function noteCall({ calls }: Role, call: JsonObject): void {
  const type = typeof call["type"] === "string" ? call["type"] : "function";
  if (type.length > MAX_NAME) return;
  const known = entryOf<CallMembers>(calls, type, () => ({ members: {}, called: null }));
  note(known.members, call);
  if (isObject(call["function"])) note((known.called ??= {}), call["function"]);
}

function entryOf<T>(map: Map<string, T>, key: string, make: () => T): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const fresh = make();
  if (map.size < MAX_NAMES) map.set(key, fresh);
  return fresh;
}

/**
 * Records the names of the members that are set and, for `extra_content`, the names of its vendors; each value is
 * `true`.
 */
function note(into: Members, holder: JsonObject): void {
  for (const name in holder) {
    const recorded =
      name.length <= MAX_NAME && (Object.hasOwn(into, name) || Object.keys(into).length < MAX_NAMES) ? name : OTHER;
    // null means that a member is not set
    if (holder[name] === null) continue;
    if (name !== "extra_content") setMember(into, recorded, true);
    else if (isObject(holder[name])) {
      const vendors = (isObject(into[name]) ? into[name] : {}) as Members;
      for (const vendor in holder[name])
        setMember(vendors, vendor.length <= MAX_NAME && Object.keys(vendors).length < MAX_NAMES ? vendor : OTHER, true);
      into[name] = vendors;
    } else into[name] ??= true;
  }
}
