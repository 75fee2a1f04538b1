// Edits of a JSON text: what is not edited stays byte for byte, and the value is that which the edits say.
import { describe, expect, test } from "bun:test";
import type { JsonEdit } from "../../src/core/json-edit.ts";
import { isObject, type Json, type JsonObject } from "../../src/core/json.ts";
import { editedJson } from "../../src/wire/json-edit.ts";
import { parseJsonObject } from "../../src/wire/json.ts";

const TEXT = '{ "a" : 1.0, "b":[ {"x":"}"} ,2, [] ],"c" :{"d":"\\u00e9\\"", "e":{}} ,"f\\u0067":null }';

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
      expect(editedJson(TEXT, [{ path, value }], parseJsonObject(TEXT).members)).toBe(expected);
    }
    expect(editedJson(" { } ", [{ path: ["a"], value: 1 }])).toBe(' {"a":1 } ');
    expect(editedJson("[1]", [{ path: ["a"], value: 1 }])).toBe('{"a":1}');
    expect(editedJson(TEXT, [])).toBe(TEXT);
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
