// The bytes that callers hold together in this process: bounded for all of them, and for each tenant by half of that, so
// that no tenant can fill the memory.
import { changeCount, mostOfTenant } from "./open-count.ts";

export class SharedBytes {
  readonly #ofTenant = new Map<string, number>();
  #all = 0;

  /** Returns false, and then holds none of them, where all tenants together would hold more than `most`, or this one half of it. */
  hold(tenantId: string, bytes: number, most: number): boolean {
    const own = (this.#ofTenant.get(tenantId) ?? 0) + bytes;
    if (this.#all + bytes > most || own > mostOfTenant(most)) return false;
    this.#all += bytes;
    changeCount(this.#ofTenant, tenantId, bytes);
    return true;
  }

  release(tenantId: string, bytes: number): void {
    this.#all -= bytes;
    changeCount(this.#ofTenant, tenantId, -bytes);
  }
}

/** In bytes. What is shorter is not counted, because the number of calls in flight bounds it. */
export const LEAST_HELD_BYTES = 65_536;

/** Counts the bytes of one thing that grows. */
export class GrowingBytes {
  readonly #hold: (bytes: number) => void;
  #bytes = 0;
  #held = 0;

  /** `hold` may throw, and then holds none of the bytes. */
  constructor(hold: (bytes: number) => void) {
    this.#hold = hold;
  }

  /** The bytes that are counted, which have to be released in the end. */
  get held(): number {
    return this.#held;
  }

  /** Called with all bytes so far, of which it counts as many as are worth it. Throws what `hold` throws. */
  grownTo(bytes: number): void {
    this.#bytes = bytes;
    if (bytes - this.#held < LEAST_HELD_BYTES) return;
    this.#hold(bytes - this.#held);
    this.#held = bytes;
  }

  /** Called with the bytes that are new. Throws what `hold` throws. */
  grownBy(bytes: number): void {
    this.grownTo(this.#bytes + bytes);
  }
}
