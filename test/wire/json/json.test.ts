// The JSON parser: any text against JSON.parse, spans, duplicate keys, nesting, numbers beyond the precision of a
// double, messages of refusals, and time.
import { runSeed } from "../../harness/time/chance.ts";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isRawNumber, type Json, type JsonObject } from "../../../src/core/json.ts";
import { findJsonFault } from "../../../src/wire/json/json-fault.ts";
import { parseJson, parseJsonObject } from "../../../src/wire/json/json.ts";
import { JsonError } from "../../../src/wire/json/json-error.ts";
import { growth, MOST_GROWTH } from "../../harness/time/cpu-time.ts";
import { drawCount } from "../../harness/time/long-run.ts";

function refusalOf(parse: () => unknown): JsonError {
  try {
    parse();
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(JsonError);
    return thrown as JsonError;
  }
  throw new Error("was not refused");
}
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** Text in front of and behind a value, so that both ways through parseJson are taken: the one of short texts and the one of long ones. */
const LONG = " ".repeat(600);
const space = fc.array(fc.constantFrom(" ", "\n", "\t", "\r", "\r\n"), { maxLength: 3 }).map((parts) => parts.join(""));
const digits = (least: number, most: number): fc.Arbitrary<string> =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength: least, maxLength: most }).map((list) => list.join(""));

describe("any text", () => {
  test("that JSON.stringify made gives the value back", () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ stringUnit: "binary" }),
        fc.constantFrom(0, 2, "\t"),
        fc.constantFrom("", LONG, "\r\n"),
        (value, indent, around) => {
          const text = JSON.stringify(value, null, indent);
          // The printed form, because -0 is printed as 0.
          const printed = JSON.parse(text) as Json;
          expect(parseJson(around + text + around)).toEqual(printed);
          expect(parseJsonObject(`${around}{"value":${text}}${around}`).value).toEqual({ value: printed });
        },
      ),
      { numRuns: 500 },
    );
  });

  const scraps = fc.array(
    fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      "\\",
      "\\u0041",
      "\\ud800",
      "1",
      "-",
      "0",
      ".5",
      "e9",
      "E400",
      "12345678901234567890",
      "true",
      "nul",
      "null",
      " ",
      "\n",
      "\u0001",
      "'",
      "/",
      "é",
      "__proto__",
      "\ufeff",
      '{"a":1}',
      '"\\""',
      "\u2028",
    ),
    { maxLength: 14 },
  );
  const broken = fc.oneof(
    fc.string({ unit: "binary", maxLength: 40 }),
    scraps.map((parts) => parts.join("")),
    scraps.map((parts) => `{"key": ${parts.join("")}}`),
    fc
      .tuple(fc.json(), fc.nat(), fc.constantFrom("", '"', "\\", "]", "}", ",", "0", "\n", "e"))
      .map(
        ([text, place, scrap]) =>
          text.slice(0, place % (text.length + 1)) + scrap + text.slice((place % (text.length + 1)) + 1),
      ),
  );

  test("is taken when JSON.parse takes it, and else refused with a JsonError that knows the place", () => {
    fc.assert(
      fc.property(broken, fc.constantFrom("", LONG), (scrap, around) => {
        const text = scrap + around;
        if (isJson(text)) {
          expect(findJsonFault(text)).toBeNull();
          expect(JSON.stringify(parseJson(text)).length).toBeGreaterThan(0);
        } else {
          const refusal = refusalOf(() => parseJson(text));
          expect(refusal.offset).toBeWithin(0, text.length + 1);
          expect(refusal.message).toContain(`offset ${refusal.offset} `);
        }
      }),
      { numRuns: drawCount(1_500, 5_000) },
    );
  });

  test("gives an object with the spans of its members, or a JsonError", () => {
    fc.assert(
      fc.property(broken, (text) => {
        const outcome = isJson(text) ? (JSON.parse(text) as unknown) : undefined;
        if (typeof outcome !== "object" || outcome === null || Array.isArray(outcome)) {
          refusalOf(() => parseJsonObject(text));
          return;
        }
        try {
          expect([...parseJsonObject(text).members.keys()].toSorted()).toEqual(Object.keys(outcome).toSorted());
        } catch (thrown) {
          expect((thrown as Error).message).toContain("occurs twice");
        }
      }),
      { numRuns: drawCount(1_500, 5_000) },
    );
  });

  test("of bytes that are not UTF-8 text is refused with a JsonError and nothing else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const text = new TextDecoder().decode(bytes);
        fc.pre(!isJson(text));
        refusalOf(() => parseJsonObject(text));
        refusalOf(() => parseJson(text));
      }),
    );
  });
});

