// docs/where-decided.md, which is made of what the files of src/ say, and docs/design/row-of-a-call.md: the files of each
// row of their tables exist, and its names stand in the code of the file with which they are named.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { decisionsIn } from "../../docs/generators/where-decided.ts";

const PROJECT = join(import.meta.dir, "../..");
const SRC = join(PROJECT, "src");
const rows = ["docs/where-decided.md", "docs/design/row-of-a-call.md"]
  .flatMap((page) => readFileSync(join(PROJECT, page), "utf8").split("\n"))
  .filter((line) => line.startsWith("| ") && !/^\| (question|step|what fails|---) /.test(line));

/** A file of a row, by its path from src/; or a name that stands in its code. */
interface Named {
  readonly path: string;
  readonly name: string | null;
}

/**
 * The files of a row, of which one may be named by its path from the file before it; each name in parentheses, with the
 * file that the row names last before it; and each name of which the row says that it is "of" a file.
 */
function namedIn(row: string): readonly Named[] {
  const named: Named[] = [];
  let path = "";
  for (const { groups } of row.matchAll(
    /(?:`(?<part>\w+)` of )?`(?<file>[\w./-]+\.ts)`|(?<=\([^()]*)`(?<name>\w+)`/g,
  )) {
    const { file, part = null, name = null } = groups!;
    if (file !== undefined) path = existsSync(join(SRC, file)) ? file : join(dirname(path), file);
    named.push({ path, name: part ?? name });
  }
  return named;
}

/** Without its comments. */
const codeOf = (path: string): string =>
  readFileSync(join(SRC, path), "utf8").replaceAll(/^\s*\/\/.*$|\/\*\*?\s[^]*?\*\//gm, "");

test("the tables have rows", () => expect(rows.length).toBeGreaterThan(40));

test.each(rows.map((row) => [row.split("|")[1]!.trim(), row]))(
  "the files of the row exist, and its names stand in the file with which they are named: %s",
  (_, row) => {
    const named = namedIn(row);
    expect(named.filter(({ path }) => !existsSync(join(SRC, path)) || !statSync(join(SRC, path)).isFile())).toEqual([]);
    const folders = [...row.matchAll(/`([\w/-]+\/)`/g)].map(([, path]) => path!);
    expect(folders.filter((path) => !existsSync(join(SRC, path)))).toEqual([]);
    expect(named.filter(({ path, name }) => name !== null && !new RegExp(`\\b${name}\\b`).test(codeOf(path)))).toEqual(
      [],
    );
  },
);

test("a name belongs to the file before it, or to the one that it is said to be of", () => {
  const row =
    "| ? | `core/chat.ts` (`f`, `g` after it); `json.ts` (`h`); by `X` of `wire/sse.ts` | 5 s (`Y` of `lines.ts`). |";
  expect(namedIn(row)).toEqual([
    { path: "core/chat.ts", name: null },
    { path: "core/chat.ts", name: "f" },
    { path: "core/chat.ts", name: "g" },
    { path: "core/json.ts", name: null },
    { path: "core/json.ts", name: "h" },
    { path: "wire/sse.ts", name: "X" },
    { path: "wire/lines.ts", name: "Y" },
  ]);
});

test("a comment tells its decisions over several lines, and one of another form is refused with its file", () => {
  const text = [
    "// Decides nothing itself.",
    "",
    "// Decides (the request): Is it long? By: `f`, `g` after it. Also: `a.ts`",
    "// (`h`). Rule: From 512 KiB on.",
    "// Decides (the answer): Is it?",
    'import "./a.ts";',
    "// not a part of it",
  ].join("\n");
  expect(decisionsIn("b.ts", text)).toEqual([
    {
      part: "the request",
      question: "Is it long?",
      by: "`f`, `g` after it",
      also: "`a.ts` (`h`)",
      rule: "From 512 KiB on.",
    },
    { part: "the answer", question: "Is it?", by: null, also: null, rule: "" },
  ]);
  for (const wrong of ["Decides (the weather): Is it?", "Decides (the request): It is."])
    expect(() => decisionsIn("b.ts", `// ${wrong}`)).toThrow(`b.ts: "${wrong}" is not of the form`);
});
