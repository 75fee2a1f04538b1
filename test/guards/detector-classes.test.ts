// What each class finds and what it does not: numbers, ids and code of everyday texts are not personal data.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DETECTOR_CLASSES } from "../../src/guards/detector-classes.ts";
import { GuardedText, guardText } from "../../src/guards/guarded-text.ts";
import { guardsFor } from "../policies/policy-documents.ts";

const masked = (text: string, guard: object, isJson = false): string =>
  guardText(text, guardsFor({ action: "mask", mask: "#", ...guard }), () => {}, { isJson });
const everything = { classes: [...DETECTOR_CLASSES] };

const FOUND: Readonly<Record<string, readonly string[]>> = {
  card: [
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "4111.1111.1111.1111",
    "4111111111111111",
    "4222222222222",
    "5555 5555 5555 4444",
    "3782 822463 10005",
    "6011 1111 1111 1117",
    "3530 1113 3330 0000",
    "2223 0031 2200 3222",
    "4111\u00a01111\u00a01111\u00a01111",
    "4111\u20111111\u20111111\u20111111",
    "4111\u200b1111\u200b1111\u200b1111",
    "4\u200d1\u200d1\u200d1 1111 1111 1111",
    "４１１１ １１１１ １１１１ １１１１",
    "٤١١١١١١١١١١١١١١١",
    "𝟒𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏 𝟏𝟏𝟏𝟏",
    "4111\u00ad1111\u00ad1111\u00ad1111",
    "４１１１ 1111\u200b1111 1111",
  ],
  phone: [
    "+49 30 901820",
    "+1 (415) 555-2671",
    "+442071838750",
    "(415) 555-2671",
    "415-555-2671",
    "415.555.2671",
    "1-415-555-2671",
    "0049 30 901820",
    "004930901820",
    "030 901820",
    "(030) 901820-12",
    "＋４９ ３０ ９０１８２０",
    "+49\u00a030\u00a0901820",
  ],
  iban: [
    "DE89 3704 0044 0532 0130 00",
    "RU0304452522540817810538091310419",
    "YE15CBYE0001018861234567891234",
    "DE89370400440532013000",
    "ＤＥ89 3704 0044 0532 0130 00",
  ],
  email: [
    "ada@mail.example.org",
    "ADA.L+x@mail.example.org",
    "ada＠mail.example.org",
    "jörg@bücher.example",
    "ada\u200b@mail.example.org",
    "用户@例子.公司",
  ],
  national_id: [
    "078-05-1120",
    "AB 12 34 56 C",
    "12345678Z",
    "X1234567L",
    "756.9217.0769.85",
    "RSSMRA85T10A562S",
    "529.982.247-25",
    "52998224725",
    "811218-9876",
    "86095742719",
    "０７８-０５-１１２０",
  ],
  secret: [
    `sk-${"a1B2c3".repeat(5)}`,
    `AKIA${"ABCD".repeat(4)}`,
    `github_pat_${"a1b2".repeat(6)}`,
    `glpat-${"a1b2c".repeat(4)}`,
    `xoxb-${"123-abc".repeat(3)}`,
    `rk_live_${"a1b2".repeat(4)}`,
  ],
};

describe("matches", () => {
  test.each(Object.entries(FOUND).flatMap(([name, texts]) => texts.map((text) => [name, text] as const)))(
    "[d3.3] %s: %s, alone, in words, in JSON and behind a line's end",
    (name, text) => {
      const guard = { classes: [name] };
      expect([masked(text, guard), masked(`It is ${text}, I think.`, guard), masked(`a\n${text}\nb`, guard)]).toEqual([
        "#",
        "It is #, I think.",
        "a\n#\nb",
      ]);
      expect(JSON.parse(masked(JSON.stringify({ a: `x\n${text}\ny`, b: text }), guard, true))).toEqual({
        a: "x\n#\ny",
        b: "#",
      });
      const escaped = `{"a":"${Array.from({ length: text.length }, (_, index) => `\\u${text.charCodeAt(index).toString(16).padStart(4, "0")}`).join("")}"}`;
      expect(JSON.parse(masked(escaped, guard, true))).toEqual({ a: "#" });
    },
  );

  test("[d3.3] digits alone are found beside a word that names their kind, or where their kind is asked for", () => {
    expect([
      masked("BSN: 111222333", everything),
      masked("order 111222333", everything),
      masked("order 111222333", { classes: ["national_id"], national_ids: ["nl_bsn"] }),
    ]).toEqual(["BSN: #", "order 111222333", "order #"]);
    expect([masked('{"pesel":"44051401359"}', everything, true), masked("44051401359", everything)]).toEqual([
      '{"pesel":"#"}',
      "44051401359",
    ]);
  });
});

