// The table "Where it is decided" of ARCHITECTURE.md: the files of each row exist, and the names in parentheses stand in
// them.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const PROJECT = join(import.meta.dir, "../..");
const ARCHITECTURE = readFileSync(join(PROJECT, "ARCHITECTURE.md"), "utf8");
const section = ARCHITECTURE.split("\n## Where it is decided\n")[1]!.split("\n## ")[0]!;
const rows = section.split("\n").filter((line) => line.startsWith("| ") && !/^\| (question|---) /.test(line));

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
  const source = files.map((path) => readFileSync(path, "utf8")).join("\n");
  expect(namesIn(row).filter((name) => !new RegExp(`\\b${name}\\b`).test(source))).toEqual([]);
});
