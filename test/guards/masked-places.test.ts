// Positions of a text are moved to where they stand once parts of it were masked, as an independent walk finds them.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { MaskedPlaces } from "../../src/guards/masked-places.ts";
import { printedSeed } from "../harness/time/chance.ts";

const seed = printedSeed("masked places");

test("[d3.3] a position outside of masks moves with its character, and one inside has the whole mask", () => {
  const parts = fc.array(fc.record({ plain: fc.nat(5), masked: fc.integer({ min: 1, max: 5 }), mask: fc.nat(8) }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(parts, (all) => {
      const places = new MaskedPlaces();
      const expected: (readonly [position: number, start: number, end: number])[] = [];
      let [at, shown] = [0, 0];
      for (const { plain, masked, mask } of all) {
        for (let index = 0; index < plain; index++) expected.push([at + index, shown + index, shown + index]);
        [at, shown] = [at + plain, shown + plain];
        expected.push([at, shown, shown]);
        for (let index = 1; index < masked; index++) expected.push([at + index, shown, shown + mask]);
        places.add(at, at + masked, mask);
        [at, shown] = [at + masked, shown + mask];
      }
      expected.push([at, shown, shown], [at + 7, shown + 7, shown + 7]);
      for (const [position, start, end] of expected)
        expect([places.moved(position, "start"), places.moved(position, "end")]).toEqual([start, end]);
    }),
    { seed, numRuns: 300 },
  );
});

test("[d5.8] of very many masks the last ones count as one, and what is behind them still moves exactly", () => {
  const places = new MaskedPlaces();
  for (let mask = 0; mask < 50_000; mask++) places.add(10 * mask, 10 * mask + 4, 6);
  expect(places.moved(10 * 5_000 + 5, "start")).toBe(10 * 5_000 + 5 + 2 * 5_001);
  expect(places.moved(500_000, "start")).toBe(500_000 + 2 * 50_000);
  expect(places.moved(10 * 30_000 + 5, "start")).toBe(10 * 9_999 + 2 * 9_999);
});