const ORDINARY: readonly string[] = [
  // times
  "2026-11-20T16:15:35.123Z",
  "2026-11-20 16:15:35+02:00",
  "20261120161535",
  "20261120T101500Z",
  "1700000000",
  "1700000000000",
  "1700000000000000",
  "1763655335123456789",
  "at 1763655335.123456",
  "2026-11-20 to 2026-12-01",
  "01/02/2026",
  "16:15:35",
  "+0200",
  "2024-01-15 0900-1730",
  // ids and hashes
  "550e8400-e29b-41d4-a716-446655440000",
  "12345678-1234-4123-8123-123456789012",
  "00000000-0000-0000-0000-000000000000",
  "a0b1c2d3-0123-4567-8912-345678901234",
  "da39a3ee5e6b4b0d3255bfef95601890afd80709",
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "01HF7YAT00QX4W3S1GZ0V0B8ZZ",
  "507f1f77bcf86cd799439011",
  "call_4f3d2a1b0c9e8f7a",
  "chatcmpl-9abcDEF0123456789",
  "arn:aws:iam::123456789012:role/x",
  "trace 0af7651916cd43dd8448eb211c80319c",
  // numbers
  "order 12345678",
  "order number 100200300",
  "order no. 0012345678",
  "invoice 2024-000123",
  "SKU 4006381333931",
  "ISBN 978-3-16-148410-0",
  "ISBN 9783161484100",
  "0.4111111111111111",
  "[0.1234567890123456,-0.5019717010103742]",
  "3.14159265358979",
  "+1.2345678",
  "+1.234.567",
  "1,234,567,890",
  "1 234 567",
  "12 345 678 900",
  "6.02214076e23",
  "192.168.100.200",
  "255.255.255.255",
  "2001:db8::8a2e:370:7334",
  "00:1A:2B:3C:4D:5E",
  "00 10 20 30 40 50 60 70",
  "version 1.22.333.4444",
  "v20.11.1",
  "x+12345678",
  "@@ -1234567,8 +1234567,9 @@",
  "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]",
  "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16",
  "48.858370, 2.294481",
  "52.520008,13.404954",
  "3840x2160",
  "#12345678",
  "0x12345678",
  "bytes=0-1048575",
  "port 8080, pid 4194304",
  "12345678901",
  "234567890124",
  // texts
  "logo@2x.png",
  "npm install lodash@4.17.21",
  "@scope/package@1.2.3",
  "user@localhost",
  "sk-loading-spinner-container-wide",
  "task-force",
  "const re = /\\d{3}-\\d{4}/;",
  "pages 123-456",
  "1999-2026",
  "Section 3.2.1-4",
  "a + b = 12345678",
  "the years 2019 2020 2021 2022 2023",
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==",
  "MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA7bq+12345678/90123456+4111",
  "DE12ABCDEFGHIJKLMNOP",
  "AB12 CD34 EF56",
  "GET /v1/items/123-45-6789/parts HTTP/1.1".replace("123-45-6789/", "1234/"),
  '{"created":1763655335,"n":1,"usage":{"prompt_tokens":1234567,"total_duration":48835834581},"id":"msg_01XFDUDYJgAACzvnptvVoYEL"}',
  "if (x > 1000000 && y < 2000000) return 3000000;",
  "SELECT * FROM calls WHERE id = 123456789 LIMIT 100;",
];

