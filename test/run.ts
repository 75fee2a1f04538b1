// What `npm test` runs: every *.test.ts under test/, each in a process of its own, so that one that crashes or hangs
// hides no other. Files run side by side, the longest ones first. `npm test -- routing e2e/` narrows to the paths that
// contain one of the words; `npm test -- --long ledger-model` gives tests that draw at random more time. With
// DRAGOMAN_CI=1 only what cannot be installed may be skipped.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { environment, isolation, packageFolder } from "../bin/runtime.mjs";
import { trafficMissing } from "./traffic/cases.ts";
import { postgresPrograms } from "./harness/postgres-server.ts";
import { judge, type Verdict } from "./verdict.ts";

/** Far more than any test takes, because the machine may be busy: it only ends what hangs. */
const TEST_TIMEOUT_MS = 180_000;
const isLong = process.argv.includes("--long");
const FILE_TIMEOUT_MS = isLong ? 3_600_000 : 600_000;
/**
 * Files that mostly wait for other processes. Two of them for each core run beside the other files, of which there is
 * one for each core.
 */
const WAITS = /^test\/(e2e|packaging)\//;
const CORES = availableParallelism();
/** Started first, in this order, because the run would have to wait for them at its end. */
const LONGEST: readonly string[] = [
  "e2e/replica-files",
  "e2e/webhooks",
  "e2e/ledger-restarts",
  "e2e/drill-tenants",
  "e2e/drill-replicas",
  "e2e/limits",
  "e2e/postgres",
  "e2e/process",
  "spec/admin-operations",
  "admission/reconcile",
  "spec/admin-api",
  "contract/call-store",
  "contract/store-postgres",
  "bench/bench",
  "contract/event-queue",
  "spec/admin-roles",
  "docs/commands",
].map((name) => `test/${name}.test.ts`);

interface Outcome extends Verdict {
  readonly file: string;
}

const strict = process.env["DRAGOMAN_CI"] === "1";
const reports = mkdtempSync(join(tmpdir(), "dragoman-test-"));

async function runFile(file: string): Promise<Outcome> {
  const report = join(reports, `${file.replaceAll("/", "-")}.xml`);
  // a file and not a pipe: a process that a test left behind would hold a pipe open for ever
  const log = `${report}.log`;
  const logHandle = openSync(log, "w");
  const startedMs = performance.now();
  const flags = [`--timeout=${TEST_TIMEOUT_MS}`, "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn([process.execPath, ...isolation(packageFolder), "test", ...flags, `./${file}`], {
    cwd: packageFolder,
    env: { ...environment(process.env), ...(isLong && { DRAGOMAN_TEST_LONG: "1" }) },
    stdin: "ignore",
    stdout: logHandle,
    stderr: logHandle,
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, FILE_TIMEOUT_MS);
  await child.exited;
  clearTimeout(timer);
  closeSync(logHandle);
  const output = readFileSync(log, "utf8");
  const ending = {
    exitCode: child.exitCode,
    signal: child.signalCode === null ? null : String(child.signalCode),
    timedOut,
    output,
  };
  const outcome = { file, ...judge(existsSync(report) ? readFileSync(report, "utf8") : null, ending, strict) };
  printOutcome(outcome, output, { tookMs: performance.now() - startedMs, cpuMs: cpuMsOf(child) });
  return outcome;
}

/** Of the process and of those that it started and waited for. */
function cpuMsOf(ended: Bun.Subprocess): number {
  return Number(ended.resourceUsage()?.cpuTime.total ?? 0) / 1000;
}

interface Duration {
  readonly tookMs: number;
  readonly cpuMs: number;
}

function printOutcome(
  { file, passed, failed, skipped, faults }: Outcome,
  output: string,
  { tookMs, cpuMs }: Duration,
): void {
  const parts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ];
  console.log(
    `${failed > 0 ? "FAIL" : "ok  "} ${file}  ${parts.join(", ")}  ${inSeconds(tookMs)}, CPU ${inSeconds(cpuMs)}`,
  );
  for (const line of output.split("\n")) if (/^(?:alarm|drawn): /.test(line)) console.log(`     ${line}`);
  if (failed === 0) return;
  console.log(output.trimEnd().replaceAll(/^/gm, "     | "));
  for (const fault of faults) console.log(`     ${file} ${fault}`);
}

