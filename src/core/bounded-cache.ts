// A map of bounded size, for values that can be made again. Its keys may be names that callers choose, so that it must
// not grow without a bound.

export class BoundedCache<Key, Value> {
  readonly #max: number;
  readonly #entries = new Map<Key, Value>();

  /** `max` is the number of entries that the map holds. One more entry evicts the one that was set first. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** An entry that is set again becomes the newest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#max) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, value);
  }

  /**
   * Stores what `make` returns. If `make` throws, nothing is stored. A value of `undefined` is made again each time.
   */
  getOrMake(key: Key, make: () => Value): Value {
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.set(key, made);
    return made;
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