describe("text that is not a match", () => {
  test.each(ORDINARY)("[d3.3] %s", (text) => {
    expect(masked(text, everything)).toBe(text);
    expect(masked(`It is ${text} here`, everything)).toBe(`It is ${text} here`);
    expect(masked(JSON.stringify({ a: text }), everything, true)).toBe(JSON.stringify({ a: text }));
  });

  test("[d3.3] UUIDs, hashes and base64 of any bytes hold no phone, card or national id", () => {
    const hex = fc.uint8Array({ minLength: 16, maxLength: 64 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.uuid(), hex, (uuid, bytes) => {
        for (const text of [uuid, bytes.toString("hex"), bytes.toString("base64")])
          expect(masked(text, { classes: ["phone", "card", "national_id", "iban"] })).toBe(text);
      }),
      { numRuns: 2000 },
    );
  });

  test("[d3.3] digits alone of any length below that of cards are no match, except for one in fifty", () => {
    let changed = 0;
    for (let index = 0; index < 2000; index++) {
      const text = `order ${String(1e8 + index * 7919)} and ${String(1e10 + index * 104_729)} and ${String(1.7e12 + index * 15_485_863)}`;
      if (masked(text, everything) !== text) changed += 1;
    }
    expect(changed).toBeLessThan(40);
  });
});

describe("text that is read otherwise than it is written", () => {
  const units = fc.constantFrom(
    "4",
    "1111",
    "-",
    " ",
    "\u200b",
    "１",
    "𝟏",
    "\\",
    '"',
    "\\n",
    "\\u0031",
    "\\u200b",
    "4111 1111 1111 1111",
    "ada@b.co",
    "é",
    "😀",
    "x",
    "{",
    "1",
    ".",
  );
  const texts = fc.array(units, { maxLength: 40 }).map((parts) => parts.join(""));
  const inPieces = (text: string, cuts: readonly number[], isJson: boolean): string => {
    const guarded = new GuardedText(
      guardsFor({ ...everything, patterns: ["1\\s+x", "é+"], action: "mask", mask: "#" }),
      () => {},
      { isJson },
    );
    let out = "";
    let from = 0;
    for (const cut of cuts.map((share) => Math.floor(share * text.length)).toSorted((a, b) => a - b)) {
      out += guarded.push(text.slice(from, cut));
      from = cut;
    }
    return out + guarded.push(text.slice(from)) + guarded.end();
  };
  test.each([false, true])("[d3.3] does not depend on the pieces either (JSON: %p)", (isJson) => {
    fc.assert(
      fc.property(texts, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 20 }), (text, cuts) => {
        expect(inPieces(text, cuts, isJson)).toBe(inPieces(text, [], isJson));
      }),
      { numRuns: 1500 },
    );
  });

  test("[d3.3] a quick pre-search finds what a check of every unit finds", () => {
    const parts = fc.constantFrom(
      ...Object.values(FOUND).flat(),
      ...ORDINARY,
      " ",
      "1",
      "12",
      "A",
      "-",
      "+",
      "(0",
      "\n",
      "of the words ",
    );
    fc.assert(
      fc.property(
        fc.array(parts, { maxLength: 12 }).map((all) => all.join("")),
        (text) => {
          expect(inPieces(text, [], false)).toBe(
            inPieces(
              text,
              Array.from({ length: text.length }, (_, index) => index / text.length),
              false,
            ),
          );
        },
      ),
      { numRuns: 1000 },
    );
  });

  test("[d3.3] JSON stays JSON, whatever is masked in it", () => {
    const json = fc.json({ maxDepth: 3 });
    const patterns = fc.constantFrom(
      "\\d",
      "[a-z]+",
      "\\W{2,6}",
      "[^x]{3,9}",
      '",?',
      "\\S+",
      "(?s).{1,7}",
      "[0-9e.]+",
      "\\\\",
      "n",
    );
    fc.assert(
      fc.property(json, patterns, (text, pattern) => {
        expect(() => void JSON.parse(masked(text, { patterns: [pattern] }, true))).not.toThrow();
      }),
      { numRuns: 1500 },
    );
  });
});
