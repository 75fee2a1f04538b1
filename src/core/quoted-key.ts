// Keys in text that has to pass fast and unchanged otherwise: a provider's answer, the result of a tool. Looked for are the whole key and its usual spellings,
// letter by letter; a text that comes in pieces holds back what may be the rest of a key. Words that people write where no key is needed are none.
import { CREDENTIAL } from "./redaction.ts";

const MIN_LENGTH = 16;
/** Characters of a key that leave before it is taken for one: its beginning is often the vendor's, and no text has to wait for it. */
const SHOWN_LENGTH = 8;
const MAX_KNOWN = 1_000;

const known = new Map<string, readonly string[]>();

/** Neither a word, nor a path or an address, which may stand where a secret could. */
export function isKey(secret: string): boolean {
  return secret.length >= MIN_LENGTH && /\d/.test(secret) && /[a-z]/i.test(secret) && !/^[./~]|:\/\//.test(secret);
}

export function withoutKeys(text: string, keys: readonly string[]): string {
  let clean = text;
  for (const key of keys)
    for (const spelled of spellingsOf(key))
      if (clean.includes(spelled)) clean = clean.replaceAll(spelled, () => CREDENTIAL);
  return clean;
}

function spellingsOf(key: string): readonly string[] {
  const found = known.get(key);
  if (found !== undefined) return found;
  const bytes = Buffer.from(key);
  const spellings = new Set([
    key,
    JSON.stringify(key).slice(1, -1),
    encodeURIComponent(key),
    key.toUpperCase(),
    Array.from(key).toReversed().join(""),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
  ]);
  // what stands before it in the same base64 shifts it by a third of its own; its ends then depend on what is beside it
  for (const before of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(before), bytes]);
    for (const alphabet of ["base64", "base64url"] as const)
      spellings.add(
        shifted
          .toString(alphabet)
          .replace(/=+$/, "")
          .slice(before === 0 ? 0 : before + 1, -1),
      );
  }
  if (known.size >= MAX_KNOWN) known.clear();
  const made = [...spellings];
  known.set(key, made);
  return made;
}

/** One text in pieces. */
export class KeyWatch {
  readonly #key: string;
  /** After so many characters that match, the match goes on after `#fallback[n - 1]` of them where the next one does not fit (Knuth, Morris and Pratt). */
  readonly #fallback: readonly number[];
  #matched = 0;
  #held = "";

  constructor(key: string, fallback: readonly number[]) {
    this.#key = key;
    this.#fallback = fallback;
  }

  get isWaiting(): boolean {
    return this.#matched > 0;
  }

  /** What may leave of the text, with its next piece. */
  push(piece: string): string {
    let out = "";
    let text = this.#held + piece;
    for (let at = this.#held.length; at < text.length; at++) {
      const code = text.charCodeAt(at);
      while (this.#matched > 0 && this.#key.charCodeAt(this.#matched) !== code)
        this.#matched = this.#fallback[this.#matched - 1]!;
      if (this.#key.charCodeAt(this.#matched) === code) this.#matched++;
      if (this.#matched < this.#key.length) continue;
      out += text.slice(0, Math.max(0, at + 1 - this.#key.length)) + CREDENTIAL;
      text = text.slice(at + 1);
      at = -1;
      this.#matched = 0;
    }
    const keep = Math.min(text.length, Math.max(0, this.#matched - SHOWN_LENGTH));
    this.#held = text.slice(text.length - keep);
    return out + text.slice(0, text.length - keep);
  }

  /** The rest of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#matched = 0;
    return rest;
  }
}

/** For `KeyWatch`: of each beginning of the key, how much of its end is a beginning of the key too. */
export function fallbackOf(key: string): readonly number[] {
  const fallback = [0];
  for (let at = 1, matched = 0; at < key.length; at++) {
    while (matched > 0 && key[at] !== key[matched]) matched = fallback[matched - 1]!;
    if (key[at] === key[matched]) matched++;
    fallback.push(matched);
  }
  return fallback;
}
