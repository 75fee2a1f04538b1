// The pieces of a text that a decoder did not see as events, because each differed from the one before only in its piece
// (`growth` of a decoder). They are added together with the next event, which costs less than adding each.

/** In characters. */
const MOST_WAITING = 65_536;

export class GrownText {
  #waiting = "";
  readonly #add: (text: string) => void;

  /** `add` takes pieces that may as well have come as one. */
  constructor(add: (text: string) => void) {
    this.#add = add;
  }

  readonly push = (piece: string): void => {
    this.#waiting += piece;
    if (this.#waiting.length > MOST_WAITING) this.flush();
  };

  /** Called before the decoder reads an event. */
  flush(): void {
    const text = this.#waiting;
    this.#waiting = "";
    if (text !== "") this.#add(text);
  }
}
