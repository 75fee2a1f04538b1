// Repeatable randomness, of one seed for each run, which is printed. An ordinary run draws the same each time, because a run should fail for what was changed
// since the run before; one with --long draws a seed of its own. DRAGOMAN_TEST_SEED plays the draws of another run; tests that play a list of seeds then play
// that one.

const ORDINARY_SEED = 808;

/** Of every draw at random in this process. */
export const runSeed: number = ((): number => {
  const given = Bun.env["DRAGOMAN_TEST_SEED"] ?? Bun.env["DRAGOMAN_RUN_SEED"];
  return given === undefined ? ORDINARY_SEED : Number(given);
})();

/** The seed of this run, printed so that a failed test can be repeated. */
export function printedSeed(name: string): number {
  console.log(`seed of ${name}: ${runSeed}`);
  return runSeed;
}

export interface Chance {
  /** A whole number from 0 up to, not including, `bound`. */
  below(bound: number): number;
  pick<T>(from: readonly T[]): T;
  /** True so often in a thousand. */
  perMille(of: number): boolean;
}

/** xorshift32: https://www.jstatsoft.org/article/view/v008i14 */
export function chanceOf(seed: number): Chance {
  let state = (Math.imul(seed, 2_654_435_761) ^ 0x9e3779b9) >>> 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
  for (let n = 0; n < 5; n++) next();
  const below = (bound: number): number => Math.floor(next() * bound);
  return { below, pick: (from) => from[below(from.length)]!, perMille: (of) => below(1000) < of };
}

export function seedsFrom(first: number, count: number): readonly number[] {
  const given = process.env["DRAGOMAN_TEST_SEED"];
  return given !== undefined ? [Number(given)] : Array.from({ length: count }, (_, index) => first + index);
}
