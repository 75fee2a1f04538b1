// Links inside the project lead to existing files and headings, and examples on the pages load.
import { Glob } from "bun";
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { allPages, anchorsOf, fencesOf, linksOf, projectFolder, readPage } from "./pages.ts";

const pages = allPages();
const inside = (target: string): boolean => !/^[a-z]+:/i.test(target);

describe("pages", () => {
  test("exist", () => {
    const paths = pages.map(({ path }) => path);
    for (const path of [
      "README.md",
      "ARCHITECTURE.md",
      "CHANGELOG.md",
      "docs/api.md",
      "docs/errors.md",
      "docs/providers.md",
      "docs/promises.md",
      "docs/operations.md",
      "docs/sandbox.md",
      "docs/configuration.md",
    ])
      expect(paths).toContain(path);
  });
  test.each(pages.map(({ path }) => path))(
    "%s: every link inside the project leads to a file and a heading",
    (path) => {
      const broken = linksOf(readPage(path))
        .filter(inside)
        .filter((link) => {
          const [file = "", anchor] = link.split("#");
          const target = file === "" ? path : normalize(join(dirname(path), file));
          if (target.startsWith("..") || !existsSync(join(projectFolder, target))) return true;
          return (
            anchor !== undefined &&
            (statSync(join(projectFolder, target)).isDirectory() || !anchorsOf(readPage(target)).has(anchor))
          );
        });
      expect(broken).toEqual([]);
    },
  );
  test("every file of code that a page names exists", () => {
    const files = ["src", "test", "bench", "docs", "console/src", "release"].flatMap((folder) =>
      [...new Glob("**/*.{ts,tsx}").scanSync({ cwd: join(projectFolder, folder) })].map((path) => join(folder, path)),
    );
    const known = new Set([...files, MADE_AT_BUILD].flatMap((path) => namesOf(path)));
    const missing = pages.flatMap(({ path, text }) =>
      [...text.matchAll(/`(?:\.\.\/)*([\w./-]+\.tsx?)`/g)]
        .filter(([, name]) => !known.has(name!))
        .map(([, name]) => `${path}: ${name}`),
    );
    expect(missing).toEqual([]);
    expect(namesOf("src/a/b.ts")).toEqual(["src/a/b.ts", "a/b.ts", "b.ts"]);
  });
  test("links to the outside are https", () => {
    expect(
      pages.flatMap((page) =>
        linksOf(page)
          .filter((link) => !inside(link) && !link.startsWith("https://"))
          .map((link) => `${page.path} ${link}`),
      ),
    ).toEqual([]);
  });
  test("a broken link is detected", () => {
    expect(linksOf({ path: "a.md", text: "[a](b.md#c) `[x](y.md)`\n```\n[z](z.md)\n```\n" })).toEqual(["b.md#c"]);
    expect(anchorsOf({ path: "a.md", text: "# A, b `c`!\n## Two words\n" })).toEqual(new Set(["a-b-c", "two-words"]));
  });
  test("every JSON example in them is valid", () => {
    const wrong = pages.flatMap((page) =>
      fencesOf(page)
        .filter(({ info, text }) => /^json\b/.test(info) && !isJson(text))
        .map(({ line }) => `${page.path}:${line}`),
    );
    expect(wrong).toEqual([]);
  });
  test("every record of a decision has its number in its name and title, stands without a gap, and has the form of a record", () => {
    const records = pages.filter(({ path }) => /^docs\/decisions\/(?!README)/.test(path));
    records.forEach(({ path, text }, index) => {
      expect(path).toMatch(new RegExp(`^docs/decisions/${String(index + 1).padStart(4, "0")}-[a-z0-9-]+\\.md$`));
      expect(faultsOfRecord(text, index + 1).map((fault) => `${path}: ${fault}`)).toEqual([]);
    });
    expect(records.length).toBeGreaterThan(5);
  });
  test("a record that lacks a part of its form is detected", () => {
    const parts = ["Decision", "Why", "Rejected", "Consequences"].map((part) => `**${part}.** Words.`);
    const whole = ["# 7. A title", "**Status.** Accepted, 2026-11-20.", ...parts].join("\n\n");
    expect(faultsOfRecord(whole, 7)).toEqual([]);
    expect(faultsOfRecord(whole, 8)).toEqual(["the title does not begin with # 8."]);
    expect(faultsOfRecord(whole.replace("2026-11-20", "lately"), 7)).toEqual(["the status has no date"]);
    expect(faultsOfRecord(whole.replace("2026-11-20", "2026-13-41"), 7)).toEqual(["the status has no date"]);
    expect(faultsOfRecord(whole.replace("**Rejected.**", "*Rejected.*"), 7)).toEqual([
      "the parts are Status, Decision, Why, Consequences",
    ]);
    expect(faultsOfRecord(`${whole}\n${"words\n".repeat(70)}`, 7)).toEqual([
      "it has more than 60 lines: what explains how something works belongs in docs/design/",
    ]);
  });
  test("every design page begins with its purpose, and links to its record", () => {
    const designs = pages.filter(({ path }) => path.startsWith("docs/design/"));
    for (const { path, text } of designs) {
      expect(text, path).toMatch(/^# \S.*\n\n(?!#)/);
      expect(linksOf({ path, text }), path).toContainEqual(expect.stringMatching(/^\.\.\/decisions\/\d{4}-/));
      const name = path.replace("docs/", "../");
      const records = pages.filter((page) => page.path.startsWith("docs/decisions/") && linksOf(page).includes(name));
      expect(records, `records that lead to ${path}`).not.toEqual([]);
    }
    expect(designs.length).toBeGreaterThan(3);
  });
});

/** A file that pages name and that no commit has. */
const MADE_AT_BUILD = "console/src/api/types.ts";

/** The path of a file, whole and from each of its folders on. */
function namesOf(path: string): readonly string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(index).join("/"));
}

/** The parts of a record, in their order. */
const PARTS = ["Status", "Decision", "Why", "Rejected", "Consequences"];
const MAX_RECORD_LINES = 60;

/** What is wrong with the form of the record of a decision with this number. */
function faultsOfRecord(text: string, number: number): readonly string[] {
  const parts = [...text.matchAll(/^\*\*([A-Z][\w ]*)\.\*\* *(?=\S|\n\n)/gm)].map(([, part]) => part!);
  const date = /^\*\*Status\.\*\* (?:Accepted|Superseded), (\d{4}-\d{2}-\d{2})\./m.exec(text)?.[1];
  return [
    new RegExp(`^# ${number}\\. \\S`).test(text) ? null : `the title does not begin with # ${number}.`,
    date !== undefined && !Number.isNaN(Date.parse(date)) ? null : "the status has no date",
    parts.join() === PARTS.join() ? null : `the parts are ${parts.join(", ")}`,
    text.split("\n").length <= MAX_RECORD_LINES
      ? null
      : `it has more than ${MAX_RECORD_LINES} lines: what explains how something works belongs in docs/design/`,
  ].filter((fault) => fault !== null);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
