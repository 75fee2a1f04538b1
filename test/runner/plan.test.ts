// The plan of a run: which files share a process, beside what they run, and what may be tried again.
import { describe, expect, test } from "bun:test";
import { mayTryAgain, planOf } from "./plan.ts";
import { filesOfRun, isQuick, keyOf, kindOf, overDatabases, type TestFile } from "./test-file.ts";
import type { Times } from "./times.ts";

const file = (path: string, text = ""): TestFile => ({ path: `test/${path}.test.ts`, text, database: null });
const BROWSER = file("e2e/console/x", 'import { launch } from "../harness/console/chromium.ts";');
const FILES = [
  file("wire/a"),
  file("wire/b"),
  file("wire/long"),
  file("core/c"),
  file("e2e/d"),
  file("e2e/drills/x"),
  BROWSER,
];
const time = (cpuS: number): Times[string] => ({ cpuS, wallS: cpuS, tests: 1 });
const TIMES: Times = {
  "test/wire/a.test.ts": time(1),
  "test/wire/b.test.ts": time(1),
  "test/wire/long.test.ts": time(20),
  "test/core/c.test.ts": time(1),
  "test/e2e/d.test.ts": time(1),
  "test/e2e/drills/x.test.ts": time(9),
  "test/e2e/console/x.test.ts": time(8),
};
const named = (isWholeRun: boolean, times = TIMES): readonly string[] =>
  planOf(FILES, times, isWholeRun).map(
    ({ files, lane }) =>
      `${files.map(({ path }) => path.slice("test/".length, -".test.ts".length)).join("+")}${lane === "together" ? "" : ` ${lane}`}`,
  );

describe("planOf", () => {
  test("begins with what took longest, lets small files of a folder share a process, and keeps pages among themselves and drills alone", () => {
    expect(named(true)).toEqual([
      "wire/long",
      "e2e/drills/x alone",
      "e2e/console/x pages",
      "wire/a+wire/b",
      "e2e/d",
      "core/c",
    ]);
  });

  test("gives each of the files that were asked for a process of its own", () => {
    expect(named(false).toSorted()).toEqual([
      "core/c",
      "e2e/console/x pages",
      "e2e/d",
      "e2e/drills/x alone",
      "wire/a",
      "wire/b",
      "wire/long",
    ]);
  });

  test("lets nothing share a process of which no run has told", () => {
    expect(named(true, {})).toHaveLength(FILES.length);
  });

  test("holds each file once, however many there are", () => {
    const many = Array.from({ length: 100 }, (_, index) => file(`wire/${index}`));
    const times = Object.fromEntries(many.map(({ path }, index) => [path, time((index % 30) / 10)]));
    const plan = planOf(many, times, true);
    const paths = (files: readonly TestFile[]): readonly string[] => files.map(({ path }) => path).toSorted();
    expect(paths(plan.flatMap(({ files }) => files))).toEqual(paths(many));
    for (const { files } of plan)
      expect(files.reduce((total, { path }) => total + times[path]!.cpuS, 0)).toBeLessThanOrEqual(12);
  });
});

test("kindOf tells by the path and by what the file imports", () => {
  expect(FILES.map(kindOf)).toEqual(["other", "other", "other", "other", "process", "drill", "browser"]);
  expect(["spec/a", "contract/a", "packaging/a", "smoke/a"].map((path) => kindOf(file(path)))).toEqual([
    "spec",
    "contract",
    "process",
    "smoke",
  ]);
});

describe("npm test", () => {
  test("leaves real processes, browsers and packages to npm run test:all, but for test/smoke/", () => {
    expect(["e2e/a", "packaging/a", "smoke/a", "spec/a", "contract/a"].map((path) => isQuick(file(path)))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
  });

  test("and what it leaves out is run by --rest, also where --all is given, so that no file runs in both", () => {
    const paths = (...switches: readonly string[]): readonly string[] =>
      filesOfRun(FILES, new Set(switches)).map(({ path }) => path);
    const rest = ["test/e2e/d.test.ts", "test/e2e/drills/x.test.ts", "test/e2e/console/x.test.ts"];
    expect(paths("--rest")).toEqual(rest);
    expect(paths("--all", "--rest")).toEqual(rest);
    expect(paths("--all")).toEqual(FILES.map(({ path }) => path));
    expect(paths()).toEqual(FILES.map(({ path }) => path).filter((path) => !rest.includes(path)));
  });

  test("runs a suite over all databases over SQLite, and npm run test:all adds it over PostgreSQL, in a process of its own", () => {
    const both = ["spec/a", "spec/b"].flatMap((path) => overDatabases(file(path).path, "await allDatabases()"));
    expect(both.map((one) => [keyOf(one), isQuick(one)])).toEqual([
      ["test/spec/a.test.ts", true],
      ["test/spec/a.test.ts over PostgreSQL", false],
      ["test/spec/b.test.ts", true],
      ["test/spec/b.test.ts over PostgreSQL", false],
    ]);
    const times = Object.fromEntries(both.map((one) => [keyOf(one), time(1)]));
    expect(planOf(both, times, true).map(({ files }) => files.map(keyOf))).toEqual([
      ["test/spec/a.test.ts", "test/spec/b.test.ts"],
      ["test/spec/a.test.ts over PostgreSQL", "test/spec/b.test.ts over PostgreSQL"],
    ]);
    expect(overDatabases("test/e2e/a.test.ts", "await allDatabases()")).toHaveLength(1);
    expect(overDatabases("test/spec/a.test.ts", "")).toHaveLength(1);
  });
});

describe("a process that failed may run once more", () => {
  test("but not after a counterexample", () => {
    expect(mayTryAgain([file("wire/a")], "error: expect(received).toBe(expected)")).toBe(true);
    for (const output of [
      'error: Property failed after 3 tests\n{ seed: 5, path: "2" }\nCounterexample: [0]',
      "error: in the world of seed 7",
      "error: DRAGOMAN_TEST_SEED=12, step 4: {}",
    ])
      expect(mayTryAgain([file("wire/a")], output)).toBe(false);
  });

  test("and not where money, limits or tenants are counted, or a model is compared", () => {
    for (const name of ["e2e/drills/ledger", "e2e/drills/upstream", "e2e/limits/limits-killed", "store/ledger-model"])
      expect(mayTryAgain([file(name)], "error")).toBe(false);
    expect(mayTryAgain([file("e2e/console/calls")], "error")).toBe(true);
  });
});
