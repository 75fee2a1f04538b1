// Edits of a JSON text: what is not edited stays byte for byte, and the value is that which the edits say.
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { JsonEdit } from "../../../src/core/request/json-edit.ts";
import { isObject, type Json, type JsonObject } from "../../../src/core/json.ts";
import { editedJson } from "../../../src/wire/json/json-edit.ts";
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

/** A value with the text that stands around its members or items. */
type Tree =
  | { readonly leaf: string }
  | { readonly open: string; readonly entries: readonly Entry[]; readonly close: string };

interface Entry {
  /** What stands between this one and the one before: a comma and spaces. */
  readonly before: string;
  /** `null` for an item. */
  readonly name: string | null;
  /** The name as it is written, with its colon. */
  readonly key: string;
  readonly value: Tree;
}

/** An independent reading of a text, by regular expressions. */
function treeOf(text: string): Tree {
  let rest = text;
  const take = (what: RegExp): string => {
    const [found] = what.exec(rest)!;
    rest = rest.slice(found.length);
    return found;
  };
  const value = (): Tree => {
    if (!/^\s*[{[]/.test(rest)) return { leaf: take(/^(?:"(?:[^"\\]|\\.)*"|[^,\]}\s]+)/) };
    const open = take(/^\s*[{[]\s*/);
    const entries: Entry[] = [];
    while (!/^\s*[}\]]/.test(rest)) {
      const before = take(/^\s*,?\s*/);
      const key = open.includes("{") ? take(/^"(?:[^"\\]|\\.)*"\s*:\s*/) : "";
      const name = key === "" ? null : (JSON.parse(/^".*"/s.exec(key)![0]) as string);
      entries.push({ before, name, key, value: value() });
    }
    return { open, entries, close: take(/^\s*[}\]]/) };
  };
  const tree = value();
  return "close" in tree ? { ...tree, close: tree.close + rest } : tree;
}

function written(tree: Tree): string {
  if ("leaf" in tree) return tree.leaf;
  const entries = tree.entries.map(({ before, key, value }, at) => (at === 0 ? "" : before) + key + written(value));
  return tree.open + entries.join("") + tree.close;
}

/** Returns null for a value that is removed, or that is not there and that nothing makes. */
function editedTree(tree: Tree | null, edits: readonly JsonEdit[]): Tree | null {
  const whole = edits.findLast(({ path }) => path.length === 0);
  if (whole !== undefined) return whole.value === undefined ? null : { leaf: JSON.stringify(whole.value) };
  if (edits.length === 0) return tree;
  if (tree === null || "leaf" in tree) {
    if (edits.every(({ value }) => value === undefined)) return tree;
    return editedTree({ open: "{", entries: [], close: "}" }, edits);
  }
  const below = Map.groupBy(edits, ({ path: [key] }) => key!);
  const inside = (key: string | number): readonly JsonEdit[] =>
    (below.get(key) ?? []).map(({ path, value }) => ({ path: path.slice(1), value }));
  const isObjectTree = tree.open.includes("{");
  const kept = tree.entries.flatMap((entry, index) => {
    const value = editedTree(entry.value, inside(entry.name ?? index));
    return value === null ? [] : [{ ...entry, value }];
  });
  const there = new Set(tree.entries.map(({ name }) => name));
  const added = [...Map.groupBy(isObjectTree ? edits : [], ({ path: [key] }) => String(key)).keys()]
    .filter((name) => !there.has(name))
    .flatMap((name): Entry[] => {
      const own = edits.filter(({ path: [key] }) => String(key) === name);
      const value = editedTree(
        null,
        own.map(({ path, value: made }) => ({ path: path.slice(1), value: made })),
      );
      return value === null ? [] : [{ before: ",", name, key: `${JSON.stringify(name)}:`, value }];
    });
  const entries = [...kept, ...added];
  // in an object without members, the first one stands behind the brace
  if (tree.entries.length > 0 || added.length === 0) return { ...tree, entries };
  return { open: tree.open.trimEnd(), entries, close: tree.open.slice(tree.open.trimEnd().length) + tree.close };
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
    for (const [path, value, expected] of edited) expect(editedJson(TEXT, [{ path, value }])).toBe(expected);
    expect(editedJson(" { } ", [{ path: ["a"], value: 1 }])).toBe(' {"a":1 } ');
    expect(editedJson("[1]", [{ path: ["a"], value: 1 }])).toBe('{"a":1}');
    expect(editedJson(TEXT, [])).toBe(TEXT);
  });

  test("are the same as those of a tree of the text, with removed and added places at any depth", () => {
    const names = ["a", "b", "c", "fg", "__proto__", 'q"', "é", "d"];
    const leaf = fc.constantFrom<Json[]>(null, 1.5, "x\\,}", [], {}, [{ a: 1 }, "]"], { a: { b: [1] }, c: "{" });
    const name = fc.constantFrom(...names);
    const inside = fc.array(fc.oneof(name, fc.constantFrom(0, 1, 2)), { maxLength: 3 });
    const path = fc.tuple(name, inside).map(([first, rest]) => [first, ...rest]);
    const value = fc.option(leaf, { freq: 2, nil: undefined });
    const changes = objectText(names, leaf, 1).chain((text) => {
      const there = pathsIn(JSON.parse(text) as Json);
      const edit = fc.record({ path: there.length === 0 ? path : fc.oneof(fc.constantFrom(...there), path), value });
      return fc.tuple(fc.constant(text), fc.array(edit, { minLength: 1, maxLength: 5 }));
    });
    fc.assert(
      fc.property(changes, ([text, edits]) => {
        expect(editedJson(text, edits)).toBe(written(editedTree(treeOf(text), edits)!));
      }),
      { numRuns: drawCount(1000, 50_000) },
    );
  });

  test("reach into lists and make objects", () => {
    const text = '{"o":[ 1, {"c":[{"t":"x"}]} ,[2]],"p":[]}';
    const edited = editedJson(text, [
      { path: ["o", 1, "c", 0, "l"], value: [] },
      { path: ["o", 2, 0], value: 3 },
      { path: ["p", 0], value: 4 },
      { path: ["u", "d", "n"], value: 0 },
      { path: ["u", "d", "m"], value: undefined },
      { path: ["v", "d"], value: undefined },
    ]);
    expect(edited).toBe('{"o":[ 1, {"c":[{"t":"x","l":[]}]} ,[3]],"p":[],"u":{"d":{"n":0}}}');
  });

  test("are refused in an object with two members of one name", () => {
    const edits = [{ path: ["a", "b"], value: 1 }];
    for (const text of ['{"a":{"b":2},"a":{}}', '{"a":{"c":1,"c":2,"b":0}}', '{"a":{"b":2,"\\u0062":3}}'])
      expect(() => editedJson(text, edits)).toThrow("occurs twice");
    const many = Array.from({ length: 300 }, (_, index) => `"m${index}":${index}`).join();
    expect(editedJson(`{"a":{${many},"b":0}}`, edits)).toBe(`{"a":{${many},"b":1}}`);
    expect(() => editedJson(`{"a":{${many},"m299":0}}`, edits)).toThrow("occurs twice");
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
