// What the pieces of a text add up to, without the text: its length and a digest, by which a whole text can be found to
// begin with the pieces or not. FNV-1a in two lanes: http://www.isthe.com/chongo/tech/comp/fnv/
export class PieceDigest {
  #length = 0;
  #lanes: Lanes = [0x811c_9dc5 | 0, 0x9e37_79b9 | 0];

  get length(): number {
    return this.#length;
  }

  add(piece: string): void {
    this.#lanes = lanesOf(this.#lanes, piece, piece.length);
    this.#length += piece.length;
  }

  begins(whole: string): boolean {
    if (whole.length < this.#length) return false;
    const [one, other] = lanesOf(new PieceDigest().#lanes, whole, this.#length);
    return one === this.#lanes[0] && other === this.#lanes[1];
  }
}

type Lanes = readonly [number, number];

/** Takes the first `length` UTF-16 units of the text. The lanes mix the same units with other factors. */
function lanesOf([one, other]: Lanes, text: string, length: number): Lanes {
  for (let at = 0; at < length; at++) {
    const unit = text.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x0100_0193);
    other = Math.imul((other << 13) | (other >>> 19), 5) ^ Math.imul(unit + 1, 0x85eb_ca6b);
  }
  return [one, other];
}
