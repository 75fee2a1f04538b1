// Joins texts of a request into one that the provider takes, and notes it for guards, which have searched each by itself
// (promise 3.5).
import type { Message } from "../../core/chat.ts";
import type { JoinedText } from "../interface/encoded-request.ts";

/** Where an encoder notes each text that it joins; `null` when the request is only encoded, and the notes are not needed. */
export type Joins = JoinedText[] | null;

/** Returns the pieces as one text, with `between` between them. */
export function joinTexts(pieces: readonly string[], between: string, joins: Joins): string {
  const text = pieces.join(between);
  if (joins !== null && pieces.length > 1) joins.push({ text, pieces });
  return text;
}

/** Whether a message has its content in parts, which some encoders join. */
export function hasParts(messages: readonly Message[]): boolean {
  return messages.some(({ content }) => Array.isArray(content));
}
