// Remembers where a text was masked, and converts positions in the original text to positions in the masked text.

interface MaskedPlace {
  readonly start: number;
  end: number;
  /** The length of the text in its place. */
  length: number;
  /** By how much the text before it is longer in the masked text. */
  readonly shift: number;
}

/** When there are more, the last place is extended over all further ones, and the text between them counts as masked. */
const MOST = 10_000;

export class MaskedPlaces {
  readonly #all: MaskedPlace[] = [];

  /** Places are added in the order of the text. */
  add(start: number, end: number, length: number): void {
    const last = this.#all.at(-1);
    if (last === undefined || this.#all.length < MOST)
      this.#all.push({ start, end, length, shift: last === undefined ? 0 : shiftBehind(last) });
    else {
      last.length += start - last.end + length;
      last.end = end;
    }
  }

  /** Moves a position at which something begins or ends; what begins or ends in masked text has the whole mask. */
  moved(position: number, side: "start" | "end"): number {
    const place = this.#lastBefore(position);
    if (place === undefined) return position;
    if (position >= place.end) return position + shiftBehind(place);
    return place.start + place.shift + (side === "end" ? place.length : 0);
  }

  /** Returns the last place that begins before a position. */
  #lastBefore(position: number): MaskedPlace | undefined {
    let from = 0;
    let to = this.#all.length;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.#all[middle]!.start < position) from = middle + 1;
      else to = middle;
    }
    return this.#all[from - 1];
  }
}

function shiftBehind({ start, end, length, shift }: MaskedPlace): number {
  return shift + length - (end - start);
}
