// Judges whether events may pass as they came. Those that have arrived together are judged as one text, which nearly
// always passes; only where it does not is each event judged.

export class JudgedText {
  readonly #passes: (text: string) => boolean;
  #text = "";
  /** `null` before it was asked. */
  #passesWhole: boolean | null = null;

  constructor(passes: (text: string) => boolean) {
    this.#passes = passes;
  }

  /**
   * Called before events of a text are judged, for the same text as often as the caller likes. The text is kept even
   * where an equal one came before: the runtime compares a text with itself at once, but equal texts character by
   * character.
   */
  begin(text: string): void {
    if (text !== this.#text) this.#passesWhole = null;
    this.#text = text;
  }

  /** Whether the event between two positions of the text may pass. */
  passes(start: number, end: number): boolean {
    this.#passesWhole ??= this.#passes(this.#text);
    return this.#passesWhole || this.#passes(this.#text.slice(start, end));
  }
}
