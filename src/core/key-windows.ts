// Whether one of some words stands in a text, found by stepping over most of it: the windows of Wu and Manber (University of Arizona, TR-94-17).

const MAX_WINDOW = 64;
/** Entries of the table of steps: pairs of code units share them, which only makes some steps shorter. */
const PAIRS = 4096;

export class KeyWindows {
  /** Code units of a window: of the shortest word, or fewer. */
  readonly #length: number;
  /** By the last pair of a window: how far the next window is that could be the beginning of a word. */
  readonly #steps: Uint8Array;
  /** Beginnings of words, as long as a window. */
  readonly #beginnings: readonly string[];

  /** Each word has two letters at least. */
  constructor(words: readonly string[]) {
    const length = Math.min(MAX_WINDOW, ...words.map((word) => word.length));
    const steps = new Uint8Array(PAIRS).fill(length - 1);
    const beginnings = [...new Set(words.map((word) => word.slice(0, length)))];
    for (const beginning of beginnings)
      for (let at = 1; at < length; at++) {
        const pair = pairAt(beginning, at);
        steps[pair] = Math.min(steps[pair]!, length - 1 - at);
      }
    this.#length = length;
    this.#steps = steps;
    this.#beginnings = beginnings;
  }

  /** Whether the beginning of a word, as long as a window, stands in the text, so that a whole one may. */
  areIn(text: string): boolean {
    const { length } = text;
    const window = this.#length;
    for (let at = window - 1; at < length;) {
      const step = this.#steps[pairAt(text, at)]!;
      if (step > 0) at += step;
      else if (this.#beginnings.some((one) => text.startsWith(one, at + 1 - window))) return true;
      else at += 1;
    }
    return false;
  }
}

function pairAt(text: string, last: number): number {
  return ((text.charCodeAt(last - 1) << 6) ^ text.charCodeAt(last)) & (PAIRS - 1);
}
