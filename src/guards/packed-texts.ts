// Texts in one block of memory, so that a thread can pass them on to another thread without copying them, however long
// they are.
import type { Texts } from "./guard-search.ts";

export interface PackedTexts {
  /** All texts in UTF-16, one after the other. */
  readonly units: Uint8Array;
  /** The number of UTF-16 units of each text: plain texts come first. */
  readonly lengths: Uint32Array;
  /** The number of plain texts. */
  readonly plain: number;
}

export function packTexts({ plain, json }: Texts): PackedTexts {
  const texts = [...plain, ...json];
  const lengths = Uint32Array.from(texts, (text) => text.length);
  const units = Buffer.from(new ArrayBuffer(lengths.reduce((sum, length) => sum + length * 2, 0)));
  let at = 0;
  for (const text of texts) at += units.write(text, at, "utf16le");
  return { units, lengths, plain: plain.length };
}

export function unpackTexts({ units, lengths, plain }: PackedTexts): Texts {
  const bytes = Buffer.from(units.buffer, units.byteOffset, units.byteLength);
  let at = 0;
  const texts = Array.from(lengths, (length) => bytes.toString("utf16le", at, (at += length * 2)));
  return { plain: texts.slice(0, plain), json: texts.slice(plain) };
}
