// Removes keys from text that otherwise has to pass quickly and unchanged, such as a provider's answer or the result of
// a tool. It searches for the whole key and its usual spellings, character by character. In a text that arrives in
// pieces, it holds back what may be the beginning of a key. Ordinary words that are configured where no key is needed
// do not count as keys.
import { KeyWindows } from "./key-windows.ts";
import { memoizeBounded } from "../memoization.ts";
import { CREDENTIAL, spellingsOf } from "./secret-spellings.ts";

const MIN_LENGTH = 16;
/**
 * The number of characters of a possible key that are let through before the rest is held back. The beginning of a key
 * is often the vendor's prefix, and ordinary text must not be delayed by it.
 */
const SHOWN_LENGTH = 8;
const MAX_KNOWN = 1_000;
/** In code units. A shorter text is faster looked at unit by unit. */
const LONG_TEXT = 1_024;

/**
 * Whether a secret looks like a key, and not like a word, a path or an address, which may be configured in place of a
 * secret.
 */
export function isKey(secret: string): boolean {
  return secret.length >= MIN_LENGTH && /\d/.test(secret) && /[a-z]/i.test(secret) && !/^[./~]|:\/\//.test(secret);
}

const joined = (keys: readonly string[]): string => keys.join("\n");

/** Returns the function that removes these keys from a text, from a cache where possible. */
export const keyRemover = memoizeBounded(
  MAX_KNOWN,
  (keys: readonly string[]): ((text: string) => string) => {
    const spellings = keys.flatMap(spellingsOf);
    if (spellings.length === 0) return (text) => text;
    const windows = new KeyWindows(spellings);
    return (text) => {
      if (!windows.areIn(text)) return text;
      const watch = new KeyWatch(keyFinder(keys));
      return watch.push(text) + watch.end();
    };
  },
  joined,
);

/**
 * Finds every usual spelling of several keys in one pass over a text, with the automaton of Aho and Corasick (CACM 18,
 * 1975).
 */
export class KeyFinder {
  /** Maps a state and a code unit to the next state. */
  readonly #next = new Map<number, number>();
  /**
   * By state: the number of characters of a spelling that are matched. `#fallbacks` has the state of the longest
   * shorter match, and `#ends` the length of a whole spelling that ends in the state.
   */
  readonly #depths: number[] = [0];
  readonly #fallbacks: number[] = [0];
  readonly #ends: number[] = [0];
  /**
   * The pairs of code units with which a spelling begins, by their last eight bits; `#firsts` has the first code units.
   */
  readonly #pairs = new Uint8Array(65_536);
  readonly #firsts = new Uint8Array(256);

  /** Of what is held back when it comes at the end of a piece. */
  readonly #beginnings: KeyWindows;
  /** Of whole spellings, by which a long text is searched in larger steps. */
  readonly #wholes: KeyWindows;
  /** The length of the longest spelling. */
  readonly #longest: number;

