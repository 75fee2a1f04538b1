// What `npm test` runs: every *.test.ts under test/. Files that take long, or that start processes, run in a process of
// their own; small files of one folder share a process, so that they load the gateway's modules once. Processes run side
// by side, the longest ones first. `npm test -- routing e2e/` narrows to the paths that contain one of the words, each
// in a process of its own; `npm test -- --long ledger-model` gives tests that draw at random more time. With
// DRAGOMAN_CI=1 only what cannot be installed may be skipped.
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { environment, isolation, packageFolder } from "../bin/runtime.mjs";
import { trafficMissing } from "./traffic/cases.ts";
import { makeScratchFolder } from "./harness/scratch-folder.ts";
import { buildProgram, PROGRAM_VARIABLE } from "./harness/gateway-program.ts";
import { postgresPrograms } from "./harness/postgres-server.ts";
import { judge, type Verdict } from "./verdict.ts";

/** Far more than any test takes, because the machine may be busy: it only ends what hangs. */
const TEST_TIMEOUT_MS = 180_000;
const isLong = process.argv.includes("--long");
const FILE_TIMEOUT_MS = isLong ? 3_600_000 : 900_000;
/**
 * Files that mostly wait for other processes. Two of them for each core run beside the other files, of which there is
 * one for each core while some of these are left. Tests in a browser are none of them, because it draws each page.
 */
const WAITS = /^test\/(e2e\/(?!console-)|packaging\/)/;
/** Files that start processes, each in a process of its own. */
const STARTS = /^test\/(e2e|packaging)\//;
const CORES = availableParallelism();
/** Started first, in this order, because the run would have to wait for them at its end; each in its own process. */
const LONGEST: readonly string[] = [
  "e2e/console-faults",
  "e2e/console-calls",
  "e2e/console-hostile",
  "e2e/console-figures",
  "e2e/console-roles",
  "e2e/console-stores",
  "e2e/console-overview",
  "e2e/console-flows",
  "e2e/console-login",
  "e2e/console-call",
  "e2e/console-audit",
  "e2e/console-claims",
  "e2e/replica-files",
  "e2e/process",
  "e2e/webhooks",
  "e2e/data-folder",
  "e2e/limits",
  "e2e/drill",
  "e2e/named-paths",
  "e2e/postgres",
  "e2e/limits-killed",
  "e2e/ledger-restarts",
  "e2e/drill-tenants",
  "e2e/launcher",
  "e2e/drill-database",
  "e2e/drill-replicas",
  "e2e/drill-workers",
  "e2e/workers",
  "spec/admin-operations",
  "spec/admin-roles",
  "spec/admin-api",
  "admission/reconcile",
  "docs/commands",
  "contract/call-store",
  "admission/simulation",
  "architecture/request-map",
  "bench/bench",
  "store/ledger-model",
  "contract/store-postgres",
  "spec/guards-apart",
  "architecture",
  "contract/event-queue",
  "contract/upstream-tunnel",
  "contract/limit-store-valkey",
  "contract/upstream-client",
  "contract/upstream-socket",
  "contract/upstream-model",
  "contract/tool-server",
  "contract/store",
  "contract/servers",
  "mcp/hostile-servers",
  "mcp/programs",
  "mcp/server-faults",
  "spec/long-guarded",
  "spec/long-requests",
  "chat/engine-invariants",
  "contract/provider",
  "spec/integrations",
  "spec/long-joined-answers",
  "spec/personal-tokens",
  "spec/secrets",
  "docs/coverage",
  "spec/admin-fuzz",
  "spec/parameters-matrix",
  "config/documents",
  "cli/top",
  "cli/simulation-properties",
].map((name) => `test/${name}.test.ts`);
/** Of the small files of one folder under test/, so many share a process. */
const FILES_OF_A_PROCESS = 14;

interface Outcome extends Verdict {
  /** The path of the file, or the paths of those that shared a process. */
  readonly title: string;
}

const strict = process.env["DRAGOMAN_CI"] === "1";
const scratch = makeScratchFolder();
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => {
    rmSync(scratch, { recursive: true, force: true });
    process.exit(130);
  });

