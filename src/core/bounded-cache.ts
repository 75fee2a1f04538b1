// A map with a bound, for what is made again when it is gone. Names that callers choose may fill it, and never more than that.

export class BoundedCache<Key, Value> {
  readonly #max: number;
  readonly #entries = new Map<Key, Value>();

  /** `max`: how many entries it holds. With one more, the entry that was set first goes. */
  constructor(max: number) {
    this.#max = max;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  /** An entry that is set again counts as the newest. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#max) this.#entries.delete(this.#entries.keys().next().value!);
    this.#entries.set(key, value);
  }

  /** Keeps what `make` returns, unless it throws. An undefined value is made again each time. */
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
