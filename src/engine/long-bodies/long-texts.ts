// JSON values with long texts (promise 5.8). One thread passes them to another as a short outline and a block of
// memory, so that the receiving thread parses no long text. They are written as bytes in several turns of the event
// loop.
import { type PackedTexts, packTexts, unpackTexts } from "../../guards/packed-texts.ts";
import { isObject, type Json } from "../../core/json.ts";
import { joinedBytes } from "../../wire/body-bytes.ts";
import { parseScanned } from "../../wire/json.ts";
import { scanValue } from "../../wire/json-scan.ts";
import { yieldToLoop } from "../../core/event-loop.ts";
import { LONG_EVENT, piecesOf } from "./long-events.ts";

export interface PackedJson {
  /** The JSON of the value, with `mark` in place of each long text. */
  readonly outline: string;
  /** The positions in the outline of numbers that a double would change. */
  readonly changedNumbers: readonly number[];
  /** A random text that no caller and no provider can guess. */
  readonly mark: string;
  /** The long texts, in the order in which the outline is visited. */
  readonly texts: PackedTexts;
}

/** In characters. A shorter text costs less in the outline than as a text of its own. */
const LONG_TEXT = 1024;

export function packJson(value: Json): PackedJson {
  const mark = crypto.randomUUID();
  const longTexts: string[] = [];
  const outline = JSON.stringify(
    withTexts(value, (text) => {
      if (text.length < LONG_TEXT) return text;
      longTexts.push(text);
      return mark;
    }),
  );
  return {
    outline,
    changedNumbers: scanValue(outline, { maxDepth: Number.POSITIVE_INFINITY }),
    mark,
    texts: packTexts({ plain: longTexts, json: [] }),
  };
}

/** Gives other calls their turns between the steps. */
export async function unpackJson({ outline, changedNumbers, mark, texts }: PackedJson): Promise<Json> {
  await yieldToLoop();
  const { plain: longTexts } = unpackTexts(texts);
  await yieldToLoop();
  const value = parseScanned(outline, changedNumbers);
  if (longTexts.length === 0) return value;
  await yieldToLoop();
  let next = 0;
  return withTexts(value, (text) => (text === mark ? longTexts[next++]! : text));
}

/**
 * Returns what JSON.stringify writes, in UTF-8. It gives other calls their turns before each long text and between its
 * pieces.
 */
export async function jsonInTurns(value: Json): Promise<Uint8Array> {
  const mark = crypto.randomUUID();
  const texts: string[] = [];
  await yieldToLoop();
  const outline = withTexts(value, (text) => {
    if (text.length < LONG_TEXT) return text;
    texts.push(text);
    return mark;
  });
  await yieldToLoop();
  const parts = JSON.stringify(outline).split(mark);
  const encoder = new TextEncoder();
  const written: Uint8Array[] = [];
  let length = 0;
  let sinceTurn = 0;
  const write = (text: string): void => {
    const bytes = encoder.encode(text);
    length += bytes.length;
    written.push(bytes);
  };
  for (const [index, part] of parts.entries()) {
    write(part);
    for (const piece of piecesOf(texts[index] ?? "", LONG_EVENT)) {
      sinceTurn += piece.length;
      if (sinceTurn > LONG_EVENT) {
        await yieldToLoop();
        sinceTurn = piece.length;
      }
      write(JSON.stringify(piece).slice(1, -1));
    }
  }
  await yieldToLoop();
  const bytes = await joinedBytes(written, length);
  // what is done with so many bytes takes a turn of its own
  await yieldToLoop();
  return bytes;
}

/** Returns the value with its texts replaced. Objects in which no text changes keep their identity. */
function withTexts(value: Json, replaced: (text: string) => string): Json {
  if (typeof value === "string") return replaced(value);
  if (Array.isArray(value)) {
    let changed: Json[] | null = null;
    const items = value as readonly Json[];
    for (let index = 0; index < items.length; index++) {
      const other = withTexts(items[index]!, replaced);
      if (other !== items[index]) (changed ??= [...items])[index] = other;
    }
    return changed ?? items;
  }
  if (!isObject(value)) return value;
  let changed: Record<string, Json | undefined> | null = null;
  for (const name in value) {
    const member = value[name];
    if (member === undefined) continue;
    const other = withTexts(member, replaced);
    if (other !== member) (changed ??= { ...value })[name] = other;
  }
  return changed ?? value;
}
