// The input of a call as its pieces come.
import { JsonProgress } from "../../engine/stream/json-progress.ts";
import { parseObject } from "../../providers/conversation/tool-calls.ts";

export class CallInput {
  readonly #progress = new JsonProgress();
  #text = "";
  /** Nothing of it is written while it may turn out to be no object. */
  #unwritten = "";
  #isWritten = false;
  /** Whether it is an object, decided where its first value ends; `null` before that. */
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
    this.#progress.add(piece);
    if (this.#progress.hasEnded) this.#isObject ??= parseObject(this.#text) !== null;
  }

  /** Returns what has come of it since the last time, as far as it is an object. */
  takeUnwritten(): string {
    if (this.#progress.beginsObject !== true || this.#unwritten === "") return "";
    const text = this.#unwritten;
    this.#unwritten = "";
    this.#isWritten = true;
    return text;
  }
}
