// The number of draws of a random test: few in an ordinary run, and all with `npm test -- --long`.
import { chanceOf, printedSeed } from "./chance.ts";

export const isLongRun = Bun.env["DRAGOMAN_TEST_LONG"] === "1";

/** The number of draws of this run. */
export const drawCount = (ordinary: number, long: number): number => (isLongRun ? long : ordinary);

/** One of the parts of a test that takes long, by the seed of the run, and all of them in a long run. The titles name the part. */
export const drawnParts = <Part>(name: string, parts: readonly Part[]): readonly Part[] =>
  isLongRun ? parts : [chanceOf(printedSeed(name)).pick(parts)];
