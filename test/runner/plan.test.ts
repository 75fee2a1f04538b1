// The plan of a run: which files share a process, which run alone, and what may be tried again.
import { describe, expect, test } from "bun:test";
import { mayTryAgain, planOf } from "./plan.ts";
import { kindOf, type TestFile } from "./test-file.ts";
import type { Times } from "./times.ts";

const file = (path: string, text = ""): TestFile => ({ path: `test/${path}.test.ts`, text });
const BROWSER = file("e2e/console-x", 'import { launch } from "../harness/chromium.ts";');
const FILES = [
  file("wire/a"),
  file("wire/b"),
  file("wire/long"),
  file("core/c"),
  file("e2e/d"),
  file("e2e/drill-x"),
  BROWSER,
];
const time = (cpuS: number): Times[string] => ({ cpuS, wallS: cpuS, tests: 1 });
const TIMES: Times = {
  "test/wire/a.test.ts": time(1),
  "test/wire/b.test.ts": time(1),
  "test/wire/long.test.ts": time(20),
  "test/core/c.test.ts": time(1),
  "test/e2e/d.test.ts": time(1),
  "test/e2e/drill-x.test.ts": time(9),
  "test/e2e/console-x.test.ts": time(8),
};
const named = (isWholeRun: boolean, times = TIMES): readonly string[] =>
  planOf(FILES, times, isWholeRun).map(
    ({ files, isAlone }) =>
      `${files.map((path) => path.slice("test/".length, -".test.ts".length)).join("+")}${isAlone ? " alone" : ""}`,
  );

describe("planOf", () => {
  test("begins with what took longest, lets small files of a folder share a process, and keeps browsers and drills alone", () => {
    expect(named(true)).toEqual([
      "wire/long",
      "e2e/drill-x alone",
      "e2e/console-x alone",
      "wire/a+wire/b",
      "e2e/d",
      "core/c",
    ]);
  });

  test("gives each of the files that were asked for a process of its own", () => {
    expect(named(false).toSorted()).toEqual([
      "core/c",
      "e2e/console-x alone",
      "e2e/d",
      "e2e/drill-x alone",
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
    expect(plan.flatMap(({ files }) => files).toSorted()).toEqual(many.map(({ path }) => path).toSorted());
    for (const { files } of plan)
      expect(files.reduce((total, path) => total + times[path]!.cpuS, 0)).toBeLessThanOrEqual(12);
  });
});

test("kindOf tells by the path and by what the file imports", () => {
  expect(FILES.map(kindOf)).toEqual(["other", "other", "other", "other", "process", "drill", "browser"]);
  expect([file("spec/a"), file("contract/a"), file("packaging/a")].map(kindOf)).toEqual([
    "spec",
    "contract",
    "process",
  ]);
});

describe("a process that failed may run once more", () => {
  test("but not after a counterexample", () => {
    expect(mayTryAgain(["test/wire/a.test.ts"], "error: expect(received).toBe(expected)")).toBe(true);
    for (const output of [
      'error: Property failed after 3 tests\n{ seed: 5, path: "2" }\nCounterexample: [0]',
      "error: in the world of seed 7",
      "error: DRAGOMAN_TEST_SEED=12, step 4: {}",
    ])
      expect(mayTryAgain(["test/wire/a.test.ts"], output)).toBe(false);
  });

  test("and not where money, limits or tenants are counted, or a model is compared", () => {
    for (const name of ["e2e/drill-ledger", "e2e/drill-tenants", "e2e/limits-killed", "store/ledger-model"])
      expect(mayTryAgain([`test/${name}.test.ts`], "error")).toBe(false);
    expect(mayTryAgain(["test/e2e/console-calls.test.ts"], "error")).toBe(true);
  });
});
