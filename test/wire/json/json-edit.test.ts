// Edits of a JSON text: what is not edited stays byte for byte, and the value is that which the edits say.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonEdit } from "../../../src/core/request/json-edit.ts";
import { isObject, type Json, type JsonObject } from "../../../src/core/json.ts";
import { editedJson, editedObject } from "../../../src/wire/json/json-edit.ts";
import { editedInOnePass } from "../../../src/wire/json/json-edit-in-one-pass.ts";
import { drawCount } from "../../harness/time/long-run.ts";

const TEXT = '{ "a" : 1.0, "b":[ {"x":"}"} ,2, [] ],"c" :{"d":"\\u00e9\\"", "e":{}} ,"f\\u0067":null }';

/** The text of an object with some of the names, some of them spelled with escapes, with lists of objects, and with spaces. */
function objectText(names: readonly string[], leaf: fc.Arbitrary<Json>, depth: number): fc.Arbitrary<string> {
  const value = leaf.map((one) => JSON.stringify(one));
  const inner = depth === 0 ? value : fc.oneof(value, ...containerTexts(names, leaf, depth - 1));
  const member = fc.tuple(fc.constantFrom(...names), fc.boolean(), inner);
  return fc
    .tuple(fc.uniqueArray(member, { selector: ([name]) => name, maxLength: 6 }), fc.constantFrom("", " ", "\n "))
    .map(([members, space]) => {
      const texts = members.map(([name, isEscaped, text]) => {
        const key = isEscaped && name === "a" ? '"\\u0061"' : JSON.stringify(name);
        return `${key}${space}:${space}${text}`;
      });
      return `{${space}${texts.join(`${space},`)}${space}}`;
    });
}

/** Returns the path of each value inside of this one. */
function pathsIn(value: Json): readonly JsonEdit["path"][] {
  const entries: readonly (readonly [string | number, Json])[] = Array.isArray(value)
    ? [...(value as readonly Json[]).entries()]
    : isObject(value)
      ? (Object.entries(value) as [string, Json][])
      : [];
  return entries.flatMap(([key, inner]) => [[key], ...pathsIn(inner).map((path) => [key, ...path])]);
}

function containerTexts(
  names: readonly string[],
  leaf: fc.Arbitrary<Json>,
  depth: number,
): readonly fc.Arbitrary<string>[] {
  const object = objectText(names, leaf, depth);
  const item = fc.oneof(
    leaf.map((one) => JSON.stringify(one)),
    object,
  );
  const list = fc
    .tuple(fc.array(item, { maxLength: 3 }), fc.constantFrom("", " ", "\n "))
    .map(([items, space]) => `[${space}${items.join(`${space},${space}`)}${space}]`);
  return [object, list];
}

