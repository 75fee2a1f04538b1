// Links inside the project lead somewhere, to the heading that they name too; what the pages show loads.
import { describe, expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path/posix";
import { allPages, anchorsOf, fencesOf, linksOf, projectFolder, readPage } from "./pages.ts";

const pages = allPages();
const inside = (target: string): boolean => !/^[a-z]+:/i.test(target);

describe("pages", () => {
  test("are there", () => {
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
  test("links to the outside are https", () => {
    expect(
      pages.flatMap((page) =>
        linksOf(page)
          .filter((link) => !inside(link) && !link.startsWith("https://"))
          .map((link) => `${page.path} ${link}`),
      ),
    ).toEqual([]);
  });
  test("a broken link would be seen", () => {
    expect(linksOf({ path: "a.md", text: "[a](b.md#c) `[x](y.md)`\n```\n[z](z.md)\n```\n" })).toEqual(["b.md#c"]);
    expect(anchorsOf({ path: "a.md", text: "# A, b `c`!\n## Two words\n" })).toEqual(new Set(["a-b-c", "two-words"]));
  });
  test("every JSON that they show is JSON", () => {
    const wrong = pages.flatMap((page) =>
      fencesOf(page)
        .filter(({ info, text }) => /^json\b/.test(info) && !isJson(text))
        .map(({ line }) => `${page.path}:${line}`),
    );
    expect(wrong).toEqual([]);
  });
  test("every decision has its number in its name and title, and stands without a gap", () => {
    const decisions = pages.filter(({ path }) => path.startsWith("docs/decisions/"));
    decisions.forEach(({ path, text }, index) => {
      expect(path).toMatch(new RegExp(`^docs/decisions/${String(index + 1).padStart(4, "0")}-[a-z0-9-]+\\.md$`));
      expect(text).toMatch(
        new RegExp(
          `^# ${index + 1}\\. .*\\n\\n\\*\\*Decided\\.\\*\\* [^]*\\n\\n\\*\\*Why\\.\\*\\* [^]*\\n\\n\\*\\*What follows\\.\\*\\* `,
        ),
      );
    });
    expect(decisions.length).toBeGreaterThan(5);
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
