// Keys in answers: whole texts in every usual spelling, and texts in pieces against the whole text.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isKey, KeyFinder, keyRemover, KeyWatch, restOf } from "../../../src/core/text/quoted-key.ts";

const KEY = "sk-proj-Ab3_dEf9-ghIJ7klMNop5qrST";
const inPieces = (key: string, pieces: readonly string[]): readonly string[] => {
  const watch = new KeyWatch(new KeyFinder([key]));
  return [...pieces.map((piece) => watch.push(piece)), watch.end()];
};
/** The first characters of a key may have left before it was one. */
function withoutBeginnings(text: string, key: string): string {
  const clean = Array.from({ length: 8 }, (_, at) => key.slice(0, 8 - at)).reduce(
    (shown, beginning) => shown.replaceAll(`${beginning}[credential]`, "[credential]"),
    text,
  );
  return clean === text ? text : withoutBeginnings(clean, key);
}

describe("a key", () => {
  test("is long, of letters and digits, and neither path nor address", () => {
    expect([KEY, "0123456789abcdef", "AKIA/0123+456789abc="].map(isKey)).toEqual([true, true, true]);
    expect(
      [
        "lm-studio",
        "not-needed",
        "sk-no-key-required",
        "/usr/lib/node-18/bin/node",
        "./a0123456789bcdef",
        "https://host.example/0123456789",
        "0123456789012345",
        "short-1",
      ].map(isKey),
    ).toEqual(Array.from({ length: 8 }, () => false));
  });

  test("is taken out of a text in every usual spelling, and nothing else is changed", () => {
    const bytes = Buffer.from(KEY);
    for (const spelled of [
      KEY,
      KEY.toUpperCase(),
      Array.from(KEY).toReversed().join(""),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      bytes.toString("base64"),
      Buffer.from(`x${KEY}y`).toString("base64"),
      Buffer.from(`xy${KEY}`).toString("base64url"),
    ]) {
      const clean = keyRemover([KEY])(`{"content":"it is ${spelled}, then ${spelled}"}`);
      expect(clean).toMatch(/^\{"content":"it is .{0,4}\[credential\].{0,6}, then .{0,4}\[credential\].{0,6}"\}$/);
      expect(JSON.parse(clean)).toBeDefined();
    }
    expect(keyRemover([KEY])("nothing of the kind")).toBe("nothing of the kind");
    const base64 = "AKIA/0123+456789abc=";
    expect(keyRemover([base64])(String.raw`it is AKIA\/0123+456789abc=`)).toBe("it is [credential]");
  });

  test("is found in a text of any other letters, wherever it stands", () => {
    const keys = ["aab1aab1aab1aabX", "abababababababac9", KEY];
    const letters = fc.string({
      unit: fc.constantFrom("a", "b", "1", "X", "c", "s", "k", "-", "\u0161"),
      maxLength: 60,
    });
    fc.assert(
      fc.property(fc.subarray(keys, { minLength: 1 }), letters, letters, fc.boolean(), (some, before, after, holds) => {
        const text = `${before}${holds ? some.at(-1)! : ""}${after}`;
        const clean = keyRemover(some)(text);
        expect(some.some((key) => clean.includes(key))).toBe(false);
        if (!some.some((key) => text.includes(key))) expect(clean).toBe(text);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe("a text in pieces", () => {
  const LONG = "lorem ipsum ".repeat(100);
  const keys = fc.oneof(fc.constant(KEY), fc.constant("aab1aab1aab1aabX"), fc.constant("abababababababac9"));
  test("is what the whole text is without the key, however it is cut", () => {
    fc.assert(
      fc.property(
        keys,
        fc.array(
          fc.oneof(
            fc.constant("KEY"),
            fc.constant("HALF"),
            // pieces of a thousand characters and more are searched in another way
            fc.constant("LONG"),
            fc.constantFrom("a", "b", "1", "ab", "aab1", " ", "sk-", "\u{1f600}", "{"),
          ),
          { maxLength: 12 },
        ),
        fc.array(fc.nat(9_000), { maxLength: 12 }),
        (key, words, cuts) => {
          const text = words
            .map((word) => (word === "KEY" ? key : word === "HALF" ? key.slice(0, 11) : word === "LONG" ? LONG : word))
            .join("");
          const places = [0, ...cuts.map((cut) => cut % (text.length + 1)), text.length].toSorted(
            (one, other) => one - other,
          );
          const pieces = places.slice(1).map((end, at) => text.slice(places[at], end));
          const out = inPieces(key, pieces).join("");
          expect(out).not.toContain(key);
          expect(withoutBeginnings(out, key)).toBe(withoutBeginnings(text.replaceAll(key, "[credential]"), key));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("is the beginning of the whole text, of which the rest is known, however it is cut", () => {
    const word = fc.oneof(fc.constant(KEY), fc.constantFrom("a", "b", "[credential]", " ", "sk-", "\u{1f600}", "{"));
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 8 }),
        fc.string({ unit: fc.constantFrom("x", "y"), maxLength: 9 }),
        fc.nat(40),
        (words, rest, size) => {
          const text = words.join("");
          const pieces = text.match(new RegExp(`.{1,${size + 1}}`, "gsu")) ?? [];
          const shown = inPieces(KEY, pieces).join("");
          expect(restOf(keyRemover([KEY])(text) + rest, shown)).toBe(rest);
          expect(restOf(`z${keyRemover([KEY])(text)}${rest}`, `${shown}.`)).toBeNull();
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("holds no usual spelling of the key either, however it is cut", () => {
    const bytes = Buffer.from(KEY);
    const spellings = [
      KEY.toUpperCase(),
      Array.from(KEY).toReversed().join(""),
      encodeURIComponent(`${KEY}+/`).slice(0, -6),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      bytes.toString("base64"),
      Buffer.from(`x${KEY}y`).toString("base64"),
      Buffer.from(`xy${KEY}`).toString("base64url"),
    ];
    for (const spelled of spellings)
      for (const size of [1, 2, 3, 7, 16, 1000]) {
        const text = `it is ${spelled}, then ${spelled}.`;
        const pieces = Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
          text.slice(at * size, (at + 1) * size),
        );
        const out = inPieces(KEY, pieces).join("");
        expect(out).toMatch(/^it is .{0,12}\[credential\].{0,6}, then .{0,12}\[credential\].{0,6}\.$/);
      }
  });
  test("is found where a long piece ends with its beginning", () => {
    for (const cut of [1, 5, 8, 9, 12])
      expect(inPieces(KEY, [LONG + KEY.slice(0, cut), KEY.slice(cut), "."]).join("")).toBe(
        `${LONG}${KEY.slice(0, Math.min(cut, 8))}[credential].`,
      );
  });

  test("holds back no more than what may be a key", () => {
    expect(inPieces(KEY, ["so ", "sk-", "proj", " is", " a beginning"])).toEqual([
      "so ",
      "sk-",
      "proj",
      " is",
      " a beginning",
      "",
    ]);
    expect(inPieces(KEY, [`so ${KEY.slice(0, 12)}`, "!", ""])).toEqual([
      `so ${KEY.slice(0, 8)}`,
      `${KEY.slice(8, 12)}!`,
      "",
      "",
    ]);
    expect(inPieces(KEY, [KEY.slice(0, 12), KEY.slice(12), "."])).toEqual([KEY.slice(0, 8), "[credential]", ".", ""]);
    expect(inPieces(KEY, [KEY.slice(0, 12)])).toEqual([KEY.slice(0, 8), KEY.slice(8, 12)]);
  });
});
