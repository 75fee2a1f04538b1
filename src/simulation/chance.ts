// Reproducible random numbers (mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c): the
// same seed gives the same numbers.

/** Returns numbers from 0 to below 1. */
export function chanceOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b_79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
