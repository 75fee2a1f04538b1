// Finds where a string ends in the text of an event that is not parsed, and counts and reads what it says. Most pieces
// of a stream are ASCII without escapes, which need no second look.
import { type TokenTally, tally } from "../../accounting/estimate.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

/** Remembers what it found of the string that it was asked about last. */
export class StringScan {
  #others = 0;
  #hasEscapes = false;

  /** Whether characters of the string are written as escapes. */
  get hasEscapes(): boolean {
    return this.#hasEscapes;
  }

  /** Returns the position of the quote that ends the JSON string from `start` on; -1 when there is none. */
  endIn(text: string, start: number): number {
    let others = 0;
    let hasEscapes = false;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#others = others;
        this.#hasEscapes = hasEscapes;
        return at;
      }
      if (code === BACKSLASH) {
        hasEscapes = true;
        at++;
      } else if (code > 0x7f) others++;
      // also at the end of the text, where there is no code
      else if (!(code >= SPACE)) return -1;
    }
  }

  /** Returns what the string says; `null` when its escapes are not those of JSON. `written` is its text. */
  read(written: string): string | null {
    if (!this.#hasEscapes) return written;
    try {
      return JSON.parse(`"${written}"`) as string;
    } catch {
      return null;
    }
  }

  /** Counts what `read` has returned. */
  count(into: TokenTally, said: string): void {
    if (this.#hasEscapes) {
      tally(into, said);
      return;
    }
    into.ascii += said.length - this.#others;
    into.other += this.#others;
  }
}
