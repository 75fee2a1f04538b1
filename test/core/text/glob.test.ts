// Globs: what they match, and that no pattern makes a text costly.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileGlob } from "../../../src/core/text/glob.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";

describe("a glob", () => {
  test("is the text itself, with * for any text, also none", () => {
    const cases: readonly (readonly [pattern: string, text: string, matches: boolean])[] = [
      ["openai:gpt-5", "openai:gpt-5", true],
      ["openai:gpt-5", "openai:gpt-5-mini", false],
      ["openai:*", "openai:", true],
      ["openai:*", "openai:o3", true],
      ["openai:*", "openaix:o3", false],
      ["*", "", true],
      ["*", "anything", true],
      ["*mini", "openai:gpt-5-mini", true],
      ["*mini", "mini2", false],
      ["a*b*c", "abc", true],
      ["a*b*c", "axxbyyc", true],
      ["a*b*c", "acb", false],
      ["ab*ba", "aba", false],
      ["ab*ba", "abba", true],
      ["a**b", "ab", true],
      ["", "", true],
      ["", "a", false],
      ["a.c", "abc", false],
      ["[a]?", "a", false],
      ["*a*", "bab", true],
      ["*ab*ab", "ab", false],
      ["*ab*ab", "abab", true],
    ];
    for (const [pattern, text, matches] of cases)
      expect([pattern, text, compileGlob(pattern)(text)]).toEqual([pattern, text, matches]);
  });

  test("agrees with the equivalent regular expression", () => {
    const word = fc.string({ unit: fc.constantFrom("a", "b", "*"), maxLength: 8 });
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 10 });
    fc.assert(
      fc.property(
        word,
        text,
        (pattern, given) =>
          compileGlob(pattern)(given) === new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(given),
      ),
      { numRuns: 3000 },
    );
  });

  test("is quick where a backtracking one would never end", async () => {
    const glob = compileGlob(`${"a*".repeat(100)}b*c`);
    expect(await growth((size) => `${"a".repeat(size)}c`, glob, 256)).toBeLessThan(MOST_GROWTH);
  });
});