/** Workers for files that compute take those that wait once their own queue is empty. */
async function runFiles(files: readonly string[]): Promise<readonly Outcome[]> {
  const longestFirst = [
    ...LONGEST.filter((file) => files.includes(file)),
    ...files.filter((file) => !LONGEST.includes(file)),
  ];
  const waiting = longestFirst.filter((file) => WAITS.test(file));
  const computing = longestFirst.filter((file) => !WAITS.test(file));
  const outcomes: Outcome[] = [];
  const worker = async (...queues: readonly string[][]): Promise<void> => {
    const next = (): string | undefined => queues.find((queue) => queue.length > 0)?.shift();
    for (let file = next(); file !== undefined; file = next()) outcomes.push(await runFile(file));
  };
  await Promise.all([
    ...Array.from({ length: 2 * CORES }, () => worker(waiting)),
    ...Array.from({ length: CORES }, () => worker(computing, waiting)),
  ]);
  return outcomes.toSorted((one, other) => one.file.localeCompare(other.file));
}

const inSeconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

function printSurroundings(): void {
  const answers = (program: string, argument: string): boolean =>
    spawnSync(program, [argument], { stdio: "ignore", shell: process.platform === "win32" }).status === 0;
  const things: readonly (readonly [name: string, there: boolean, without: string])[] = [
    [
      "recorded provider traffic",
      !trafficMissing,
      "the tests that replay it are skipped; DRAGOMAN_TRAFFIC names its folder",
    ],
    ["npm", answers("npm", "--version"), "the tests of the package fail"],
    ["openssl", answers("openssl", "version"), "tests that need a certificate of their own cannot run"],
    ["PostgreSQL", postgresPrograms() !== null, "tests of it are skipped"],
    ["curl", answers("curl", "--version"), "tests of the commands in the documentation cannot run"],
  ];
  for (const [name, there, without] of things) console.log(there ? `there:   ${name}` : `missing: ${name}; ${without}`);
}

/** Repeated at the end, because whoever reads the last lines alone should learn which test failed and of what. */
function printFailed({ file, faults, complaints }: Outcome): void {
  console.log(`failed: ${file}`);
  for (const fault of faults) console.log(`  ${fault}`);
  for (const complaint of complaints) console.log(`  ${complaint}`);
}

function printSkipped(outcomes: readonly Outcome[]): void {
  for (const { file, skipped, reasons } of outcomes.filter((outcome) => outcome.skipped.length > 0)) {
    console.log(
      `skipped in ${file}: ${skipped.slice(0, 5).join("; ")}${skipped.length > 5 ? `; and ${skipped.length - 5} more` : ""}`,
    );
    for (const reason of reasons) console.log(`  because: ${reason.trim()}`);
  }
}

const words = process.argv
  .slice(2)
  .filter((word) => word !== "--long")
  .map((word) => word.replace(/^\.\//, ""));
const all = [...new Glob("test/**/*.test.ts").scanSync({ cwd: packageFolder })]
  .map((file) => file.replaceAll("\\", "/"))
  .toSorted();
const files = all.filter((file) => words.length === 0 || words.some((word) => file.includes(word)));

printSurroundings();
const outcomes = await runFiles(files);
rmSync(reports, { recursive: true, force: true });

const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((total, outcome) => total + of(outcome), 0);
const failed = files.length === 0 ? 1 : sum((outcome) => outcome.failed);
const skipped = sum((outcome) => outcome.skipped.length);
printSkipped(outcomes);
for (const outcome of outcomes.filter((each) => each.failed > 0)) printFailed(outcome);
if (files.length === 0) console.log(`no test file matches ${words.join(" ")}`);
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${sum((outcome) => outcome.passed)} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
