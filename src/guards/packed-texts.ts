// Texts in one block of memory, so that a thread can pass them on to another thread without copying them, however long
// they are.
import type { Texts } from "./guard-search.ts";

export interface PackedTexts {
  /** All texts, one after the other: those of ASCII with one byte for each character, the others in UTF-16. */
  readonly bytes: Uint8Array;
  /** The number of bytes of each text: plain texts come first. */
  readonly lengths: Uint32Array;
  /** 1 for each text that is ASCII. */
  readonly areAscii: Uint8Array;
  /** The number of plain texts, and of those that can be replaced, which come first. */
  readonly plain: number;
  readonly replaceable: number;
  /** As in `Texts`. */
  readonly inJson: number;
}

export function packTexts({ plain, json, replaceable = plain.length, inJson = 0 }: Texts): PackedTexts {
  const texts = [...plain, ...json];
  const areAscii = new Uint8Array(texts.length);
  const lengths = new Uint32Array(texts.length);
  let size = 0;
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]!;
    areAscii[index] = isAscii(text) ? 1 : 0;
    size += lengths[index] = areAscii[index] === 1 ? text.length : text.length * 2;
  }
  const bytes = Buffer.from(new ArrayBuffer(size));
  let at = 0;
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index]!;
    if (areAscii[index] === 0 || text.length > SHORT) at += bytes.write(text, at, encodingOf(areAscii[index]));
    else for (let place = 0; place < text.length; place++) bytes[at++] = text.charCodeAt(place);
  }
  return { bytes, lengths, areAscii, plain: plain.length, replaceable, inJson };
}

/** In characters: a loop over so few takes less time than a call of a function of the runtime. */
const SHORT = 32;

function isAscii(text: string): boolean {
  if (text.length > SHORT) return Buffer.byteLength(text) === text.length;
  for (let place = 0; place < text.length; place++) if (text.charCodeAt(place) > 0x7f) return false;
  return true;
}

export function unpackTexts({ bytes: packed, lengths, areAscii, plain, replaceable, inJson }: PackedTexts): Texts {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
  let at = 0;
  const texts = Array.from(lengths, (length, index) => bytes.toString(encodingOf(areAscii[index]), at, (at += length)));
  return { plain: texts.slice(0, plain), json: texts.slice(plain), replaceable, inJson };
}

function encodingOf(mark: number | undefined): "latin1" | "utf16le" {
  return mark === 1 ? "latin1" : "utf16le";
}
