// Thousands of short simulations with faults, in virtual time: no limit is exceeded, and nothing stays charged that was not used. Each of eight faults that such a protocol has
// when it is almost right is planted, and found. DRAGOMAN_TEST_SEED=<seed> repeats one world.
import { describe, expect, test } from "bun:test";
import { seedsFrom } from "../harness/time/chance.ts";
import { simulateLocalShare } from "./simulation/local-share.ts";
import { type PlantedFault, simulate } from "./simulation/world.ts";
import { drawCount } from "../harness/time/long-run.ts";

const WORLDS = drawCount(250, 2000);
/** Within so many worlds each planted fault has to show. */
const WORLDS_A_FAULT = 3000;

const PLANTED: readonly PlantedFault[] = [
  "surplus into the pocket",
  "guessing for the dead",
  "life from receipt",
  "monotonic clock asleep",
  "old epoch trusted",
  "window by fixed bucket",
  "refusal keeps the other account",
  "asked for by the dead",
];

describe("replicas that lease parts of limits", () => {
  test("[d4.2] never admit more than a limit, leave nothing charged that was not used and lose nothing that was, whatever dies, is suspended, is cut off or comes back", () => {
    const sums = { admitted: 0, refused: 0, atOnce: 0 };
    for (const seed of seedsFrom(1, WORLDS)) {
      const { fault, admitted, refused, leased } = simulate(seed);
      if (fault !== null) throw new Error(`DRAGOMAN_TEST_SEED=${seed}: ${fault}`);
      sums.admitted += admitted;
      sums.refused += refused;
      sums.atOnce += leased;
    }
    if (process.env["DRAGOMAN_TEST_SEED"] !== undefined) return;
    // the worlds are such that much happens in them
    expect(sums.admitted).toBeGreaterThan(WORLDS * 50);
    expect(sums.refused).toBeGreaterThan(WORLDS * 50);
    expect(sums.atOnce).toBeGreaterThan(WORLDS * 10);
  });

  test("are the same for the same seed", () => {
    expect(simulate(7)).toEqual(simulate(7));
  });

  test.each(PLANTED)("a planted fault is found: %s", (planted) => {
    const found = seedsFrom(1, WORLDS_A_FAULT).find((seed) => simulate(seed, planted).fault !== null);
    if (process.env["DRAGOMAN_TEST_SEED"] === undefined) expect(found).toBeDefined();
  });
});

const CUT_WORLDS = drawCount(100, 300);
describe("replicas that are cut off or lack CPU, under `local_share`", () => {
  test("[d4.2] decide nothing alone while the store is available, however slow its answers; cut off, they admit alone at most their share of what they knew to be left, and of the limit in any window: at the worst as much again as the limit over all", () => {
    const sums = { alone: 0, excess: 0 };
    for (const seed of seedsFrom(1, CUT_WORLDS)) {
      const { fault, alone, excess } = simulateLocalShare(seed);
      if (fault !== null) throw new Error(`DRAGOMAN_TEST_SEED=${seed}: ${fault}`);
      // and what each share is rounded up by
      expect(excess).toBeLessThanOrEqual(1.2);
      sums.alone += alone;
      sums.excess = Math.max(sums.excess, excess);
    }
    if (process.env["DRAGOMAN_TEST_SEED"] !== undefined) return;
    expect(sums.alone).toBeGreaterThan(CUT_WORLDS * 10);
    // the bound is stated because it is needed
    expect(sums.excess).toBeGreaterThan(0.2);
  });

  test("a share that is not divided is found", () => {
    const found = seedsFrom(1, CUT_WORLDS).find((seed) => simulateLocalShare(seed, "no division").fault !== null);
    if (process.env["DRAGOMAN_TEST_SEED"] === undefined) expect(found).toBeDefined();
  });
});
