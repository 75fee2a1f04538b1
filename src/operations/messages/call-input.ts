// The input of a call as its pieces come: how far it has come is known without reading all of it again for each piece.
import { parseObject } from "../../providers/tool-calls.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING_BRACE = 0x7b;
const CLOSING_BRACE = 0x7d;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
const SPACE = /\s/;

export class CallInput {
  #text = "";
  /** Nothing of it is written while it may turn out to be no object. */
  #unwritten = "";
  #isWritten = false;
  /** Whether its first character opens an object; `null` before that has come. */
  #beginsAsObject: boolean | null = null;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  /** Whether it is an object, decided where its first value ends; `null` before that. What follows is no part of it. */
  #isObject: boolean | null = null;

  constructor(text: string) {
    this.add(text);
  }

  get text(): string {
    return this.#text;
  }
  get isWritten(): boolean {
    return this.#isWritten;
  }
  /** Whether it is a whole object. */
  get isComplete(): boolean {
    return this.#isObject === true;
  }

  add(piece: string): void {
    this.#text += piece;
    this.#unwritten += piece;
    for (let at = 0; at < piece.length && this.#isObject === null; at++) this.#read(piece.charCodeAt(at));
  }

  /** Returns what has come of it since the last time, as far as it is an object. */
  takeUnwritten(): string {
    if (this.#beginsAsObject !== true || this.#unwritten === "") return "";
    const text = this.#unwritten;
    this.#unwritten = "";
    this.#isWritten = true;
    return text;
  }

  #read(code: number): void {
    if (this.#isInString) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (code === BACKSLASH) this.#isEscaped = true;
      else if (code === QUOTE) this.#isInString = false;
      return;
    }
    if (this.#beginsAsObject === null && !SPACE.test(String.fromCharCode(code)))
      this.#beginsAsObject = code === OPENING_BRACE;
    if (code === QUOTE) this.#isInString = true;
    else if (code === OPENING_BRACE || code === OPENING_BRACKET) this.#depth += 1;
    else if ((code === CLOSING_BRACE || code === CLOSING_BRACKET) && --this.#depth <= 0)
      this.#isObject = parseObject(this.#text) !== null;
  }
}