async function runProcess(files: readonly string[]): Promise<Outcome> {
  const report = join(scratch, `${files[0]!.replaceAll("/", "-")}.xml`);
  // a file and not a pipe: a process that a test left behind would hold a pipe open for ever
  const log = `${report}.log`;
  const logHandle = openSync(log, "w");
  const startedMs = performance.now();
  const flags = [`--timeout=${TEST_TIMEOUT_MS}`, "--reporter=junit", `--reporter-outfile=${report}`];
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), "test", ...flags, ...files.map((file) => `./${file}`)],
    {
      cwd: packageFolder,
      env: { ...environment(process.env), TMPDIR: scratch, ...program, ...(isLong && { DRAGOMAN_TEST_LONG: "1" }) },
      stdin: "ignore",
      stdout: logHandle,
      stderr: logHandle,
    },
  );
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
  const verdict = judge(files, existsSync(report) ? readFileSync(report, "utf8") : null, ending, strict);
  const outcome = { title: files.join(" "), ...verdict };
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
  { title, passed, failed, skipped, faults }: Outcome,
  output: string,
  { tookMs, cpuMs }: Duration,
): void {
  const parts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ];
  console.log(
    `${failed > 0 ? "FAIL" : "ok  "} ${title}  ${parts.join(", ")}  ${inSeconds(tookMs)}, CPU ${inSeconds(cpuMs)}`,
  );
  for (const line of output.split("\n")) if (/^(?:alarm|drawn): /.test(line)) console.log(`     ${line}`);
  if (failed === 0) return;
  console.log(output.trimEnd().replaceAll(/^/gm, "     | "));
  for (const fault of faults) console.log(`     ${title} ${fault}`);
}

/** The files of each process. A run of all files lets the small ones of a folder share one. */
function processesOf(files: readonly string[], isWholeRun: boolean): readonly (readonly string[])[] {
  const isAlone = (file: string): boolean => !isWholeRun || LONGEST.includes(file) || STARTS.test(file);
  const longestFirst = [
    ...LONGEST.filter((file) => files.includes(file)),
    ...files.filter((file) => !LONGEST.includes(file)),
  ];
  const small = longestFirst.filter((file) => !isAlone(file));
  const folders = Object.values(Object.groupBy(small, (file) => file.split("/")[1]!)).map((folder) => folder!);
  const largestFirst = folders.toSorted((one, other) => other.length - one.length);
  return [
    ...longestFirst.filter(isAlone).map((file) => [file]),
    ...largestFirst.flatMap((folder) => chunks(folder, FILES_OF_A_PROCESS)),
  ];
}

function chunks(files: readonly string[], size: number): readonly (readonly string[])[] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, index) =>
    files.slice(index * size, (index + 1) * size),
  );
}

/** Workers of one kind take what the others have left once their own queue is empty. */
async function runProcesses(processes: readonly (readonly string[])[]): Promise<readonly Outcome[]> {
  const waiting = processes.filter(([file]) => WAITS.test(file!));
  const computing = processes.filter(([file]) => !WAITS.test(file!));
  const outcomes: Outcome[] = [];
  const worker = async (...queues: readonly (readonly string[])[][]): Promise<void> => {
    const next = (): readonly string[] | undefined => queues.find((queue) => queue.length > 0)?.shift();
    for (let files = next(); files !== undefined; files = next()) outcomes.push(await runProcess(files));
  };
  await Promise.all([
    ...Array.from({ length: 2 * CORES }, () => worker(waiting, computing)),
    ...Array.from({ length: CORES }, () => worker(computing, waiting)),
  ]);
  return outcomes.toSorted((one, other) => one.title.localeCompare(other.title));
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

/** Repeated at the end, so that the last lines alone show which test failed and why. */
function printFailed({ title, faults, complaints }: Outcome): void {
  console.log(`failed: ${title}`);
  for (const fault of faults) console.log(`  ${fault}`);
  for (const complaint of complaints) console.log(`  ${complaint}`);
}

function printSkipped(outcomes: readonly Outcome[]): void {
  for (const { title, skipped, reasons } of outcomes.filter((outcome) => outcome.skipped.length > 0)) {
    console.log(
      `skipped in ${title}: ${skipped.slice(0, 5).join("; ")}${skipped.length > 5 ? `; and ${skipped.length - 5} more` : ""}`,
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
const isWholeRun = words.length === 0;
const built = join(scratch, "dragoman");
const program = isWholeRun && (await buildProgram(built)) ? { [PROGRAM_VARIABLE]: built } : {};
const outcomes = await runProcesses(processesOf(files, isWholeRun));
rmSync(scratch, { recursive: true, force: true });

const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((total, outcome) => total + of(outcome), 0);
const failed = files.length === 0 ? 1 : sum((outcome) => outcome.failed);
const skipped = sum((outcome) => outcome.skipped.length);
printSkipped(outcomes);
for (const outcome of outcomes.filter((each) => each.failed > 0)) printFailed(outcome);
if (files.length === 0) console.log(`no test file matches ${words.join(" ")}`);
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`${sum((outcome) => outcome.passed)} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
