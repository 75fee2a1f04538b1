// The string values of a JSON text, and the parts of them that a stretch of it covers.
import { expect, test } from "bun:test";
import fc from "fast-check";
import { partOf, stringsOf } from "../../src/guards/json-strings.ts";
import { drawCount } from "../harness/time/long-run.ts";

test("names are left out, and texts are decoded", () => {
  const json = '{"a": "one", "b\\"c" : {"d":["\\u00e9\\n", "", 5]}}';
  expect([...stringsOf(json)].map(({ text }) => text)).toEqual(["one", "é\n", ""]);
});

test("a stretch covers the part of a text that its characters are in", () => {
  const json = JSON.stringify({ a: 'x"y\nz', b: "other" });
  const [first, second] = [...stringsOf(json)];
  const at = json.indexOf("y");
  expect(partOf(json, first!, { start: at, end: at + 1 })).toEqual({ start: 2, end: 3 });
  expect(partOf(json, first!, { start: 0, end: json.length })).toEqual({ start: 0, end: 5 });
  // half of an escape stands for all of it
  expect(partOf(json, first!, { start: at + 2, end: at + 3 })).toEqual({ start: 3, end: 4 });
  expect(partOf(json, second!, { start: at, end: at + 1 })).toBeNull();
});

test("every part is what the stretch says", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: "binary" }), { minLength: 1, maxLength: 4 }),
      fc.nat(),
      fc.nat(),
      (texts, from, length) => {
        const json = JSON.stringify(texts);
        const strings = [...stringsOf(json)];
        expect(strings.map(({ text }) => text)).toEqual(texts);
        const one = strings[0]!;
        const start = one.start + (from % (one.end - one.start + 1));
        const end = start + (length % (one.end - start + 1));
        const part = partOf(json, one, { start, end });
        if (part === null) return;
        expect(part.start).toBeLessThan(part.end);
        expect(part.end).toBeLessThanOrEqual(one.text.length);
        const written = JSON.stringify(one.text.slice(part.start, part.end)).slice(1, -1);
        if (one.text.isWellFormed() && one.text.slice(part.start, part.end).isWellFormed())
          expect(written).toContain(json.slice(start, end));
      },
    ),
    { numRuns: drawCount(200, 5000) },
  );
});
