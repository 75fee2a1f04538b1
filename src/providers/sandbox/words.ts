// The tokens of the sandbox. One token is one word: a run of characters without white space, together with the white
// space that follows it. White space at the start of a text is a word of its own.
import type { Message } from "../../core/chat.ts";

/**
 * Counts the first words of a text, at most `most`, without creating a string for each, because a long prompt has
 * millions. `end` of the result is where the last of these words ends.
 */
export function countWords(text: string, most = Number.POSITIVE_INFINITY) {
  let words = 0;
  let isAfterSpace = true;
  for (let at = 0; at < text.length; at++) {
    const isSpace = isWhiteSpace(text.charCodeAt(at));
    if (isSpace ? at === 0 : isAfterSpace) {
      if (words >= most) return { words, end: at };
      words += 1;
    }
    isAfterSpace = isSpace;
  }
  return { words, end: text.length };
}

export function textsIn(content: Message["content"]): readonly string[] {
  if (typeof content === "string") return [content];
  return (content ?? []).flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : []));
}

/** The texts of a message, each on lines of its own. */
export function textIn(content: Message["content"]): string {
  return textsIn(content).join("\n");
}

export function* wordsOf(text: string): Generator<string> {
  for (const [word] of text.matchAll(/\S+\s*|^\s+/g)) yield word;
}

/** White space as `\s` of a regular expression defines it (https://tc39.es/ecma262/#prod-CharacterClassEscape). */
function isWhiteSpace(unit: number): boolean {
  if (unit < 0x80) return unit === 0x20 || (unit >= 0x09 && unit <= 0x0d);
  return (
    unit === 0xa0 ||
    unit === 0x1680 ||
    (unit >= 0x2000 && unit <= 0x200a) ||
    unit === 0x2028 ||
    unit === 0x2029 ||
    unit === 0x202f ||
    unit === 0x205f ||
    unit === 0x3000 ||
    unit === 0xfeff
  );
}
