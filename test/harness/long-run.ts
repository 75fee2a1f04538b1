// The number of draws of a random test: few in an ordinary run, and all with `npm test -- --long`.

export const isLongRun = Bun.env["DRAGOMAN_TEST_LONG"] === "1";

/** The number of draws of this run. */
export const drawCount = (ordinary: number, long: number): number => (isLongRun ? long : ordinary);
