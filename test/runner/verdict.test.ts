// The judge of the test runner can fail: a run that tells nothing, or less than it seems, is never a pass.
import { describe, expect, test } from "bun:test";
import { judge, type Ending, type Verdict } from "./verdict.ts";

const GOOD: Ending = { exitCode: 0, signal: null, timedOut: false, output: "" };
const FILE = "test/one.test.ts";
const suite = (file: string, cases = ""): string =>
  `  <testsuite name="${file}" file="${file}">\n${cases}</testsuite>\n`;
const reportOf = (tests: number, failures: number, suites: string): string =>
  `<?xml version="1.0"?>\n<testsuites name="bun test" tests="${tests}" assertions="9" failures="${failures}" skipped="0">\n${suites}</testsuites>`;
const report = (tests: number, failures: number, cases = ""): string =>
  reportOf(tests, failures, tests === 0 ? "" : suite(FILE, cases));
const judgeOne = (text: string | null, ending: Ending, strict: boolean): Verdict => judge([FILE], text, ending, strict);
const skippedCase = (name: string): string => `<testcase name="${name}" classname="">\n  <skipped />\n</testcase>`;

describe("judge", () => {
  test("counts what the report says", () => {
    expect(judgeOne(report(5, 0), GOOD, false)).toEqual({
      failures: [],
      shares: [{ file: FILE, tests: 0, wallS: 0 }],
      passed: 5,
      failed: 0,
      skipped: [],
      reasons: [],
      faults: [],
      complaints: [],
    });
    expect(judgeOne(report(5, 2), { ...GOOD, exitCode: 1 }, false)).toMatchObject({ passed: 3, failed: 2, faults: [] });
  });

  test("what failed and why is told in a few lines", () => {
    const output = "(pass) one\nseed: 7\nerror: expect(received).toBe(expected)\n(fail) the other\n 1 fail\n";
    expect(judgeOne(report(2, 1), { ...GOOD, exitCode: 1, output }, false).complaints).toEqual([
      "seed: 7",
      "error: expect(received).toBe(expected)",
      "(fail) the other",
    ]);
    expect(judgeOne(report(2, 0), { ...GOOD, output }, false).complaints).toEqual([]);
  });

  test("a run without a report has failed, also with exit code 0", () => {
    expect(judgeOne(null, GOOD, false)).toMatchObject({ passed: 0, failed: 1 });
  });

  test("a crash, a time-out and an exit code that no test explains are failures beside the tests", () => {
    expect(judgeOne(null, { ...GOOD, exitCode: null, signal: "SIGSEGV" }, false)).toMatchObject({
      failed: 1,
      faults: ["was ended by SIGSEGV"],
    });
    expect(judgeOne(report(3, 0), { ...GOOD, exitCode: null, signal: "SIGKILL", timedOut: true }, false)).toMatchObject(
      {
        passed: 3,
        failed: 1,
        faults: ["took too long and was ended"],
      },
    );
    expect(judgeOne(report(3, 0), { ...GOOD, exitCode: 1 }, false)).toMatchObject({ passed: 3, failed: 1 });
  });

  test("a file without a test, and a test that is only announced, are failures", () => {
    expect(judgeOne(report(0, 0), GOOD, false)).toMatchObject({ failed: 1, faults: [`${FILE} holds no test`] });
    expect(
      judgeOne(report(2, 0, '<testcase name="later"><skipped message="announced" /></testcase>'), GOOD, false),
    ).toMatchObject({ passed: 1, failed: 1 });
  });

  test("a skipped test needs a printed reason", () => {
    const cases = skippedCase("replays &lt;all&gt;");
    expect(
      judgeOne(report(2, 0, cases), { ...GOOD, output: "(skip) replays <all>\n 1 skip\n\n1 tests skipped:\n" }, false),
    ).toMatchObject({ passed: 1, failed: 1, skipped: ["replays <all>"] });
    const told = { ...GOOD, output: "skipped: the recorded traffic is missing\n(skip) replays <all>\n" };
    expect(judgeOne(report(2, 0, cases), told, false)).toMatchObject({
      passed: 1,
      failed: 0,
      reasons: ["skipped: the recorded traffic is missing"],
    });
  });

  test("in CI only what cannot be installed may be missing", () => {
    const cases = skippedCase("a");
    expect(
      judgeOne(report(1, 0, cases), { ...GOOD, output: "skipped: the recorded traffic is missing" }, true).failed,
    ).toBe(0);
    expect(
      judgeOne(report(1, 0, cases), { ...GOOD, output: "skipped: there is no IPv6 loopback here" }, true).failed,
    ).toBe(0);
    expect(judgeOne(report(1, 0, cases), { ...GOOD, output: "skipped: no PostgreSQL here" }, true).failed).toBe(1);
  });

  describe("of files that shared a process", () => {
    const files = [FILE, "test/other.test.ts"];
    const skips = skippedCase("a");

    test("each holds a test", () => {
      expect(judge(files, reportOf(2, 0, suite(FILE)), GOOD, false)).toMatchObject({
        failed: 1,
        faults: ["test/other.test.ts holds no test"],
      });
    });

    test("each that skips tests says why", () => {
      const both = reportOf(2, 0, files.map((file) => suite(file, skips)).join(""));
      const reason = "skipped: there is no IPv6 loopback here\n";
      expect(judge(files, both, { ...GOOD, output: reason }, false).failed).toBe(1);
      expect(judge(files, both, { ...GOOD, output: reason.repeat(2) }, true)).toMatchObject({
        failed: 0,
        reasons: [reason.trim()],
      });
    });
  });
});

test("names each failed test with its file, and what each file took", () => {
  const failing = `    <testsuite name="outer" file="${FILE}">\n      <testcase name="says &quot;no&quot;" classname="outer" time="0.1" file="${FILE}" line="2" assertions="1">\n        <failure type="AssertionError" message="x">x</failure>\n      </testcase>\n      <testcase name="is good" classname="outer" time="0.1" file="${FILE}" line="3" assertions="1" />\n    </testsuite>\n`;
  const whole = reportOf(
    2,
    1,
    `  <testsuite name="${FILE}" file="${FILE}" tests="2" time="1.5">\n${failing}  </testsuite>\n`,
  );
  expect(judgeOne(whole, { ...GOOD, exitCode: 1 }, false)).toMatchObject({
    failures: [{ file: FILE, title: 'says "no"' }],
    shares: [{ file: FILE, tests: 2, wallS: 1.5 }],
  });
});
