// Guards over text in pieces: the result does not depend on the pieces, nothing of a match is sent, and only what could
// still become a match is held back.
import { describe, expect, test } from "bun:test";
import type { GuardPolicy } from "../../src/core/configured/policy.ts";
import fc from "fast-check";
import { RE2JS } from "re2js";
import { BlockedText, GuardedText, guardText } from "../../src/guards/guarded-text.ts";
import { DETECTOR_CLASSES } from "../../src/guards/detector-classes.ts";
import { guardsFor } from "../policies/policy-documents.ts";
import { ASCII, compilePattern, STEP } from "../../src/guards/pattern-program.ts";
import { stepsOf } from "../../src/guards/work-meter.ts";

/** Each is one of its class: made up, with right check digits. */
const PLANTED = {
  email: ["ada.lovelace+x@mail.example.org", "j@b.co"],
  phone: ["+49 30 901820-1", "(415) 555-2671", "+442071838750"],
  card: ["4111 1111 1111 1111", "5500-0000-0000-0004", "378282246310005"],
  iban: ["DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"],
  national_id: ["536-90-4399", "QQ 12 34 56 C".replace("QQ", "AB"), "12345678Z", "756.9217.0769.85"],
  secret: [`dgm_pt_${"a1B2".repeat(3)}_${"Zz09".repeat(11)}`, `AKIA${"ABCD".repeat(4)}`, `ghp_${"a1b2c3".repeat(6)}`],
} as const;

const none = (): void => {};
const mask = (text: string, guards: readonly GuardPolicy[]): string => guardText(text, guards, none);

function inPieces(
  text: string,
  cuts: readonly number[],
  guards: readonly GuardPolicy[],
  isJson = false,
): { readonly text: string; readonly steps: readonly string[] } {
  const guarded = new GuardedText(guards, none, { isJson });
  const steps: string[] = [];
  let from = 0;
  for (const cut of [...new Set(cuts.map((share) => Math.floor(share * text.length)))].toSorted((a, b) => a - b)) {
    steps.push(guarded.push(text.slice(from, cut)));
    from = cut;
  }
  steps.push(guarded.push(text.slice(from)), guarded.end());
  return { text: steps.join(""), steps };
}

const cutsOf = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });
const noise = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.stringMatching(/^[0-9 @.+a-zA-Z-]{0,40}$/),
  fc.constantFrom("aaaa", "ab", "\n", " ", "😀", "key=", "4111", "-----BEGIN "),
  fc.constantFrom("ｋｅｙ＝x", "se\u200bcr\u00adet", "a\u2060b", "ﬁ", "\u200b", "\u{e0041}", "½", "㎏"),
);
const planted = fc.constantFrom(...Object.values(PLANTED).flat());
const textOf = fc.array(fc.oneof(noise, planted), { maxLength: 12 }).map((parts) => parts.join(""));

