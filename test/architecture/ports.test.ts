// Compares the table of ports in ARCHITECTURE.md with the interfaces and suites that exist.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const PROJECT = join(import.meta.dir, "../..");
const CONTRACT = join(PROJECT, "test/contract");
const read = (...path: readonly string[]): string => readFileSync(join(PROJECT, ...path), "utf8");

const section = read("ARCHITECTURE.md").split("\n## Ports\n")[1]?.split(/\n## /)[0] ?? "";
const ports = section
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim().replaceAll("`", "")))
  .map(([, name, file, , suite]) => ({ name: name!, file: file!, suite: suite! }));

test("each port of the table is an interface of its file", () => {
  expect(ports.length).toBeGreaterThan(5);
  expect(ports.filter(({ name, file }) => !new RegExp(`export interface ${name}[ <]`).test(read("src", file)))).toEqual(
    [],
  );
});

test("each suite of the table is played by a test, and no suite is missing in it", () => {
  const files = readdirSync(CONTRACT, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  const imports = (suite: string): readonly string[] =>
    files.filter((file) => basename(file) !== suite && read("test/contract", file).includes(`/${suite}"`));
  const listed = new Set(ports.map(({ suite }) => suite));
  for (const suite of listed)
    expect([suite, imports(suite).some((file) => file.endsWith(".test.ts"))]).toEqual([suite, true]);
  // a suite that is not in the table is a part of one that is, or of what its drivers have beyond the port
  const suites = files.map((file) => basename(file)).filter((file) => file.endsWith(".suite.ts"));
  expect(suites.length).toBeGreaterThan(listed.size);
  expect(suites.filter((suite) => !listed.has(suite) && imports(suite).length === 0)).toEqual([]);
});
