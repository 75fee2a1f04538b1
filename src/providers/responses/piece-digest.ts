// What the pieces of a text add up to, without the text: its length and a digest, by which a whole text can be found to
// begin with the pieces or not. FNV-1a in two lanes: http://www.isthe.com/chongo/tech/comp/fnv/
export class PieceDigest {
  #length = 0;
  // two fields in place of a pair, because pieces are many and short
  #one = FIRST_ONE;
  #other = FIRST_OTHER;

  get length(): number {
    return this.#length;
  }

  /** What differs where the texts do. */
  get name(): string {
    return `${this.#one} ${this.#other}`;
  }

  add(piece: string): void {
    this.#take(piece, piece.length);
  }

  begins(whole: string): boolean {
    if (whole.length < this.#length) return false;
    const beginning = new PieceDigest();
    beginning.#take(whole, this.#length);
    return beginning.#one === this.#one && beginning.#other === this.#other;
  }

  /** Takes the first `length` UTF-16 units of the text. The lanes mix the same units with other factors. */
  #take(text: string, length: number): void {
    let one = this.#one;
    let other = this.#other;
    for (let at = 0; at < length; at++) {
      const unit = text.charCodeAt(at);
      one = Math.imul(one ^ unit, 0x0100_0193);
      other = Math.imul((other << 13) | (other >>> 19), 5) ^ Math.imul(unit + 1, 0x85eb_ca6b);
    }
    this.#one = one;
    this.#other = other;
    this.#length += length;
  }
}

/** Longer texts are not kept to be compared, and of one that is longer still only both ends are looked at. */
const MOST_REMEMBERED = 1024;
const MOST_LOOKED_AT = 32_768;

/** Returns a text, or in place of a long one its length and a digest, by which it is known again. */
export function rememberedText(text: string): string {
  if (text.length <= MOST_REMEMBERED) return text;
  const digest = new PieceDigest();
  digest.add(text.slice(0, MOST_LOOKED_AT));
  if (text.length > MOST_LOOKED_AT) digest.add(text.slice(Math.max(MOST_LOOKED_AT, text.length - MOST_LOOKED_AT)));
  return `${text.length} ${digest.name}`;
}

const FIRST_ONE = 0x811c_9dc5 | 0;
const FIRST_OTHER = 0x9e37_79b9 | 0;
