// Writes long texts, and JSON values with long texts, as bytes in several turns of the event loop (promise 5.8).
import { isObject, type Json } from "../../core/json.ts";
import { mappedList, mappedMembers } from "../../core/request/mapped-list.ts";
import { isHighSurrogate } from "../../core/text/surrogates.ts";
import { joinedBytes } from "../../wire/body-bytes.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { LONG_TEXT } from "./read-in-turns.ts";

/** In characters. A shorter text costs less in the outline than as a text of its own. */
const OWN_TEXT = 1024;

/** Returns the text in UTF-8. */
export async function textInTurns(text: string): Promise<Uint8Array> {
  await yieldToLoop();
  const writer = new TurnWriter();
  await writer.writePieces(text, (piece) => piece);
  return writer.end();
}

/** Returns what JSON.stringify writes, in UTF-8. */
export async function jsonInTurns(value: Json): Promise<Uint8Array> {
  const mark = crypto.randomUUID();
  const texts: string[] = [];
  await yieldToLoop();
  const outline = outlineOf(value, (text) => {
    if (text.length < OWN_TEXT) return text;
    texts.push(text);
    return mark;
  });
  await yieldToLoop();
  const writer = new TurnWriter();
  for (const [index, part] of JSON.stringify(outline).split(mark).entries()) {
    writer.write(part);
    await writer.writePieces(texts[index] ?? "", (piece) => JSON.stringify(piece).slice(1, -1));
  }
  return writer.end();
}

/** Collects text as bytes. A turn ends before each long piece. */
class TurnWriter {
  readonly #encoder = new TextEncoder();
  readonly #written: Uint8Array[] = [];
  #length = 0;
  #sinceTurn = 0;

  write(text: string): void {
    const bytes = this.#encoder.encode(text);
    this.#length += bytes.length;
    this.#written.push(bytes);
  }

  async writePieces(text: string, spelled: (piece: string) => string): Promise<void> {
    for (const piece of piecesOf(text, LONG_TEXT)) {
      this.#sinceTurn += piece.length;
      if (this.#sinceTurn > LONG_TEXT) {
        await yieldToLoop();
        this.#sinceTurn = piece.length;
      }
      this.write(spelled(piece));
    }
  }

  async end(): Promise<Uint8Array> {
    await yieldToLoop();
    const bytes = await joinedBytes(this.#written, this.#length);
    // what is done with so many bytes takes a turn of its own
    await yieldToLoop();
    return bytes;
  }
}

/**
 * Returns the value with its texts replaced. Other than with `withTexts` of core/json.ts, no path is made for each, and
 * objects in which no text changes keep their identity: a long value has some hundred thousand.
 */
function outlineOf(value: Json, replaced: (text: string) => string): Json {
  if (typeof value === "string") return replaced(value);
  if (Array.isArray(value)) return mappedList(value as readonly Json[], (item) => outlineOf(item, replaced));
  return isObject(value)
    ? mappedMembers(value, (member) => (member === undefined ? member : outlineOf(member, replaced)))
    : value;
}

/** Yields pieces of about `length` characters. No surrogate pair is cut, because each piece is encoded separately. */
export function* piecesOf(text: string, length: number): Generator<string> {
  for (let start = 0; start < text.length;) {
    const cut = start + length;
    const cutsPair = cut < text.length && isHighSurrogate(text.charCodeAt(cut - 1));
    const end = !cutsPair ? cut : length > 1 ? cut - 1 : cut + 1;
    yield text.slice(start, end);
    start = end;
  }
}