describe("a pattern and its text", () => {
  test.each([
    ["falcon", "a zero-width space", "f\u200balcon"],
    ["falcon", "joiners", "f\u200da\u200clcon"],
    ["falcon", "soft hyphens", "fal\u00adcon"],
    ["falcon", "byte order marks", "fal\ufeffc\ufeffon"],
    ["falcon", "word joiners and marks of direction", "f\u2060a\u200e\u202el\u2066con"],
    ["falcon", "tags and selectors of variants", "f\u{e0061}al\ufe0fco\u{e0100}n"],
    ["falcon", "fillers", "f\u3164al\u115fcon"],
    ["falcon", "full-width letters", "ｆａｌｃｏｎ"],
    ["falcon", "mathematical letters", "𝐟𝐚𝐥𝐜𝐨𝐧"],
    ["falcon", "letters in circles", "ⓕⓐⓛⓒⓞⓝ"],
    ["(?i)office", "a ligature", "Oﬃce"],
    ["office\\d", "a raised digit", "office²"],
    ["カード", "half-width letters", "ｶｰﾄﾞ"],
    ["ｶｰﾄﾞ", "a pattern of half-width letters", "カード"],
    ["Müller", "a mark that is written behind its letter", "Mu\u0308ller"],
    ["Mu\u0308ller", "a mark that the pattern has behind its letter", "Müller"],
    ["Müller", "a character of no width between letter and mark", "Mu\u200b\u0308\u00adller"],
    ["ằ", "two marks", "a\u0306\u0300"],
    ["한국", "letters that are written as parts", "한국".normalize("NFD")],
    ["M\\x{fc}ller", "a letter that the pattern names by its number", "Mu\u0308ller"],
    ["M\\p{L}ller", "a letter that the pattern names by its class", "Mu\u0308ller"],
    ["（機密）", "a character of no width in a pattern of full-width signs", "（機\u200b密）"],
    ["（機密）", "the ordinary signs of a pattern of full-width ones", "(機密)"],
    ["a—b", "a dash", "a\u200b—b"],
    ["[\\x{200b}-\\x{200f}]", "a character of no width that the pattern looks for", "\u200b"],
  ])("[d3.5] %s is found in spite of %s, and the mask covers all of it", (pattern, _, text) => {
    const guards = guardsFor({ patterns: [pattern], action: "mask", mask: "#" });
    expect(mask(`x ${text} y`, guards)).toBe("x # y");
    const { text: shown } = inPieces(
      `é ${text} y`,
      Array.from({ length: 40 }, (_item, at) => at / 40),
      guards,
    );
    expect(shown).toBe("é # y");
    const json = JSON.stringify({ a: `x ${text} y` });
    const escaped = json.replaceAll(
      /[\u0080-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
    for (const written of [json, escaped])
      expect(JSON.parse(guardText(written, guards, none, { isJson: true }))).toEqual({ a: "x # y" });
  });

  test("[d3.5] holds back nothing of a text that folding does not change", () => {
    const guards = guardsFor({ patterns: ["zz"], action: "mask" });
    const guarded = new GuardedText(guards, none);
    expect([guarded.push("Grüße "), guarded.push("aus Köln"), guarded.push("ｆ"), guarded.end()]).toEqual([
      "Grüße ",
      "aus Köln",
      "ｆ",
      "",
    ]);
  });
});

describe("letters with marks, in any pieces", () => {
  const pattern = "[äöüéạ]+x|한|ド|\\p{Lu}ñ";
  const model = new RegExp(pattern, "u");
  const guards = guardsFor({ patterns: [pattern], action: "mask", mask: "#" });
  const characters =
    "a o u e n A D x ド ト カ 한 ﾄ ﾞ 가 ä é ñ \u0308 \u0301 \u0303 \u0323 \u3099 \u1112 \u1161 \u11ab \u200b \u0332 😀";
  const unit = fc.constantFrom(...characters.split(" "));
  const written = fc.array(unit, { maxLength: 14 }).map((units) => units.join(""));

  test("[d3.5] are found where the text without characters of no width has them in its composed form", () => {
    fc.assert(
      fc.property(written, (text) => {
        const read = text.replaceAll("\u200b", "").normalize("NFKC");
        expect(mask(text, guards) !== text).toBe(model.test(read) || model.test(text));
      }),
      { numRuns: 3000 },
    );
  });

  test("[d3.3] [d3.5] give the same as in one piece, of which nothing has left that a mask covers", () => {
    fc.assert(
      fc.property(written, cutsOf, (text, cuts) => {
        const whole = mask(text, guards);
        const { text: shown, steps } = inPieces(text, cuts, guards);
        expect(shown).toBe(whole);
        let sent = "";
        for (const step of steps) expect(whole.startsWith((sent += step))).toBe(true);
        const json = JSON.stringify({ text });
        expect(inPieces(json, cuts, guards, true).text).toBe(inPieces(json, [], guards, true).text);
      }),
      { numRuns: 3000 },
    );
  });
});

describe("any text, in any pieces", () => {
  const everything = guardsFor({
    classes: [...DETECTOR_CLASSES],
    patterns: ["(?i)secret[a-z]*", "ab+c?", "\\bkey=\\S+", "a{2,5}$", "(?m)^x.*$", "[^\\x00-\\x7f]+"],
    action: "mask",
    mask: "#",
  });

  test("[d3.3] gives the same as in one piece", () => {
    fc.assert(
      fc.property(textOf, cutsOf, (text, cuts) => {
        expect(inPieces(text, cuts, everything).text).toBe(mask(text, everything));
      }),
      { numRuns: 1500 },
    );
  });

  test("[d3.3] also one unit at a time, and as JSON", () => {
    const units = Array.from({ length: 500 }, (_, index) => index / 500);
    fc.assert(
      fc.property(textOf, (text) => {
        const json = JSON.stringify({ text, n: 1 });
        expect(inPieces(json, units, everything, true).text).toBe(inPieces(json, [], everything, true).text);
      }),
      { numRuns: 200 },
    );
  });

  test("[d3.3] text that was already sent is never the beginning of a later match", () => {
    fc.assert(
      fc.property(textOf, cutsOf, (text, cuts) => {
        const whole = mask(text, everything);
        let sent = "";
        for (const step of inPieces(text, cuts, everything).steps) {
          sent += step;
          expect(whole.startsWith(sent)).toBe(true);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test("[d3.3] a guard that blocks does so in the same texts, and nothing of the match is sent by then", () => {
    const blocking = guardsFor({ classes: ["card", "email"], patterns: ["forbidden [a-z]+"], action: "block" });
    const masking = guardsFor({
      classes: ["card", "email"],
      patterns: ["forbidden [a-z]+"],
      action: "mask",
      mask: "\u0000",
    });
    fc.assert(
      fc.property(
        fc
          .array(fc.oneof(noise, planted, fc.constant("forbidden words")), { maxLength: 8 })
          .map((parts) => parts.join(" ")),
        cutsOf,
        (text, cuts) => {
          const masked = mask(text, masking);
          const guarded = new GuardedText(blocking, none);
          let sent = "";
          let blocked = false;
          try {
            let from = 0;
            for (const cut of [...new Set(cuts.map((share) => Math.floor(share * text.length)))].toSorted(
              (a, b) => a - b,
            )) {
              sent += guarded.push(text.slice(from, cut));
              from = cut;
            }
            sent += guarded.push(text.slice(from));
            sent += guarded.end();
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(BlockedText);
            blocked = true;
          }
          expect(blocked).toBe(masked.split("\u0000").length > text.split("\u0000").length);
          if (blocked)
            expect(masked.slice(0, masked.indexOf("\u0000")).startsWith(sent) || text.includes("\u0000")).toBe(true);
          else expect(sent).toBe(text);
        },
      ),
      { numRuns: 800 },
    );
  });
});

describe("matches", () => {
  test.each(Object.entries(PLANTED).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)))(
    "[d3.3] %s: %s, in a sentence",
    (name, text) => {
      const guards = guardsFor({ classes: [name], action: "mask" });
      const label = `[${name.replace("_", " ")}]`;
      expect(mask(`It is ${text}, I think.`, guards)).toBe(`It is ${label}, I think.`);
      expect(mask(text, guards)).toBe(label);
    },
  );

  test.each([
    ["card", "4111 1111 1111 1112"],
    ["card", "0000 0000 0000 0000"],
    ["card", "order 411111111111111111111111"],
    ["iban", "DE88 3704 0044 0532 0130 00"],
    ["national_id", "000-12-3456"],
    ["national_id", "12345678A"],
    ["email", "a@b"],
    ["email", "@handle and x@"],
    ["phone", "version 1.2.3.4"],
    ["phone", "2026-11-20"],
    ["secret", "dgm_pt_short"],
    ["secret", "sk-short"],
  ])("[d3.3] %s: %s is no match", (name, text) => {
    expect(mask(text, guardsFor({ classes: [name], action: "mask" }))).toBe(text);
  });

  test("[d3.3] a private key is masked completely, with the lines of its body", () => {
    const body = Array.from(
      { length: 40 },
      () => "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj",
    ).join("\n");
    const begin = "-----BEGIN PRIVATE KEY-----";
    expect(
      mask(
        `key:\n${begin}\n${body}\n-----END PRIVATE KEY-----\ndone`,
        guardsFor({ classes: ["secret"], action: "mask" }),
      ),
    ).not.toContain("MII");
  });

  test("[d3.3] overlapping matches become one, with the name of the first policy", () => {
    const guards = guardsFor(
      { patterns: ["abc"], action: "mask", mask: "<1>" },
      { patterns: ["cde", "e"], action: "mask", mask: "<2>" },
    );
    expect(mask("xabcdex", guards)).toBe("x<1>x");
    expect(mask("abc e", guards)).toBe("<1> <2>");
  });

  test("[d3.3] the search continues where a match ended, however far a longer one was followed in vain", () => {
    expect(mask("abba abbc", guardsFor({ patterns: ["a(?:b+c)?"], action: "mask", mask: "#" }))).toBe("#bb# #");
    expect(
      mask(
        "4111 1111 1111 1111 a@b.co",
        guardsFor({ patterns: ["1{3}(?: 1+)* x"], classes: ["card"], action: "mask" }),
      ),
    ).toBe("[card] a@b.co");
  });

  test("[d3.3] a match is the one that RE2 prefers", () => {
    const found = (pattern: string, text: string): string =>
      mask(text, guardsFor({ patterns: [pattern], action: "mask", mask: "#" }));
    expect([
      found("a+?b|a", "aaab"),
      found("ab|abc", "abc"),
      found("(?i)STRASSE|ſ", "straſſe"),
      found("x{2}", "xxxxx"),
      found("^a", "aa\na"),
      found("(?m)^a", "aa\na"),
      found("\\Ba", "aa"),
    ]).toEqual(["#", "#c", "#", "##x", "#a\na", "#a\n#", "a#"]);
  });

  const KNOTTY = [
    "a(?:b+c)?",
    "a+?b|a",
    "(a|ab)(c|bcd)",
    "ab|abc",
    "\\ba\\w*\\b",
    "\\Bb",
    "(?i)aB+",
    "a.{0,3}c",
    "(?m)^a+$",
    "^a",
    "b$",
    "[^a]b",
    "(?:ab){2,}?",
    "c\\z",
    "é+|a",
    "[😀b]+",
    "(?s)a.b",
    "\\D\\d",
    "(?:a|b|c)*d",
  ];
  test.each(KNOTTY)("[d3.3] %s finds what the library finds", (pattern) => {
    const guards = guardsFor({ patterns: [pattern], action: "mask", mask: "#" });
    const text = fc.string({
      unit: fc.constantFrom("a", "b", "c", "d", "A", "1", " ", "\n", "é", "😀"),
      maxLength: 24,
    });
    fc.assert(
      fc.property(text, (given) => {
        expect(mask(given, guards)).toBe(RE2JS.compile(pattern).matcher(given).replaceAll("#"));
      }),
      { numRuns: 300 },
    );
  });

  test("[d3.3] a mask in JSON leaves JSON behind", () => {
    const guards = guardsFor({ classes: ["card"], patterns: ['b"c|secret'], action: "mask", mask: 'a "mask"\n' });
    const json = guardText('{"card": 4111111111111111, "text": "my secret, 4111111111111111"}', guards, none, {
      isJson: true,
    });
    expect(JSON.parse(json)).toEqual({ card: 'a "mask"\n', text: 'my a "mask"\n, a "mask"\n' });
  });

  test("[d4.6] a guard in audit mode reports once and changes nothing", () => {
    const audit = guardsFor({ classes: ["email"], action: "mask" }).map((policy): GuardPolicy => ({
      ...policy,
      mode: "audit",
    }));
    const told: string[] = [];
    expect(guardText("a@b.co and c@d.co", audit, ({ name }) => told.push(name))).toBe("a@b.co and c@d.co");
    expect(told).toEqual(["guard-0"]);
  });
});

describe("text that is held back", () => {
  const held = (guards: readonly GuardPolicy[], ...pieces: readonly string[]): string => {
    const guarded = new GuardedText(guards, none);
    const out = pieces.map((piece) => guarded.push(piece)).join("");
    return pieces.join("").slice(out.length);
  };

  test("[d3.3] is only what could still become part of a match", () => {
    const cards = guardsFor({ classes: ["card"], action: "mask" });
    expect(held(cards, "The number is ")).toBe("");
    expect(held(cards, "The number is 4111 11")).toBe("4111 11");
    expect(held(cards, "The number is 4111 11", "x")).toBe("");
    expect(held(guardsFor({ classes: ["email"], action: "mask" }), "write to ada")).toBe("ada");
    expect(held(guardsFor({ patterns: ["foo\\b"], action: "mask" }), "a foo")).toBe("foo");
    expect(held(guardsFor({ patterns: ["foo"], action: "mask" }), "a fo")).toBe("fo");
  });

  test("[d3.3] is no longer than the longest match, whatever the pattern", () => {
    const guards = guardsFor({ patterns: ["<.*>"], action: "mask" });
    expect(held(guards, `<${"x".repeat(5000)}`).length).toBeLessThanOrEqual(1024);
  });

  test("[d3.3] is none for a guard in audit mode", () => {
    const audit = guardsFor({ classes: ["card"], action: "mask" }).map((policy): GuardPolicy => ({
      ...policy,
      mode: "audit",
    }));
    expect(held(audit, "4111 11")).toBe("");
  });
});

describe("patterns", () => {
  test.each(["a*", "\\b", "(", "(?<=a)b", "x{1000}{1000}", "(?:)"])("[d3.3] %s is refused", (pattern) => {
    expect(() => guardsFor({ patterns: [pattern], action: "mask" })).toThrow();
  });

  test("[d3.3] the characters that an instruction takes are the same in its table", () => {
    const atoms =
      "a [a-\\x{10ffff}] [^a] \\pL \\PN (?i)k (?i)s (?i)[k-\\x{10ffff}] (?i)ſ . (?s). [α-ω] \\w [0-9a-fé] ſ [b-y]";
    const atom = fc.constantFrom(...atoms.split(" "));
    fc.assert(
      fc.property(fc.array(atom, { minLength: 1, maxLength: 8 }), (several) => {
        const program = compilePattern(several.map((one) => `(?:${one})`).join(""));
        for (let at = 0; at < program.size; at++)
          if (program.step[at] === STEP.take)
            expect([...program.takenAscii(at)]).toEqual(
              Array.from({ length: ASCII }, (_, code) => Number(program.takes(at, code))),
            );
      }),
    );
  });

  test.each(["^(a+)+$", "(a|aa)+b", "(.*)(.*)(.*)(.*)x", "([a-z]+)*!"])(
    "[d3.3] %s is linear in the text",
    (pattern) => {
      const guards = guardsFor({ patterns: [pattern], action: "mask" });
      const steps = (size: number): number => stepsOf(() => mask("a".repeat(size), guards));
      const few = steps(5000);
      expect(few).toBeGreaterThan(5000);
      // a machine that backtracks would not come back
      expect(steps(80_000)).toBeLessThanOrEqual(17 * few);
    },
  );
});
