// The seed of a run, which is printed so that a failed run can be repeated with DRAGOMAN_TEST_SEED.

export function printedSeed(name: string): number {
  const given = Bun.env["DRAGOMAN_TEST_SEED"];
  const seed = given === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(given);
  console.log(`seed of ${name}: ${seed}`);
  return seed;
}
