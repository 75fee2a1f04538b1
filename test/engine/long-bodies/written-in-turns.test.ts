// Long texts and JSON values with long texts (promise 5.8), at random: writing them in turns gives what writing them at
// once gives.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { jsonInTurns, textInTurns } from "../../../src/engine/long-bodies/written-in-turns.ts";
import { parseJson } from "../../../src/wire/json/json.ts";

/** Repeated, some of these are long, and some are longer than what is written in one turn. */
const text = fc
  .tuple(
    fc.array(fc.constantFrom("a", '"', "\\", "\n", "é", "🍵", "\ud83c", "\udf75", "\u2028", "word "), { maxLength: 6 }),
    fc.constantFrom(1, 1, 300, 5000, 150_000),
  )
  .map(([pieces, times]) => JSON.stringify(pieces.join("").repeat(times)));
const name = fc.constantFrom('"a"', '"b"', '"0"', '"__proto__"', '"constructor"', '"é"');
/** JSON, in which numbers keep all of their digits. */
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    { weight: 3, arbitrary: text },
    fc.constantFrom("null", "true", "0", "-1.5", "12345678901234567890", "1e400", "1.10"),
    fc.array(tie("value"), { maxLength: 5 }).map((items) => `[${items.join(",")}]`),
    fc
      .uniqueArray(fc.tuple(name, tie("value")), { maxLength: 5, selector: ([key]) => key })
      .map((members) => `{${members.map(([key, member]) => `${key}:${member}`).join(",")}}`),
  ),
}));

describe("a value with long texts", () => {
  test("[d5.8] is written in turns as it is in one piece", async () => {
    await fc.assert(
      fc.asyncProperty(value, async (json) => {
        const given = parseJson(json);
        expect(Buffer.from(JSON.stringify(given)).equals(await jsonInTurns(given))).toBe(true);
        expect(Buffer.from(json).equals(await textInTurns(json))).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("[d5.8] lets other work have its turns while it is written", async () => {
    const long = "word ".repeat(1_000_000);
    for (const write of [() => jsonInTurns({ a: long }), () => textInTurns(long)]) {
      let turns = 0;
      let isWritten = false;
      const writing = write().then(() => (isWritten = true));
      while (!isWritten) {
        await new Promise((resume) => setImmediate(resume));
        turns++;
      }
      await writing;
      expect(turns).toBeGreaterThan(9);
    }
  });
});
