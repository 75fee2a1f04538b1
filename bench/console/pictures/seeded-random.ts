// Random numbers that are the same at each run: of one's own, and those of which the gateway makes ids and secrets.

/** Numbers from 0 to below 1. https://gist.github.com/tommyettinger/46a874533244883189143505d203312c */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** From here on, the random bytes of this process are no secret: for made data only. */
export function fixRandomBytes(seed: number): void {
  const random = seededRandom(seed);
  const fill = <T extends ArrayBufferView>(array: T): T => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    for (let index = 0; index < bytes.length; index++) bytes[index] = Math.floor(random() * 256);
    return array;
  };
  Object.defineProperty(crypto, "getRandomValues", { value: fill });
}
