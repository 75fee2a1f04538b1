// docs/promises.md has a line for every number that a tag or a comment names, so that the project alone explains its tests.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { trafficFolder } from "../traffic/cases.ts";
import { projectFolder, readPage } from "./pages.ts";

const original = join(trafficFolder, "../decisions.md");
const originalMissing = !existsSync(original);
if (originalMissing)
  console.log(
    "skipped: the comparison of the numbers in docs/promises.md with their source, which lies beside the recorded traffic; DRAGOMAN_TRAFFIC names its folder",
  );

const promises = readPage("docs/promises.md").text;

/** `d4.3` for each numbered line. */
function numbers(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  let chapter = "";
  for (const line of text.split("\n")) {
    chapter = /^## (\d+)\. /.exec(line)?.[1] ?? chapter;
    const number = /^(\d+)\. /.exec(line)?.[1];
    if (chapter !== "" && number !== undefined) found.add(`d${chapter}.${number}`);
  }
  return found;
}

describe("docs/promises.md", () => {
  test.skipIf(originalMissing)("has the same numbers as its source", () => {
    expect([...numbers(promises)]).toEqual([...numbers(readFileSync(original, "utf8"))]);
  });
  test("cites no page that the project does not have", () => {
    expect(promises.match(/`?(?:research|design)\/[^\s`]*/g)).toBeNull();
  });
  test("has every number that a test's tag or a comment names", () => {
    const known = numbers(promises);
    expect(known.size).toBeGreaterThan(50);
    const files = ["src/**/*.ts", "test/**/*.ts"].flatMap((pattern) => [
      ...new Glob(pattern).scanSync({ cwd: projectFolder }),
    ]);
    const named = files.flatMap((path) => {
      const text = readFileSync(join(projectFolder, path), "utf8");
      const tags = [...text.matchAll(/\[((?:d\d|s:)[^\]\n]*)\]/g)]
        .flatMap(([, list]) => list!.split(/[ ,]+/))
        .filter((tag) => /^d\d+\.\d+$/.test(tag));
      const comments = [...text.matchAll(/decisions (\d+\.\d+)/g)].map(([, number]) => `d${number!}`);
      return [...tags, ...comments].map((tag) => [path, tag] as const);
    });
    expect(named.length).toBeGreaterThan(50);
    // a page that is not about numbers of its own: titles of this file speak of tags
    expect(named.filter(([path, tag]) => !known.has(tag) && path !== "test/docs/promises.test.ts")).toEqual([]);
  });
});
