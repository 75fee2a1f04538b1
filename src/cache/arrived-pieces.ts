// What has arrived of a response that several calls read, each at its own pace.
import { GatewayError } from "../core/errors.ts";

export class ArrivedPieces {
  readonly #pieces: Uint8Array[] = [];
  /** The pieces before this place are gone. */
  #dropped = 0;
  #bytes = 0;

  /** Of the pieces that are not gone. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How many pieces have arrived, with those that are gone. */
  get count(): number {
    return this.#dropped + this.#pieces.length;
  }

  add(piece: Uint8Array): void {
    // a driver may use the memory of a piece again once the next one is read
    this.#pieces.push(piece.slice());
    this.#bytes += piece.length;
  }

  /** Undefined when the piece has not arrived. Throws `gateway_overloaded` when it is gone. */
  at(place: number): Uint8Array | undefined {
    if (place < this.#dropped) throw tooSlow();
    return this.#pieces[place - this.#dropped];
  }

  /** The first `count` pieces as one; `null` when some of them are gone. */
  joined(count: number): Uint8Array | null {
    if (this.#dropped > 0) return null;
    return count === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces.slice(0, count));
  }

  /** Drops the pieces before `place`, and further ones while all together have more than `maxBytes`. */
  dropBefore(place: number, maxBytes: number): void {
    while (this.#pieces.length > 0 && (this.#dropped < place || this.#bytes > maxBytes)) {
      this.#bytes -= this.#pieces.shift()!.length;
      this.#dropped += 1;
    }
  }
}

function tooSlow(): GatewayError {
  return new GatewayError(
    "gateway_overloaded",
    "The answer is shared with other calls, and this client read so slowly that its part could not be held any longer.",
  );
}
