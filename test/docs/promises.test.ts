// docs/promises.md carries the decisions word for word, so that a tag can be looked up by whoever has the project alone.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Glob } from "bun";
import { trafficFolder } from "../traffic/cases.ts";
import { projectFolder, readPage } from "./pages.ts";

const original = join(trafficFolder, "../decisions.md");
const originalMissing = !existsSync(original);
if (originalMissing) console.log("skipped: the comparison of docs/promises.md with its original, which stands beside the recorded traffic; DRAGOMAN_TRAFFIC names its folder");

const page = readPage("docs/promises.md").text;
const promises = page.slice(page.indexOf("\n---\n\n") + "\n---\n\n".length);

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
  test.skipIf(originalMissing)("is the original, word for word, below a head of its own", () => {
    expect(promises).toBe(readFileSync(original, "utf8"));
  });
  test("has every number that a test's tag or a comment names", () => {
    const known = numbers(promises);
    expect(known.size).toBeGreaterThan(50);
    const files = ["src/**/*.ts", "test/**/*.ts"].flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: projectFolder })]);
    const named = files.flatMap((path) => {
      const text = readFileSync(join(projectFolder, path), "utf8");
      const tags = [...text.matchAll(/\[((?:d\d|s:)[^\]\n]*)\]/g)].flatMap(([, list]) => list!.split(/[ ,]+/)).filter((tag) => /^d\d+\.\d+$/.test(tag));
      const comments = [...text.matchAll(/decisions (\d+\.\d+)/g)].map(([, number]) => `d${number!}`);
      return [...tags, ...comments].map((tag) => [path, tag] as const);
    });
    expect(named.length).toBeGreaterThan(50);
    // a page that is not about numbers of its own: titles of this file speak of tags
    expect(named.filter(([path, tag]) => !known.has(tag) && path !== "test/docs/promises.test.ts")).toEqual([]);
  });
});
