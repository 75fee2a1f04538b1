// Figures of a conversation, whether this thread has all of its messages or another one holds those that the client sent
// (promise 5.8).
import type { ChatRequest, ContentPart, Message } from "../chat.ts";
import type { JsonObject } from "../json.ts";

type Conversation = Pick<ChatRequest, "messages" | "held">;

/** The length of a conversation's beginning, which suffices for a vendor's prompt cache to recognize it. */
const STICKY_CHARACTERS = 2048;

export function messageCount({ messages, held }: Conversation): number {
  return (held?.count ?? 0) + messages.length;
}

/** Returns the number of messages of each role that has any. */
export function roleCounts({ messages, held }: Conversation): ReadonlyMap<string, number> {
  const roles = new Map(Object.entries(held?.roles ?? {}));
  for (const { role } of messages) roles.set(role, (roles.get(role) ?? 0) + 1);
  return roles;
}

/** Returns the number of content parts of each type that occurs; a content that is a text has none. */
export function partCounts({ messages, held }: Conversation): ReadonlyMap<string, number> {
  const parts = new Map(Object.entries(held?.parts ?? {}));
  for (const { type } of partsIn(messages)) parts.set(type, (parts.get(type) ?? 0) + 1);
  return parts;
}

/** Returns how many characters the texts of the conversation have. */
export function textCharacters({ messages, held }: Conversation): number {
  let total = held?.characters ?? 0;
  for (const { content } of messages) if (typeof content === "string") total += content.length;
  for (const { text } of partsIn(messages)) if (typeof text === "string") total += text.length;
  return total;
}

/** Returns how many characters the body has that the client sent. */
export function bodyCharacters({ held, written, source }: Pick<ChatRequest, "held" | "written" | "source">): number {
  return held?.bodyCharacters ?? (written ?? source).text.length;
}

/** The content parts of all messages; a content that is a text has none. */
export function* partsIn(messages: readonly Message[]): Generator<ContentPart> {
  for (const { content } of messages) if (typeof content !== "string") yield* content ?? [];
}

/** Returns the beginning of the first two messages, by which a sticky route recognizes a conversation. */
export function openingOf({ messages, held }: Conversation): string {
  return held?.opening ?? JSON.stringify(messages.slice(0, 2).map(beginningOf)).slice(0, STICKY_CHARACTERS);
}

/** Cuts long texts before they are serialized, because they may have megabytes. */
function beginningOf(message: Message): JsonObject {
  const { content } = message;
  if (typeof content === "string")
    return content.length <= STICKY_CHARACTERS ? message : { ...message, content: content.slice(0, STICKY_CHARACTERS) };
  return Array.isArray(content)
    ? {
        ...message,
        content: (content as readonly ContentPart[])
          .slice(0, STICKY_CHARACTERS)
          .map((part) =>
            typeof part["text"] === "string"
              ? { ...part, text: part["text"].slice(0, STICKY_CHARACTERS) }
              : { type: part.type },
          ),
      }
    : message;
}
