// Where a text was masked: what stands at a position of the text as it was is elsewhere in the masked text.

interface Masked {
  readonly start: number;
  readonly end: number;
  /** The length of the text in its place. */
  readonly length: number;
}

export class MaskedPlaces {
  readonly #all: Masked[] = [];

  /** In the order of the text. */
  add(start: number, end: number, length: number): void {
    this.#all.push({ start, end, length });
  }

  /** Moves a position at which something begins or ends; what begins or ends in masked text has the whole mask. */
  moved(position: number, side: "start" | "end"): number {
    let shift = 0;
    for (const { start, end, length } of this.#all) {
      if (position <= start) break;
      if (position < end) return start + shift + (side === "end" ? length : 0);
      shift += length - (end - start);
    }
    return position + shift;
  }
}