describe("edits", () => {
  test("leave everything else byte for byte", () => {
    const edited: readonly (readonly [JsonEdit["path"], Json | undefined, string])[] = [
      [["a"], "é", TEXT.replace("1.0", '"é"')],
      [["a"], undefined, TEXT.replace('"a" : 1.0, ', "")],
      [["fg"], 7, TEXT.replace("null", "7")],
      [["fg"], undefined, TEXT.replace(' ,"f\\u0067":null', "")],
      [["b"], undefined, TEXT.replace(', "b":[ {"x":"}"} ,2, [] ]', "")],
      [["b", 0, "x"], 1, TEXT.replace('"}"', "1")],
      [["b", 1], undefined, TEXT.replace(" ,2", "")],
      [["b", 9], 1, TEXT],
      [["c", "e", "n"], true, TEXT.replace('"e":{}', '"e":{"n":true}')],
      [["a", "n"], true, TEXT.replace("1.0", '{"n":true}')],
      [["a", "n"], undefined, TEXT],
      [["n", "m"], undefined, TEXT],
      [["n"], [1], `${TEXT.slice(0, -2)},"n":[1] }`],
      [["n", "m"], 1, `${TEXT.slice(0, -2)},"n":{"m":1} }`],
    ];
    for (const [path, value, expected] of edited) {
      expect(editedJson(TEXT, [{ path, value }])).toBe(expected);
      expect(editedObject(TEXT, [{ path, value }])).toBe(expected);
    }
    expect(editedJson(" { } ", [{ path: ["a"], value: 1 }])).toBe(' {"a":1 } ');
    expect(editedJson("[1]", [{ path: ["a"], value: 1 }])).toBe('{"a":1}');
    expect(editedJson(TEXT, [])).toBe(TEXT);
  });

  test("are the same in one pass as with a list of the members of each object", () => {
    const names = ["a", "b", "c", "fg", "__proto__", 'q"', "é", "d"];
    const leaf = fc.constantFrom<Json[]>(null, 1.5, "x\\,}", [], {}, [{ a: 1 }, "]"], { a: { b: [1] }, c: "{" });
    const name = fc.constantFrom(...names);
    const inside = fc.array(fc.oneof(name, fc.constantFrom(0, 1, 2)), { maxLength: 3 });
    const path = fc.tuple(name, inside).map(([first, rest]) => [first, ...rest]);
    const value = fc.option(leaf, { freq: 20, nil: undefined });
    const changes = objectText(names, leaf, 1).chain((text) => {
      const there = pathsIn(JSON.parse(text) as Json);
      const edit = fc.record({ path: there.length === 0 ? path : fc.oneof(fc.constantFrom(...there), path), value });
      return fc.tuple(fc.constant(text), fc.array(edit, { minLength: 1, maxLength: 3 }));
    });
    let inOnePass = 0;
    let inLists = 0;
    fc.assert(
      fc.property(changes, ([text, edits]) => {
        const expected = editedObject(text, edits);
        expect(editedJson(text, edits)).toBe(expected);
        const edited = editedInOnePass(text, edits);
        if (edited === null) return;
        inOnePass += 1;
        if (edited !== text && edits.some(({ path: [, index] }) => typeof index === "number")) inLists += 1;
        expect(edited).toBe(expected);
      }),
      { numRuns: drawCount(1000, 50_000) },
    );
    expect(inOnePass).toBeGreaterThan(50);
    expect(inLists).toBeGreaterThan(10);
  });

  test("reach into lists and make objects in one pass", () => {
    const text = '{"o":[ 1, {"c":[{"t":"x"}]} ,[2]],"p":[]}';
    const edited = editedInOnePass(text, [
      { path: ["o", 1, "c", 0, "l"], value: [] },
      { path: ["o", 2, 0], value: 3 },
      { path: ["p", 0], value: 4 },
      { path: ["u", "d", "n"], value: 0 },
      { path: ["u", "d", "m"], value: undefined },
      { path: ["v", "d"], value: undefined },
    ]);
    expect(edited).toBe('{"o":[ 1, {"c":[{"t":"x","l":[]}]} ,[3]],"p":[],"u":{"d":{"n":0}}}');
  });

  test("are left to another pass where a name might stand twice", () => {
    const edits = [{ path: ["a", "b"], value: 1 }];
    for (const text of ['{"a":{"b":2},"a":{}}', '{"a":{"c":1,"c":2,"b":0}}', '{"a":{"b":2,"\\u0062":3}}'])
      expect(() => editedJson(text, edits)).toThrow("occurs twice");
    expect(editedInOnePass('{"a":{"c":1,"b":0}}', edits)).toBe('{"a":{"c":1,"b":1}}');
  });

  test("give the value that they say, several at once, in any order", () => {
    const names = ["a", "b", "c", "fg", "n", "o"];
    const values: readonly (Json | undefined)[] = [undefined, null, "x,}", { q: 1 }];
    for (let draw = 0; draw < 4 ** 6; draw++) {
      const edits = names.map((name, at) => ({ path: [name], value: values[Math.floor(draw / 4 ** at) % 4] }));
      const expected: Record<string, Json | undefined> = { ...(JSON.parse(TEXT) as JsonObject) };
      for (const { path, value } of edits) {
        if (value === undefined) delete expected[path[0]!];
        else expected[path[0]!] = value;
      }
      const order = draw % 2 === 0 ? edits : edits.toReversed();
      const edited = JSON.parse(editedJson(TEXT, order)) as Json;
      expect(isObject(edited) && edited).toEqual(expected as JsonObject);
    }
  });
});
