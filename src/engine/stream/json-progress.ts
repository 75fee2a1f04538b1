// How far a JSON text has come whose pieces arrive one by one, such as the arguments of a call: it is known without
// reading all of the text again for each piece.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const WHITE_SPACE = /\s/;

export class JsonProgress {
  #first: number | null;
  #depth: number;
  #isInString: boolean;
  #isEscaped: boolean;
  #hasEnded: boolean;

  /** Continues where another text has come to, which does not change. */
  constructor(before: JsonProgress | null = null) {
    this.#first = before === null ? null : before.#first;
    this.#depth = before === null ? 0 : before.#depth;
    this.#isInString = before !== null && before.#isInString;
    this.#isEscaped = before !== null && before.#isEscaped;
    this.#hasEnded = before !== null && before.#hasEnded;
  }

  /** Whether its first character opens an object; `null` before that has come. */
  get beginsObject(): boolean | null {
    return this.#first === null ? null : this.#first === OPENING_BRACE;
  }
  /**
   * Whether the object, list or string has ended with which it begins; whether it is valid has to be read. A number or a
   * word has no end by which it could be known.
   */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  add(piece: string): void {
    for (let at = 0; at < piece.length && !this.#hasEnded; at++) this.#read(piece.charCodeAt(at));
  }

  #read(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) {
        this.#isInString = false;
        this.#hasEnded = this.#depth === 0;
      }
      return;
    }
    if (this.#first === null && !WHITE_SPACE.test(String.fromCharCode(code))) this.#first = code;
    if (code === QUOTE) this.#isInString = true;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) this.#depth += 1;
    else if (code === CLOSING_BRACE || code === CLOSING_BRACKET) {
      this.#depth -= 1;
      this.#hasEnded = this.#depth <= 0;
    }
  }
}
