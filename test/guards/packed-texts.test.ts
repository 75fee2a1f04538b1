// Texts come out of the block of memory, in which they are passed to another thread, as they went into it.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { packTexts, unpackTexts } from "../../src/guards/packed-texts.ts";
import { drawCount } from "../harness/time/long-run.ts";

/** Of the lengths at which packing changes its way, with characters of one and more bytes, and halves of characters. */
const text = fc.string({
  unit: fc.constantFrom("a", "a", "a", "\0", "\u007F", "\u0080", "é", "😀", "\uD800"),
  maxLength: 40,
});
const texts = fc.array(fc.oneof(text, fc.string({ unit: "grapheme-ascii", minLength: 30, maxLength: 34 })));

test("[d3.3] texts that are packed for another thread are the same there, in their order", () => {
  fc.assert(
    fc.property(texts, texts, fc.nat(5), (plain, json, inJson) => {
      const replaceable = Math.max(0, plain.length - 1);
      const there = unpackTexts(structuredClone(packTexts({ plain, json, replaceable, inJson })));
      expect(there).toEqual({ plain, json, replaceable, inJson });
    }),
    { numRuns: drawCount(200, 5000) },
  );
});
