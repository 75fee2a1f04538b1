// The estimate of tokens: the quick way for long texts counts as the slow one does.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { newTally, tally, tokensOf } from "../../src/accounting/estimate.ts";
import { printedSeed } from "../routing/chance.ts";

const seed = printedSeed("estimate");

test("a text counts the same whole and cut into short pieces, also where a pair of surrogates is torn", () => {
  const character = fc.constantFrom("a", " ", "\u007f", "\u0080", "é", "字", "😀", "\ud83d", "\ude00");
  const text = fc
    .tuple(fc.array(character, { maxLength: 700 }), fc.boolean())
    .map(([all, isAscii]) => (isAscii ? "a".repeat(all.length) : all.join("")));
  fc.assert(
    fc.property(text, (whole) => {
      const [once, pieces] = [newTally(), newTally()];
      tally(once, whole);
      for (let at = 0; at < whole.length; at += 100) tally(pieces, whole.slice(at, at + 100));
      expect(once).toEqual(pieces);
    }),
    { seed, numRuns: 500 },
  );
  const counted = newTally();
  tally(counted, "abcd".repeat(1_000));
  expect(tokensOf(counted)).toBe(1_000);
});
