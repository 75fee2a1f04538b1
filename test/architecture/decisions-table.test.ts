// docs/where-decided.md, which is made of what the files of src/ say: the files of each row exist, and the names in
// parentheses stand in their code.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { decisionsIn } from "../../docs/generate-where-decided.ts";

const PROJECT = join(import.meta.dir, "../..");
const PAGE = readFileSync(join(PROJECT, "docs/where-decided.md"), "utf8");
const rows = PAGE.split("\n").filter((line) => line.startsWith("| ") && !/^\| (question|---) /.test(line));

/** The existing files of a row; a name without a folder stands beside the file before it. */
function filesIn(row: string): readonly string[] {
  let folder = "";
  return [...row.matchAll(/`([\w./-]+\.ts)`/g)].map(([, name]) => {
    const path = existsSync(join(PROJECT, "src", name!)) ? name! : `${folder}/${name}`;
    folder = path.slice(0, path.lastIndexOf("/"));
    return join(PROJECT, "src", path);
  });
}

function namesIn(row: string): readonly string[] {
  const parentheses = [...row.matchAll(/\(([^)]*)\)/g)].flatMap(([, inside]) => [...inside!.matchAll(/`(\w+)`/g)]);
  return parentheses.map(([, name]) => name!);
}

test("the table has rows", () => expect(rows.length).toBeGreaterThan(40));

test.each(rows.map((row) => [row.split("|")[1]!.trim(), row]))("the files and names of the row exist: %s", (_, row) => {
  const files = filesIn(row);
  expect(files.filter((path) => !existsSync(path) || !statSync(path).isFile())).toEqual([]);
  const folders = [...row.matchAll(/`([\w/-]+\/)`/g)].map(([, path]) => path!);
  expect(folders.filter((path) => !existsSync(join(PROJECT, "src", path)))).toEqual([]);
  const source = files.map((path) => readFileSync(path, "utf8").replaceAll(/^\/\/.*$/gm, "")).join("\n");
  expect(namesIn(row).filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([]);
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