describe("the members of an object", () => {
  test("are where the spans say", () => {
    const text = ' {"model" : "a:b" ,\n"n":1,"stop":["}",{"x":"]"}], "no" :null\t}';
    const { members } = parseJsonObject(text);
    expect(
      [...members].map(([key, { keyStart, valueStart, valueEnd }]) => [
        key,
        text.slice(keyStart, valueStart),
        text.slice(valueStart, valueEnd),
      ]),
    ).toEqual([
      ["model", '"model" : ', '"a:b"'],
      ["n", '"n":', "1"],
      ["stop", '"stop":', '["}",{"x":"]"}]'],
      ["no", '"no" :', "null"],
    ]);
    expect(parseJsonObject("{ }").members.size).toBe(0);
  });

  test("slice to text whose value is the member's, whatever the values and the white space", () => {
    const strings = fc.oneof(
      fc.string({ unit: "binary" }),
      fc
        .array(fc.constantFrom('"', "\\", "\\\\", "a", "bcdefghijklm", "é", "{", "]"), { maxLength: 40 })
        .map((parts) => parts.join("")),
    );
    const value = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        strings,
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(strings, tie("value"), { maxKeys: 4 }),
      ),
    })).value;
    const member = fc.record({
      key: strings,
      value,
      escape: fc.boolean(),
      before: space,
      between: space,
      after: space,
    });
    fc.assert(
      fc.property(fc.uniqueArray(member, { selector: ({ key }) => key, maxLength: 6 }), space, (list, around) => {
        const written = list.map(({ key, value: content, escape, before, between, after }) => {
          const quoted =
            escape && key !== ""
              ? `"\\u${key.charCodeAt(0).toString(16).padStart(4, "0")}${JSON.stringify(key.slice(1)).slice(1)}`
              : JSON.stringify(key);
          return `${before}${quoted}${between}:${between}${JSON.stringify(content)}${after}`;
        });
        const text = `${around}{${written.join(",")}${around}}${around}`;
        const { members, value: object } = parseJsonObject(text);
        expect([...members.keys()]).toEqual(list.map(({ key }) => key));
        for (const [key, { keyStart, valueStart, valueEnd }] of members) {
          expect(text[keyStart]).toBe('"');
          expect(JSON.parse(text.slice(valueStart, valueEnd))).toEqual(object[key]);
          expect(text.slice(valueStart, valueEnd).trim()).toBe(text.slice(valueStart, valueEnd));
          expect(JSON.parse(`{${text.slice(keyStart, valueEnd)}}`)).toEqual(Object.fromEntries([[key, object[key]]]));
        }
      }),
      { numRuns: 500 },
    );
  });

  test("are refused when a key occurs twice, in whatever spelling", () => {
    const text = '{"model":"a","n":1,"mo\\u0064el":"b"}';
    const refusal = refusalOf(() => parseJsonObject(text));
    expect(refusal.message).toBe('The key "model" occurs twice in the object, the second time at offset 19.');
    expect(refusal.offset).toBe(19);
    refusalOf(() => parseJsonObject('{"__proto__":1,"__proto__":2}'));
    refusalOf(() => parseJsonObject('{"":1,"":2}'));
  });

  test.each([
    ['{"tools":[{"a":1,"a":2}]}', "tools[0].a"],
    ['{"a":[0,{"b":{"c":"}","x":{},"\\u0063":[]}}]}', "a[1].b.c"],
    ['{"a":{"\\ud83d\\ude00":1,"😀":2}}', "a.😀"],
    ['{"a":[[{"":1,"":2}]]}', "a[0][0]."],
    [`{"a":{${Array.from({ length: 40 }, (_, at) => `"n${at}":{"k":1}`).join()},"n3":0}}`, "a.n3"],
    [`{"a":{${Array.from({ length: 40 }, (_, at) => `"n${at}":{"k":1}`).join()},"\\u006e39":0}}`, "a.n39"],
    [`{"a":{"${"x".repeat(90)}\\n":1,"${"x".repeat(90)}\\u000a":2}}`, `a.${"x".repeat(64)}…`],
  ])("[d3.5] a member name that occurs twice in an object inside is refused: %s", (text, path) => {
    const refusal = refusalOf(() => parseJsonObject(text));
    expect(refusal.message).toContain("occurs twice");
    expect(refusal.repeated).toBe(path);
  });

  test("[d3.5] a member name that occurs twice is found at any depth, and nothing else is refused", () => {
    const name = fc.constantFrom(
      "a",
      "b",
      "content",
      "con\\u0074ent",
      "\\u0061",
      "x".repeat(30),
      `${"x".repeat(30)}\\n`,
    );
    const { value } = fc.letrec<{ value: { readonly text: string; readonly repeats: boolean } }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        fc
          .constantFrom('"a"', '"{\\"a\\":1,"', "-1.5e3", "true", "null", "{}", "[ ]")
          .map((text) => ({ text, repeats: false })),
        fc.array(tie("value"), { maxLength: 4 }).map((items) => ({
          text: `[${items.map(({ text }) => text).join(" ,")}]`,
          repeats: items.some(({ repeats }) => repeats),
        })),
        fc.array(fc.tuple(name, tie("value"), fc.boolean()), { maxLength: 20 }).map((members) => {
          const named = members.map(([written, inner, isNumbered], at) => ({
            written: isNumbered ? `${written}${at}` : written,
            inner,
          }));
          const names = named.map(({ written }) => JSON.parse(`"${written}"`) as string);
          return {
            text: `{ ${named.map(({ written, inner }) => `"${written}" : ${inner.text}`).join(",")}}`,
            repeats: new Set(names).size < names.length || named.some(({ inner }) => inner.repeats),
          };
        }),
      ),
    }));
    let repeating = 0;
    fc.assert(
      fc.property(value, ({ text, repeats }) => {
        const body = `{"model":"m","messages":${text}}`;
        if (repeats) repeating++;
        if (repeats) expect(refusalOf(() => parseJsonObject(body)).repeated).toStartWith("messages");
        else expect(parseJsonObject(body).value).toEqual(JSON.parse(body));
      }),
      { numRuns: drawCount(1_500, 10_000), seed: runSeed },
    );
    expect(repeating).toBeGreaterThan(0);
  });

  test("[d3.5] a text that is not JSON, with a comma for each name, is refused as such", () => {
    refusalOf(() => parseJsonObject(`{"a":{${",".repeat(30)}"b":1,"c":2}}`));
  });

  test("of what a provider sends may occur twice, where the last one counts", () => {
    expect(JSON.stringify(parseJson('{"n":{"b":12345678901234567890},"n":{"b":[1,12345678901234567891]}}'))).toBe(
      '{"n":{"b":[1,12345678901234567891]}}',
    );
  });

  test("named __proto__ are members like any other", () => {
    const hostile = '{"__proto__":{"admin":true},"a":{"__proto__":{"admin":true}},"constructor":1}';
    for (const text of [hostile, hostile.replace("1}", "12345678901234567890}")]) {
      const { value, members } = parseJsonObject(text);
      expect(members.has("__proto__")).toBe(true);
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.keys(value)).toEqual(["__proto__", "a", "constructor"]);
      expect(value["admin"]).toBeUndefined();
      expect((value["a"] as JsonObject)["admin"]).toBeUndefined();
      expect(JSON.stringify(value)).toBe(text);
      expect(JSON.stringify(parseJson(text))).toBe(text);
    }
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each([
    ["[1]", "Expected a JSON object, got an array."],
    ['"text"', 'Expected a JSON object, got the string "text".'],
    ["null", "Expected a JSON object, got null."],
    ["12", "Expected a JSON object, got the number 12."],
    ["12345678901234567890", "Expected a JSON object, got the number 12345678901234567890."],
  ])("are read of an object alone: %s", (text, message) => {
    expect(refusalOf(() => parseJsonObject(text)).message).toBe(message);
    expect(JSON.stringify(parseJson(text))).toBe(text);
  });
});

