// The configuration of another gateway as a tree: what YAML may do there, places, and bounds.
import { describe, expect, test } from "bun:test";
import { ConfigurationError } from "../../src/config/problem.ts";
import { leavesOf, parseForeignFile, plainOf } from "../../src/import/foreign-file.ts";
import { shownPath } from "../../src/import/secret-shape.ts";

const parse = (text: string, yaml: "1.1" | "1.2" = "1.1") => parseForeignFile({ file: "f", text, yaml });

function problemOf(text: string): string {
  try {
    parse(text);
    return "none";
  } catch (thrown) {
    if (!(thrown instanceof ConfigurationError)) throw thrown;
    return thrown.message;
  }
}

describe("what it reads", () => {
  test("scalars, lists and mappings with the line and column of each", () => {
    const { root } = parse("a:\n  - b: 1\n    c: text\nd: true\n");
    expect(plainOf(root)).toEqual({ a: [{ b: 1, c: "text" }], d: true });
    expect([...leavesOf(root)].map(({ path, line, column }) => [shownPath(path), line, column])).toEqual([
      ["a[0].b", 2, 8],
      ["a[0].c", 3, 8],
      ["d", 4, 4],
    ]);
  });
  test("anchors, aliases and merge keys, whose values stand at each place where they count", () => {
    const { root } = parse("base: &b {x: 1, y: 2}\none:\n  <<: *b\n  y: 3\ntwo: *b\n");
    expect(plainOf(root)).toEqual({ base: { x: 1, y: 2 }, one: { y: 3, x: 1 }, two: { x: 1, y: 2 } });
  });
  test("the last of equal keys, and those that it replaces apart", () => {
    const { root, replaced } = parse("a: 1\nb: 2\na: 3\n");
    expect(plainOf(root)).toEqual({ a: 3, b: 2 });
    expect(replaced.map(({ value, line }) => [value, line])).toEqual([[1, 1]]);
  });
  test("yes and on as booleans in YAML 1.1 only", () => {
    expect(plainOf(parse("a: yes\nb: on\n").root)).toEqual({ a: true, b: true });
    expect(plainOf(parse("a: yes\n", "1.2").root)).toEqual({ a: "yes" });
    expect(plainOf(parse("a: y\nb: N\n").root)).toEqual({ a: "y", b: "N" });
  });
  test("JSON that is indented with tabs", () => {
    expect(plainOf(parse('{\n\t"a": [\n\t\t1,\n\t\t"b"\n\t]\n}\n', "1.2").root)).toEqual({ a: [1, "b"] });
  });
  test("empty lists and mappings as values of their own", () => {
    const { root } = parse("a: []\nb: {}\nc:\n");
    expect([...leavesOf(root)].map(({ path }) => shownPath(path))).toEqual(["a", "b", "c"]);
  });
});

describe("what it refuses", () => {
  test("an empty file", () => expect(problemOf("# nothing\n")).toContain("the file is empty"));
  test("broken YAML, with its line and without quoting it", () => {
    const problem = problemOf('a: 1\nkey: "sk-secret\n');
    expect(problem).toMatch(/^f:\d+:\d+/);
    expect(problem).not.toContain("sk-secret");
  });
  test("several documents", () => expect(problemOf("a: 1\n---\nb: 2\n")).toContain("only one document"));
  test("an alias of itself", () => expect(problemOf("a: &a [*a]\n")).toContain("nested more than 64 levels deep"));
  test("a mapping that merges itself", () =>
    expect(problemOf("a: &a\n  <<: *a\n")).toContain("nested more than 64 levels deep"));
  test("aliases that make a short file long", () => {
    const levels = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"];
    for (let level = 1; level < 7; level += 1)
      levels.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(",")}]`);
    expect(problemOf(levels.join("\n"))).toContain("holds more than 50000 values");
  });
  test("a hundred thousand brackets", () => expect(problemOf("[".repeat(100_000))).not.toBe("none"));
});

test("keys that may be secrets are cut, names of models are not", () => {
  expect(shownPath(["fallbacks", 0, "groq/llama-3.3-70b"])).toBe("fallbacks[0].groq/llama-3.3-70b");
  expect(shownPath(["env", "sk-ant-api03-abcdefghijklmnop"])).not.toContain("abcdefghijkl");
  expect(shownPath(["env", "a".repeat(40)])).not.toContain("a".repeat(20));
});
