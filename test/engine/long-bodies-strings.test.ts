// Long strings of providers, which are read apart from the rest and in pieces, against the runtime's own reading in one.
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

test("[d5.8] many strings that are read apart stand where they stood, between others that are not", async () => {
  const strings = fc.array(
    fc.tuple(UNIT, fc.integer({ min: 1, max: 3_000 })).map(([unit, count]) => unit.repeat(count)),
    { minLength: 1, maxLength: 40 },
  );
  await fc.assert(
    fc.asyncProperty(strings, async (all) => {
      const items = all.map((one, index) => (index % 3 === 0 ? `{"i":${index},"t":"${one}"}` : `"${one}"`));
      const text = `[${items.join(",")},12345678901234567890,"${"z".repeat(LONG_TEXT)}"]`;
      const expected = JSON.parse(text.replace("12345678901234567890", "0")) as readonly Json[];
      const read = (await valueInTurns(text, "The text")) as readonly Json[];
      expect(JSON.stringify(read.toSpliced(-2, 1)) === JSON.stringify(expected.toSpliced(-2, 1))).toBe(true);
      expect(JSON.stringify(read.at(-2))).toBe("12345678901234567890");
    }),
    { numRuns: 25 },
  );
});

test("[d5.8] a text with a long string that is no JSON is left to the decoder", async () => {
  const long = `${"word \\n".repeat(50_000)}${"x".repeat(LONG_TEXT)}`;
  const shorter = "word \\n".repeat(2_000);
  for (const text of [
    `["${"x".repeat(LONG_TEXT)}","${shorter}\\q"]`,
    `["${"x".repeat(LONG_TEXT)}","${shorter}\n"]`,
    `["${"x".repeat(LONG_TEXT)}","${shorter}`,
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