describe("nesting", () => {
  const nested = (depth: number, open = "[", close = "]"): string => open.repeat(depth) + close.repeat(depth);

  test("of 512 levels is taken", () => {
    expect(JSON.stringify(parseJson(nested(512)))).toBe(nested(512));
    expect(Object.keys(parseJsonObject(`{"a":${nested(511)}}`).value)).toEqual(["a"]);
    expect(
      Object.keys(parseJsonObject(`{"a":${nested(511)},"b":${nested(511)},"c":12345678901234567890}`).value),
    ).toEqual(["a", "b", "c"]);
  });

  test("of 513 is refused at its place", () => {
    expect(refusalOf(() => parseJson(nested(513))).offset).toBe(512);
    expect(refusalOf(() => parseJsonObject(`{"a":${nested(512)}}`)).message).toBe(
      "The JSON is nested deeper than 512 levels at offset 516.",
    );
    expect(refusalOf(() => parseJsonObject(nested(513))).message).toContain("nested deeper");
    expect(refusalOf(() => parseJsonObject(`{"a":${nested(600, '{"a":[', "]}")}}`)).message).toContain("nested deeper");
  });

  test("has the bound that the caller gives", () => {
    expect(parseJsonObject('{"a":[[1]]}', { maxDepth: 3 }).members.size).toBe(1);
    expect(refusalOf(() => parseJsonObject('{"a":[[1]]}', { maxDepth: 2 })).offset).toBe(6);
    expect(parseJsonObject('{"a":"[[[[[["}', { maxDepth: 1 }).members.size).toBe(1);
  });

  test("without end costs nothing, closed or not", async () => {
    const textsOf = (size: number): readonly string[] => [
      "[".repeat(8 * size),
      nested(4 * size),
      `{"a":${"[".repeat(8 * size)}`,
      '{"a":'.repeat(size),
    ];
    const refuse = (texts: readonly string[]): void => {
      for (const text of texts) {
        expect(refusalOf(() => parseJsonObject(text)).message).toContain("nested deeper");
        expect(refusalOf(() => parseJson(text)).message).toContain("nested deeper");
      }
    };
    expect(await growth(textsOf, refuse, 1 << 18)).toBeLessThan(MOST_GROWTH);
  });
});

