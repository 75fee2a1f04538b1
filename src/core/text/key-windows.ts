// Tests whether a text contains one of several keys while skipping most of the text: the windows of Wu and Manber
// (University of Arizona, TR-94-17).

const MAX_WINDOW = 64;
/**
 * The number of entries in the table of steps. Pairs of code units share entries, which only makes some steps shorter.
 */
const PAIRS = 4096;

export class KeyWindows {
  /** The length of a window in code units: that of the shortest key, and at most MAX_WINDOW. */
  readonly #length: number;
  /** For the last pair of a window, the distance to the next window that could be the beginning of a key. */
  readonly #steps: Uint8Array;
  /** The beginnings of the keys, each as long as a window. */
  readonly #beginnings: readonly string[];

  /** Each key must have at least two code units. */
  constructor(keys: readonly string[]) {
    const length = Math.min(MAX_WINDOW, ...keys.map((key) => key.length));
    const steps = new Uint8Array(PAIRS).fill(length - 1);
    const beginnings = [...new Set(keys.map((key) => key.slice(0, length)))];
    for (const beginning of beginnings)
      for (let at = 1; at < length; at++) {
        const pair = pairAt(beginning, at);
        steps[pair] = Math.min(steps[pair]!, length - 1 - at);
      }
    this.#length = length;
    this.#steps = steps;
    this.#beginnings = beginnings;
  }

  /** Whether the text contains the first window of a key, and therefore possibly the whole key. */
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