  constructor(keys: readonly string[]) {
    const spellings = keys.flatMap(spellingsOf);
    for (const spelled of spellings) this.#add(spelled);
    this.#link();
    this.#beginnings = new KeyWindows(spellings.map((spelled) => spelled.slice(0, SHOWN_LENGTH + 1)));
    this.#wholes = new KeyWindows(spellings);
    this.#longest = Math.max(...spellings.map(({ length }) => length));
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

  /** Works in order of depth, because the fallback of a state is always less deep than the state itself. */
  #link(): void {
    const ways = [...this.#next].toSorted(([, one], [, other]) => this.#depths[one]! - this.#depths[other]!);
    for (const [way, state] of ways) {
      const from = Math.floor(way / 65_536);
      if (from !== 0) this.#fallbacks[state] = this.step(this.#fallbacks[from]!, way % 65_536);
      if (this.#ends[state] === 0) this.#ends[state] = this.#ends[this.#fallbacks[state]!]!;
    }
  }

  /** Returns the state after one more code unit. */
  step(state: number, code: number): number {
    for (let from = state; ; from = this.#fallbacks[from]!) {
      const next = this.#next.get(wayOf(from, code));
      if (next !== undefined) return next;
      if (from === 0) return 0;
    }
  }

  /** Returns the number of characters at the end of the text read so far that may be the beginning of a spelling. */
  depthOf(state: number): number {
    return this.#depths[state]!;
  }

  /** Returns the length of the spelling that ends here, or 0 when none does. */
  endOf(state: number): number {
    return this.#ends[state]!;
  }

  /** Whether the text has the beginning of a spelling that is longer than what is let through. */
  beginsIn(text: string): boolean {
    return this.#beginnings.areIn(text);
  }

  /**
   * Returns the first position, from `from` on, at which a spelling may begin, judged by two characters, or by one at the end; the length
   * of the text when there is none, as in nearly every text. It is quick to compute.
   */
  beginning(text: string, from = 0): number {
    const { length } = text;
    if (from >= length) return length;
    let code = text.charCodeAt(from) & 0xff;
    for (let at = from + 1; at < length; at++) {
      const next = text.charCodeAt(at) & 0xff;
      if (this.#pairs[(code << 8) | next] === 1) return at - 1;
      code = next;
    }
    return this.#firsts[code] === 1 ? length - 1 : length;
  }

  /**
   * Returns the position from which what is shown of the text may be the beginning of a spelling; the length of the text
   * when it ends with none, and null when the text may hold a spelling, or end with more of one than is let through.
   */
  beginningAtEnd(text: string): number | null {
    const { length } = text;
    const end = Math.max(0, length - SHOWN_LENGTH);
    // a spelling is either whole in a long text or begins at its end; most of the text is skipped by looking for these
    if (length >= LONG_TEXT) {
      const mayHold = this.#wholes.areIn(text) || this.beginsIn(text.slice(-this.#longest));
      return mayHold ? null : this.beginning(text, end);
    }
    const beginning = this.beginning(text);
    return beginning < end && this.beginsIn(text) ? null : Math.max(beginning, end);
  }

  /** Whether a spelling may begin in the text. */
  mayBeginIn(text: string): boolean {
    return text.length < LONG_TEXT ? this.beginning(text) < text.length : this.beginningAtEnd(text) !== text.length;
  }
}

const MAX_FINDERS = 100;

/** Returns the finder of these keys, from a cache where possible. */
export const keyFinder = memoizeBounded(MAX_FINDERS, (keys: readonly string[]) => new KeyFinder(keys), joined);

function wayOf(state: number, code: number): number {
  return state * 65_536 + code;
}

/**
 * Returns what follows in a whole text on its beginning that was shown in pieces; `null` where it begins otherwise. Where a
 * key was removed, the pieces may have shown its beginning, which the whole text has not.
 */
export function restOf(whole: string, shown: string): string | null {
  let at = 0;
  let from = 0;
  for (;;) {
    const mark = shown.indexOf(CREDENTIAL, from);
    if (mark < 0) break;
    const next = whole.indexOf(CREDENTIAL, at);
    const extra = mark - from - (next - at);
    if (next < 0 || extra < 0 || extra > SHOWN_LENGTH || !shown.startsWith(whole.slice(at, next), from)) return null;
    at = next + CREDENTIAL.length;
    from = mark + CREDENTIAL.length;
  }
  const rest = shown.slice(from);
  return whole.startsWith(rest, at) ? whole.slice(at + rest.length) : null;
}

/** Removes keys from one text that arrives in pieces. */
export class KeyWatch {
  readonly #finder: KeyFinder;
  /** The end of what was shown, from where a key may begin in it. */
  #shown = "";
  /** What is held back behind it. */
  #held = "";

  constructor(finder: KeyFinder) {
    this.#finder = finder;
  }

  get isHolding(): boolean {
    return this.#held !== "";
  }

  /** Whether the next piece may be passed on as it is, as nearly every piece; it counts as passed on then. */
  passes(piece: string): boolean {
    if (this.#held !== "") return false;
    const text = this.#shown === "" ? piece : this.#shown + piece;
    const beginning = this.#finder.beginningAtEnd(text);
    if (beginning === null) return false;
    this.#shown = text.slice(beginning);
    return true;
  }

  /** Takes the next piece and returns the text that may be passed on. */
  push(piece: string): string {
    if (this.passes(piece)) return piece;
    let out = "";
    // what was shown is no longer than the part of a key that is let through
    let text = this.#shown + this.#held + piece;
    let shown = this.#shown.length;
    let state = 0;
    for (let at = 0; at < text.length; at++) {
      if (state === 0) at = this.#finder.beginning(text, at);
      if (at === text.length) break;
      state = this.#finder.step(state, text.charCodeAt(at));
      const length = this.#finder.endOf(state);
      if (length === 0) continue;
      out += text.slice(shown, Math.max(shown, at + 1 - length)) + CREDENTIAL;
      text = text.slice(at + 1);
      shown = 0;
      at = -1;
      state = 0;
    }
    const keep = Math.max(0, this.#finder.depthOf(state) - SHOWN_LENGTH);
    const end = text.length - keep;
    this.#held = text.slice(end);
    this.#shown = text.slice(Math.max(0, end - SHOWN_LENGTH), end);
    return out + text.slice(shown, end);
  }

  /** Returns the rest of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    this.#shown = "";
    return rest;
  }
}