describe("numbers", () => {
  test.each([
    "0",
    "-0",
    "0.0",
    "1.0",
    "1e3",
    "1E+3",
    "100e-2",
    "0.1",
    "3.141592653589793",
    "0.30000000000000004",
    "9007199254740992",
    "9007199254740994",
    "100000000000000000000",
    "1e21",
    "1.7976931348623157e308",
    "5e-324",
    "1.00000000000000000000",
    "0.00000000000000000000",
    "0e999",
    "12345.678900000000000000",
    "-1.5e-07",
  ])("%s is a plain number", (source) => {
    expect(parseJson(source)).toBe(Number(source));
    expect(parseJsonObject(`{"n":${source}}`).value).toEqual({ n: Number(source) });
    expect(parseJson(`[${source}]${LONG}`)).toEqual([Number(source)]);
  });

  test.each([
    "9007199254740993",
    "-9007199254740993",
    "12345678901234567890",
    "1e400",
    "-1E+400",
    "1e-400",
    "0.1000000000000000055511151231257827",
    "3.14159265358979323846",
    "9007199254740.993",
    "1.7976931348623159e308",
    "123456789.123456789",
    "4.9e-324",
    "1e99999999999999999999",
    "1e-99999999999999999999",
  ])("%s keeps its digits", (source) => {
    for (const value of [
      parseJson(source),
      parseJson(source + LONG),
      parseJsonObject(`{"n":${source}}`).value["n"],
      (parseJson(`[1.0,{"a":${source}}]`) as [number, JsonObject])[1]["a"],
    ]) {
      expect(isRawNumber(value)).toBe(true);
      expect(JSON.stringify(value)).toBe(source);
    }
  });

  test("beside one that keeps its digits stay plain numbers", () => {
    const { value } = parseJsonObject('{"a":1.50,"b":[12345678901234567890,2e3,0.30000000000000004]}');
    expect(value["a"]).toBe(1.5);
    expect((value["b"] as readonly Json[]).slice(1)).toEqual([2000, 0.30000000000000004]);
    expect(JSON.stringify(value)).toBe('{"a":1.5,"b":[12345678901234567890,2000,0.30000000000000004]}');
  });

  test("inside strings are text", () => {
    const text =
      '{"id":"12345678901234567890","a\\"1e400":["\\\\",1.0,"\\"99999999999999999999"],"12345678901234567890":1}';
    expect(parseJsonObject(text).value).toEqual({
      id: "12345678901234567890",
      'a"1e400': ["\\", 1, '"99999999999999999999'],
      "12345678901234567890": 1,
    });
    expect(parseJson(text)).toEqual(JSON.parse(text));
  });

  test("of any length keep every digit, anywhere in the tree", () => {
    const literal = fc
      .tuple(
        fc.constantFrom("", "-"),
        fc.integer({ min: 1, max: 9 }),
        digits(16, 60),
        fc.oneof(
          fc.constant(""),
          digits(1, 30).map((list) => `.${list}7`),
        ),
        fc.constantFrom("", "e5", "E-12", "e+400"),
      )
      .map((parts) => parts.join(""));
    const tree = fc.letrec<{ tree: string }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        literal.filter((text) => decimalDiffers(text)),
        fc.constantFrom("1", "true", "null", '"12345678901234567890"', '"\\"1e999,"'),
        fc.array(tie("tree"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
        fc
          .array(tie("tree"), { maxLength: 4 })
          .map((items) => `{${items.map((item, index) => `"k${index}":${item}`).join(",")}}`),
      ),
    })).tree;
    fc.assert(
      fc.property(tree, fc.constantFrom("", LONG), (text, around) => {
        expect(JSON.stringify(parseJson(around + text))).toBe(text);
        expect(JSON.stringify(parseJsonObject(`{"a":${text},"b":0}`).value)).toBe(`{"a":${text},"b":0}`);
      }),
      { numRuns: 1000 },
    );
  });

  /** By another way than the parser's: both as fractions of big integers. */
  function decimalDiffers(literal: string): boolean {
    const asFraction = (text: string): readonly [bigint, bigint] => {
      const [, sign = "", whole = "", fraction = "", power = "0"] =
        /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
      const scale = Number(power) - fraction.length;
      const mantissa = BigInt(sign + whole + fraction);
      return scale >= 0 ? [mantissa * 10n ** BigInt(scale), 1n] : [mantissa, 10n ** BigInt(-scale)];
    };
    const value = Number(literal);
    if (!Number.isFinite(value)) return true;
    const [top, bottom] = asFraction(literal);
    const [otherTop, otherBottom] = asFraction(String(value));
    return top * otherBottom !== otherTop * bottom;
  }

  test("become RawNumbers exactly when a double prints another value", () => {
    const literal = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
      fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }).map(String),
      fc.tuple(fc.integer(), digits(1, 20)).map(([whole, fraction]) => `${whole}.${fraction}`),
      fc
        .tuple(fc.nat({ max: 99 }), fc.integer({ min: -330, max: 330 }))
        .map(([mantissa, power]) => `${mantissa}e${power}`),
    );
    fc.assert(
      fc.property(literal, (text) => {
        expect(isRawNumber(parseJson(text))).toBe(decimalDiffers(text));
        expect(isRawNumber(parseJsonObject(`{"n":${text}}`).value["n"])).toBe(decimalDiffers(text));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a refusal has the reason and the place", () => {
  test.each([
    ["", "Expected a value, got the end of the text at offset 0 (line 1, column 1)."],
    ["  \n", "Expected a value, got the end of the text at offset 3 (line 2, column 1)."],
    ["<html>", 'Expected a value, got "<" at offset 0 (line 1, column 1).'],
    ['{"a":1', 'Expected "," or "}", got the end of the text at offset 6 (line 1, column 7).'],
    ['{"a":1,\n "b":2,\n}', 'There is a comma before the closing "}" at offset 14 (line 2, column 7).'],
    ["[1,]", 'There is a comma before the closing "]" at offset 2 (line 1, column 3).'],
    ["[1 2]", 'Expected "," or "]", got "2" at offset 3 (line 1, column 4).'],
    ["{'a':1}", 'Expected a key in double quotes, got "\'" at offset 1 (line 1, column 2).'],
    ["{a:1}", 'Expected a key in double quotes, got "a" at offset 1 (line 1, column 2).'],
    ['{"a" 1}', 'Expected ":" after the key, got "1" at offset 5 (line 1, column 6).'],
    ['{"a":None}', 'Expected a value, got "None" at offset 5 (line 1, column 6).'],
    ['{"a":NaN}', 'Expected a value, got "NaN" at offset 5 (line 1, column 6).'],
    ['{"a":}', 'Expected a value, got "}" at offset 5 (line 1, column 6).'],
    ['{"a":"b', "A string has no closing quote at offset 5 (line 1, column 6)."],
    ['{"a":"b\\', "A string has no closing quote at offset 5 (line 1, column 6)."],
    ['{"a":"b\nc"}', 'The control character "\\n" must be escaped in a string at offset 7 (line 1, column 8).'],
    ['{"a":"\u001f"}', 'The control character "\\u001f" must be escaped in a string at offset 6 (line 1, column 7).'],
    [
      '{"a":"\\x41"}',
      "A string contains a backslash that does not begin a JSON escape at offset 6 (line 1, column 7).",
    ],
    [
      '{"a\\u12G4":1}',
      "A string contains a backslash that does not begin a JSON escape at offset 3 (line 1, column 4).",
    ],
    ['{"a":01}', "A number has a leading zero at offset 5 (line 1, column 6)."],
    ['{"a":-}', 'Expected a digit, got "}" at offset 6 (line 1, column 7).'],
    ['{"a":1.}', 'Expected a digit after the decimal point, got "}" at offset 7 (line 1, column 8).'],
    ['{"a":1e+}', 'Expected a digit of the exponent, got "}" at offset 8 (line 1, column 9).'],
    ['{"a":1}{"b":2}', 'Expected the end of the text after the value, got "{" at offset 7 (line 1, column 8).'],
    ['\ufeff{"a":1}', "Expected a value, got a byte order mark at offset 0 (line 1, column 1)."],
    ['{"a":😀}', 'Expected a value, got "😀" at offset 5 (line 1, column 6).'],
  ])("%j", (text, message) => {
    for (const parse of [parseJson, parseJsonObject]) {
      const refusal = refusalOf(() => parse(text));
      expect(refusal.message).toBe(message);
      expect(message).toContain(`offset ${refusal.offset} `);
    }
  });
});

describe("time", () => {
  test.each([
    ["escaped quotes", (size: number) => `{"a":"${'\\"'.repeat(20 * size)}"}`],
    ["backslashes", (size: number) => `{"a":"${"\\\\".repeat(20 * size)}"}`],
    ["digits of one number", (size: number) => `{"a":${"1".repeat(20 * size)}}`],
    ["zeros inside one number", (size: number) => `{"a":1${"0".repeat(20 * size)}1}`],
    ["zeros behind the point", (size: number) => `{"a":0.${"0".repeat(20 * size)}1}`],
    ["long numbers", (size: number) => `{"a":[${"12345678901234567,".repeat(size)}0]}`],
    ["exponents that are none", (size: number) => `{"a":${"1e1".repeat(10 * size)}}`],
    [
      "members",
      (size: number) => `{${Array.from({ length: size }, (_, index) => `"key${index}":${index}`).join(",")}}`,
    ],
    ["white space", (size: number) => `{${" ".repeat(40 * size)}"a"${"\n".repeat(10 * size)}:1x}`],
  ])("for millions of %s is in proportion", async (_name, textOf) => {
    const read = (text: string): void => {
      try {
        parseJsonObject(text);
      } catch (thrown) {
        expect(thrown).toBeInstanceOf(JsonError);
      }
    };
    expect(await growth(textOf, read, 25_000)).toBeLessThan(MOST_GROWTH);
  });
});
