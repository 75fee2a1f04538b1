// Long strings of providers, which are read in pieces, against the runtime's own reading in one.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { LONG_TEXT, valueInTurns } from "../../src/engine/long-bodies/read-in-turns.ts";
import type { Json } from "../../src/core/json.ts";

/** Pieces of strings as they are written: escapes of each length, halves of a pair, and what looks like an escape. */
const UNIT = fc.constantFrom(
  "word ",
  "\\n",
  '\\"',
  "\\\\",
  "\\u00e9",
  "\\ud83d\\ude00",
  "\\ud83d",
  "é",
  "😀",
  "u0041",
  "x",
);
const FORM = fc.record({
  units: fc.array(UNIT, { minLength: 1, maxLength: 7 }),
  shift: fc.nat(12),
  times: fc.integer({ min: 1, max: 3 }),
});
type Form = typeof FORM extends fc.Arbitrary<infer T> ? T : never;

function written({ units, shift, times }: Form): string {
  const unit = units.join("");
  const count = Math.min(400_000 / units.length, (times * LONG_TEXT) / unit.length);
  return "y".repeat(shift) + unit.repeat(Math.ceil(count)) + "z".repeat(LONG_TEXT);
}

test("[d5.8] a long string that is read in pieces is the one that the runtime reads at once, whatever is cut", async () => {
  await fc.assert(
    fc.asyncProperty(FORM, FORM, async (one, other) => {
      const text = `{"a":"${written(one)}","n":[123456789012345678901],"in":[{"b":"${written(other)}"}],"short":"\\n"}`;
      const read = (await valueInTurns(text, "The text")) as Record<string, Json> | undefined;
      const expected = JSON.parse(text) as { readonly a: string; readonly in: Json };
      expect(read?.["a"] === expected.a).toBe(true);
      expect(JSON.stringify(read?.["in"]) === JSON.stringify(expected.in)).toBe(true);
      expect([JSON.stringify(read?.["n"]), read?.["short"]]).toEqual(["[123456789012345678901]", "\n"]);
    }),
    { numRuns: 25 },
  );
});

test("[d5.8] a text with a long string that is no JSON is left to the decoder", async () => {
  const long = `${"word \\n".repeat(50_000)}${"x".repeat(LONG_TEXT)}`;
  for (const text of [
    `"${long}`,
    `{"a":"${long}`,
    `{"a":"${long}\\"`,
    `{"a":"${long}\\u12"}`,
    `{"a":"${long}\\q"}`,
    `{"a":"${long}\n"}`,
    `{"a":"${long}",}`,
    `{"a":"${long}"`,
  ])
    expect(await valueInTurns(text, "The text")).toBeUndefined();
});

test("a long name is no value", async () => {
  const name = `${"n\\n".repeat(1000)}${"x".repeat(LONG_TEXT)}`;
  const text = `{"${name}": "v", "w": ["${name}"]}`;
  expect((await valueInTurns(text, "The text")) as object).toEqual(JSON.parse(text) as object);
});
