// Keys in text that has to pass fast and unchanged otherwise: a provider's answer, the result of a tool. Looked for are the whole key and its usual spellings,
// letter by letter; a text that comes in pieces holds back what may be the rest of a key. Words that people write where no key is needed are none.
import { KeyWindows } from "./key-windows.ts";
import { CREDENTIAL } from "./redaction.ts";

const MIN_LENGTH = 16;
/** Characters of a key that leave before it is taken for one: its beginning is often the vendor's, and no text has to wait for it. */
const SHOWN_LENGTH = 8;
const MAX_KNOWN = 1_000;

const windows = new Map<string, KeyWindows>();
const spellings = new Map<string, readonly string[]>();

/** Neither a word, nor a path or an address, which may stand where a secret could. */
export function isKey(secret: string): boolean {
  return secret.length >= MIN_LENGTH && /\d/.test(secret) && /[a-z]/i.test(secret) && !/^[./~]|:\/\//.test(secret);
}

export function withoutKeys(text: string, keys: readonly string[]): string {
  if (keys.length === 0 || !windowsOf(keys).areIn(text)) return text;
  let clean = text;
  for (const key of keys)
    for (const spelled of spellingsOf(key))
      if (clean.includes(spelled)) clean = clean.replaceAll(spelled, () => CREDENTIAL);
  return clean;
}

function windowsOf(keys: readonly string[]): KeyWindows {
  const name = keys.join("\n");
  const found = windows.get(name);
  if (found !== undefined) return found;
  if (windows.size >= MAX_KNOWN) windows.clear();
  const made = new KeyWindows(keys.flatMap(spellingsOf));
  windows.set(name, made);
  return made;
}

function spellingsOf(key: string): readonly string[] {
  const found = spellings.get(key);
  if (found !== undefined) return found;
  const bytes = Buffer.from(key);
  const all = new Set([
    key,
    JSON.stringify(key).slice(1, -1),
    // as some servers write JSON
    key.replaceAll("/", String.raw`\/`),
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
      all.add(
        shifted
          .toString(alphabet)
          .replace(/=+$/, "")
          .slice(before === 0 ? 0 : before + 1, -1),
      );
  }
  if (spellings.size >= MAX_KNOWN) spellings.clear();
  const made = [...all];
  spellings.set(key, made);
  return made;
}

/** Finds every usual spelling of some keys in one pass over a text: the automaton of Aho and Corasick (CACM 18, 1975). */
export class KeyFinder {
  /** By state and code unit, the state that the code unit leads to. */
  readonly #next = new Map<number, number>();
  /** By state: how many characters of a spelling are matched, the state of the longest shorter match, and the length of a whole spelling that ends here. */
  readonly #depths: number[] = [0];
  readonly #fallbacks: number[] = [0];
  readonly #ends: number[] = [0];
  /** Pairs of code units with which a spelling begins, and first code units, by their last eight bits. */
  readonly #pairs = new Uint8Array(65_536);
  readonly #firsts = new Uint8Array(256);

  constructor(keys: readonly string[]) {
    for (const spelled of keys.flatMap(spellingsOf)) this.#add(spelled);
    this.#link();
  }

  /** The finder of these keys; each is made once. */
  static of(keys: readonly string[]): KeyFinder {
    const name = keys.join("\n");
    const found = finders.get(name);
    if (found !== undefined) return found;
    if (finders.size >= MAX_FINDERS) finders.clear();
    const made = new KeyFinder(keys);
    finders.set(name, made);
    return made;
  }

  #add(spelled: string): void {
    this.#pairs[((spelled.charCodeAt(0) & 0xff) << 8) | (spelled.charCodeAt(1) & 0xff)] = 1;
    this.#firsts[spelled.charCodeAt(0) & 0xff] = 1;
    let state = 0;
    for (let at = 0; at < spelled.length; at++) {
      const way = wayOf(state, spelled.charCodeAt(at));
      const known = this.#next.get(way);
      if (known !== undefined) state = known;
      else {
        this.#next.set(way, (state = this.#depths.length));
        this.#depths.push(at + 1);
        this.#fallbacks.push(0);
        this.#ends.push(0);
      }
    }
    this.#ends[state] = spelled.length;
  }

  /** Ways were added spelling by spelling; a state's fallback is less deep than the state itself. */
  #link(): void {
    const ways = [...this.#next].toSorted(([, one], [, other]) => this.#depths[one]! - this.#depths[other]!);
    for (const [way, state] of ways) {
      const from = Math.floor(way / 65_536);
      if (from !== 0) this.#fallbacks[state] = this.step(this.#fallbacks[from]!, way % 65_536);
      if (this.#ends[state] === 0) this.#ends[state] = this.#ends[this.#fallbacks[state]!]!;
    }
  }

  /** The state after one more code unit. */
  step(state: number, code: number): number {
    for (let from = state; ; from = this.#fallbacks[from]!) {
      const next = this.#next.get(wayOf(from, code));
      if (next !== undefined) return next;
      if (from === 0) return 0;
    }
  }

  /** Characters at the end of what was read that may be the beginning of a spelling. */
  depthOf(state: number): number {
    return this.#depths[state]!;
  }

  /** Length of the spelling that ends here; 0: none does. */
  endOf(state: number): number {
    return this.#ends[state]!;
  }

  /** Whether a spelling can begin in the text. False for nearly every text, and quickly. */
  mayBeginIn(text: string): boolean {
    const { length } = text;
    if (length === 0) return false;
    let code = text.charCodeAt(0) & 0xff;
    for (let at = 1; at < length; at++) {
      const next = text.charCodeAt(at) & 0xff;
      if (this.#pairs[(code << 8) | next] === 1) return true;
      code = next;
    }
    return this.#firsts[code] === 1;
  }
}

const MAX_FINDERS = 100;
const finders = new Map<string, KeyFinder>();

function wayOf(state: number, code: number): number {
  return state * 65_536 + code;
}

/** One text in pieces. */
export class KeyWatch {
  readonly #finder: KeyFinder;
  #state = 0;
  #held = "";

  constructor(finder: KeyFinder) {
    this.#finder = finder;
  }

  get isWaiting(): boolean {
    return this.#state !== 0;
  }

  /** What may leave of the text, with its next piece. */
  push(piece: string): string {
    let out = "";
    let text = this.#held + piece;
    for (let at = this.#held.length; at < text.length; at++) {
      this.#state = this.#finder.step(this.#state, text.charCodeAt(at));
      const length = this.#finder.endOf(this.#state);
      if (length === 0) continue;
      out += text.slice(0, Math.max(0, at + 1 - length)) + CREDENTIAL;
      text = text.slice(at + 1);
      at = -1;
      this.#state = 0;
    }
    const keep = Math.min(text.length, Math.max(0, this.#finder.depthOf(this.#state) - SHOWN_LENGTH));
    this.#held = text.slice(text.length - keep);
    return out + text.slice(0, text.length - keep);
  }

  /** The rest of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#state = 0;
    return rest;
  }
}
