// How the texts of a question are divided among the requests to a service.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { batchesOf } from "../../src/guards/outside/text-batches.ts";
import { codePointSpans, quotedIn } from "../../src/providers/interface/judging-form.ts";
import { drawCount } from "../harness/time/long-run.ts";

const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n"), maxLength: 1500 });

test("[d16.4] no request has more than it takes, no character is divided, and each stretch of 200 characters is in one part", () => {
  fc.assert(
    fc.property(
      fc.array(text, { maxLength: 5 }),
      fc.integer({ min: 600, max: 900 }),
      fc.integer({ min: 1, max: 3 }),
      (texts, maxCharacters, maxTexts) => {
        const batches = batchesOf(texts, { maxTexts, maxCharacters });
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(maxTexts);
          expect(batch.reduce((sum, { part }) => sum + part.length, 0)).toBeLessThanOrEqual(maxCharacters);
        }
        const parts = batches.flat();
        for (const { text: index, offset, part } of parts) {
          expect(texts[index]!.startsWith(part, offset)).toBe(true);
          expect(part.isWellFormed()).toBe(true);
        }
        for (const [index, whole] of texts.entries())
          for (let start = 0; start === 0 || start + 200 <= whole.length; start += 50) {
            const end = Math.min(whole.length, start + 200);
            const holds = parts.some(
              ({ text: of, offset, part }) => of === index && offset <= start && end <= offset + part.length,
            );
            expect([index, start, holds]).toEqual([index, start, true]);
          }
      },
    ),
    { numRuns: drawCount(30, 500) },
  );
});

test("[d16.4] half of a surrogate pair is sent as one replacement character, so that places stay the same", () => {
  const bounds = { maxTexts: 10, maxCharacters: 1000 };
  expect(batchesOf(["\udc00a\ud83d", "😀\ud83d😀"], bounds).flat()).toEqual([
    { text: 0, offset: 0, part: "\ufffda\ufffd" },
    { text: 1, offset: 0, part: "😀\ufffd😀" },
  ]);
});

test("[d16.4] places in code points are those of the same characters in the text", () => {
  fc.assert(
    fc.property(text, fc.nat(1500), fc.integer({ min: 1, max: 20 }), (whole, at, length) => {
      const points = Array.from(whole);
      const [start, end] = [Math.min(at, points.length), Math.min(at, points.length) + length];
      if (end > points.length) {
        expect(() => codePointSpans(whole)(start, end)).toThrow("outside of its text");
        return;
      }
      const span = codePointSpans(whole)(start, end);
      expect(whole.slice(span.start, span.end)).toBe(points.slice(start, end).join(""));
    }),
    { numRuns: drawCount(100, 2000) },
  );
});

test("[d16.4] what a service quotes is found wherever it stands, and else concerns the whole text", () => {
  const spans = (quoted: unknown): readonly unknown[] => quotedIn("ab ab")(quoted, "X").map(({ span }) => span);
  expect(spans("ab")).toEqual([
    { start: 0, end: 2 },
    { start: 3, end: 5 },
  ]);
  expect(["AB", "", undefined, 7].map(spans)).toEqual([[null], [null], [null], [null]]);
});

test("[d16.4] what is quoted again with the same name adds nothing, and more findings than can be used are no verdict", () => {
  // a service that reports each of 2,000 words quotes the same word as often
  const quoted = quotedIn("ab ".repeat(2000));
  expect(Array.from({ length: 2000 }, () => quoted("ab", "X")).flat()).toHaveLength(2000);
  expect(quoted("ab", "Y")).toHaveLength(2000);
  expect(() => quotedIn("a".repeat(20_001))("a", "X")).toThrow("more findings than can be used");
  const many = quotedIn("b".repeat(100_000));
  expect(() => {
    for (let index = 0; index < 1000; index += 1) many(`a${index}`, "X");
  }).toThrow("more findings than can be used");
});

test("[d16.4] the places of many findings in a long text cost little more than to read it", () => {
  const long = "😀".repeat(131_072);
  const took = (work: () => void): number => {
    const beganMs = performance.now();
    work();
    return performance.now() - beganMs;
  };
  const span = codePointSpans(long);
  const manyMs = took(() => {
    for (let index = 0; index < 20_000; index += 1) span(131_071 - (index % 100), 131_072);
  });
  const readMs = took(() => {
    for (let index = 0; index < 200; index += 1) Array.from(long);
  });
  expect(manyMs).toBeLessThan(readMs);
});
