// What the process of one or several test files says about them. The counts come from Bun's junit report, which is written only when the run came to its end:
// a file that leaves none has failed, whatever its exit code. https://bun.com/docs/test/reporters

export interface Ending {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly timedOut: boolean;
  /** Both streams. */
  readonly output: string;
}

export interface FailedTest {
  readonly file: string;
  readonly title: string;
}

/** What one file of the process took, without what all of them share. */
export interface FileShare {
  readonly file: string;
  readonly tests: number;
  readonly wallS: number;
}

export interface Verdict {
  readonly failures: readonly FailedTest[];
  readonly shares: readonly FileShare[];
  readonly passed: number;
  /** Failed tests and faults together. */
  readonly failed: number;
  readonly skipped: readonly string[];
  /** The printed lines that say why tests were skipped. */
  readonly reasons: readonly string[];
  /** Why the file as a whole failed, beyond its tests. */
  readonly faults: readonly string[];
  /** The lines of a failed file that name a failed test, an error or the seed of a random test; no more than twenty. */
  readonly complaints: readonly string[];
}

/** What CI cannot install: the recorded traffic, a collector of OpenTelemetry, the analyzer of Presidio, Helm with the schemas of Kubernetes, and facts of the machine's kernel; and what its second run of tests has. */
const EXCUSED = /\b(traffic|vectors|collector|Presidio|helm|kubeconform|IPv6|backlog|npm run test:all)\b/i;

/** `strict`: nothing may be skipped but for an excused reason. */
export function judge(files: readonly string[], report: string | null, ending: Ending, strict: boolean): Verdict {
  const tests = count(report, "tests");
  const failedTests = count(report, "failures");
  const skipped = skippedTests(report ?? "");
  const reasons = skipReasons(ending.output);
  const withSkips = files.filter((file) => report !== null && skippedTests(suiteOf(report, file)).length > 0);
  const faults = [...endingFaults(report, ending, failedTests), ...skipFaults(withSkips.length, reasons, strict)];
  if (report !== null) for (const file of files) if (suiteOf(report, file) === "") faults.push(`${file} holds no test`);
  const announced = report?.split("<skipped message=").slice(1).length ?? 0;
  if (announced > 0) faults.push("leaves tests to be written");
  const failed = failedTests + faults.length;
  return {
    failures: failedTestsOf(report ?? ""),
    shares: files.map((file) => shareOf(report ?? "", file)),
    passed: tests - failedTests - skipped.length - announced,
    failed,
    skipped,
    reasons: [...new Set(reasons)],
    faults,
    complaints: failed === 0 ? [] : complaintsIn(ending.output),
  };
}

function complaintsIn(output: string): readonly string[] {
  return output
    .split("\n")
    .filter((line) =>
      /^\(fail\)|^error:|^Expected|^Received|^[-+] |\bseed\b|^panic|^\s*at .*\.(?:test|suite)\.ts/.test(line),
    )
    .slice(0, 20)
    .map((line) => line.slice(0, 300));
}

function endingFaults(report: string | null, ending: Ending, failedTests: number): readonly string[] {
  if (ending.timedOut) return ["took too long and was ended"];
  if (ending.signal !== null) return [`was ended by ${ending.signal}`];
  if (report === null)
    return [`ended with exit code ${ending.exitCode} and no report: it holds no test, or a test ended the process`];
  if (ending.exitCode !== 0 && failedTests === 0)
    return [`ended with exit code ${ending.exitCode} though no test failed`];
  return [];
}

/** Each file that skips tests prints at least one reason. */
function skipFaults(filesWithSkips: number, reasons: readonly string[], strict: boolean): readonly string[] {
  if (filesWithSkips === 0) return [];
  if (reasons.length < filesWithSkips) return ["skips tests and prints no line with the word `skipped` that says why"];
  if (strict && !reasons.every((reason) => EXCUSED.test(reason)))
    return ["skips tests in CI, where everything that can be installed has to be there"];
  return [];
}

function count(report: string | null, name: string): number {
  return Number(new RegExp(`<testsuites [^>]*\\b${name}="(\\d+)"`).exec(report ?? "")?.[1] ?? 0);
}

function failedTestsOf(report: string): readonly FailedTest[] {
  return [...report.matchAll(/<testcase name="([^"]*)"[^>]*? file="([^"]*)"[^>]*>\s*<failure\b/g)].map((match) => ({
    title: unescapeXml(match[1]!),
    file: match[2]!,
  }));
}

function shareOf(report: string, file: string): FileShare {
  const [head = ""] = /^<testsuite [^>]*>/.exec(suiteOf(report, file)) ?? [];
  const figure = (name: string): number => Number(new RegExp(`\\b${name}="([\\d.]+)"`).exec(head)?.[1] ?? 0);
  return { file, tests: figure("tests"), wallS: figure("time") };
}

/** The part of the report that is about this file, or an empty text. */
function suiteOf(report: string, file: string): string {
  return report.split(/^ {2}(?=<testsuite )/m).find((suite) => suite.startsWith(`<testsuite name="${file}"`)) ?? "";
}

function skippedTests(report: string): readonly string[] {
  return [...report.matchAll(/<testcase name="([^"]*)"[^>]*>\s*<skipped \/>/g)].map((match) =>
    unescapeXml(match[1] ?? ""),
  );
}

function unescapeXml(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&apos;", "'")
    .replaceAll("&amp;", "&");
}

/** Bun's own lines, `(skip) title`, `1 skip` and the heading `1 tests skipped:`, are no reasons. */
function skipReasons(output: string): readonly string[] {
  return output
    .split("\n")
    .filter((line) => /\bskip(s|ped|ping)?\b/i.test(line) && !/^\s*(\(\w+\)|\d+ skip|\d+ tests? skipped:)/.test(line));
}
