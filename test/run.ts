// What `npm test` and `npm run test:all` run: *.test.ts files under test/, in processes that run side by side, and once more where one fails. CONTRIBUTING.md says
// how a run is planned. `npm test -- routing e2e/` narrows to the paths that contain one of the words. The switches: --all (`npm run test:all`) takes all files,
// and --rest those that `npm test` leaves out; --long gives tests that draw at random more time and a seed of their own; --record writes what each file took
// into test/times.json and the table in CONTRIBUTING.md. With DRAGOMAN_CI=1 only what cannot be installed may be skipped.
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { Glob } from "bun";
import { packageFolder } from "../bin/runtime.mjs";
import { trafficMissing } from "./traffic/cases.ts";
import { runSeed } from "./harness/time/chance.ts";
import { makeScratchFolder } from "./harness/scratch-folder.ts";
import { buildProgram, PROGRAM_VARIABLE } from "./harness/processes/gateway-program.ts";
import { POSTGRES_VARIABLE, postgresPrograms, startPostgres } from "./harness/servers/postgres-server.ts";
import { endMarked } from "./runner/marked-processes.ts";
import { mayTryAgain, planOf, type PlannedProcess } from "./runner/plan.ts";
import { printFailed, printFlaky, printOutcome, printSkipped, titleOf } from "./runner/report.ts";
import { filesOfRun, type Lane, LANES, overDatabases, type TestFile } from "./runner/test-file.ts";
import { type Outcome, runProcess, type Surroundings } from "./runner/test-process.ts";
import { readTimes, recordTimes } from "./runner/times.ts";

/** More processes than this that pass only at their second try fail the run. */
const MOST_FLAKY = 3;

const given = process.argv.slice(2);
const switches = new Set(given.filter((word) => word.startsWith("--")));
const words = given.filter((word) => !word.startsWith("--")).map((word) => word.replace(/^\.\//, ""));
const isWholeRun = words.length === 0;

const isLong = switches.has("--long");
const seed = isLong && process.env["DRAGOMAN_TEST_SEED"] === undefined ? Math.floor(Math.random() * 2 ** 31) : runSeed;

const scratch = makeScratchFolder();
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
  process.on(signal, () => {
    // twice: a process may have started another one while it was looked for
    for (let time = 0; time < 2; time++) endMarked(`${scratch}/`);
    rmSync(scratch, { recursive: true, force: true });
    console.log(`ended by ${signal}`);
    process.exit(130);
  });

/** How many processes run at a time. Each of those that draw pages has a browser and a gateway. */
const AT_ONCE: Readonly<Record<Lane, number>> = {
  together: availableParallelism() + 1,
  pages: availableParallelism(),
  alone: 1,
};

async function runAll(planned: readonly PlannedProcess[], surroundings: Surroundings): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const run = async (waiting: PlannedProcess[]): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const outcome = await runProcess(next.files, surroundings);
      printOutcome(outcome);
      outcomes.push(outcome);
    }
  };
  for (const lane of LANES) {
    const waiting = planned.filter((process) => process.lane === lane);
    await Promise.all(Array.from({ length: AT_ONCE[lane] }, () => run(waiting)));
  }
  return outcomes;
}

/** The outcomes with those of the second tries in place of the first ones. */
async function triedAgain(
  outcomes: readonly Outcome[],
  surroundings: Surroundings,
): Promise<{ readonly outcomes: readonly Outcome[]; readonly flaky: readonly Outcome[] }> {
  const flaky: Outcome[] = [];
  const last: Outcome[] = [];
  for (const first of outcomes) {
    if (first.failed === 0 || !mayTryAgain(first.files, first.output)) {
      last.push(first);
      continue;
    }
    console.log(`once more, alone: ${titleOf(first.files)}`);
    const second = await runProcess(first.files, surroundings);
    printOutcome(second);
    if (second.failed === 0) flaky.push(first);
    last.push(second.failed === 0 ? second : first);
  }
  return { outcomes: last, flaky };
}

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
  console.log(`seed of this run: ${seed}`);
}

const all = [...new Glob("test/**/*.test.ts").scanSync({ cwd: packageFolder })]
  .map((file) => file.replaceAll("\\", "/"))
  .toSorted()
  .map((path) => ({ path, text: readFileSync(join(packageFolder, path), "utf8") }));
const everything = all.flatMap(({ path, text }) => overDatabases(path, text));
const chosen: readonly TestFile[] = isWholeRun
  ? filesOfRun(everything, switches)
  : all.filter(({ path }) => words.some((word) => path.includes(word))).map((file) => ({ ...file, database: null }));

printSurroundings();
const built = join(scratch, "dragoman");
// one for all files but those that stop their server
const postgres = isWholeRun && postgresPrograms() !== null ? await startPostgres(scratch) : null;
const surroundings: Surroundings = {
  scratch,
  seed,
  isStrict: process.env["DRAGOMAN_CI"] === "1",
  isLong,
  variables: {
    ...(postgres !== null && { [POSTGRES_VARIABLE]: postgres.url }),
    ...(isWholeRun && (await buildProgram(built)) && { [PROGRAM_VARIABLE]: built }),
  },
};
const first = await runAll(planOf(chosen, readTimes(packageFolder), isWholeRun), surroundings);
const { outcomes, flaky } = await triedAgain(first, surroundings);
await postgres?.dispose();
rmSync(scratch, { recursive: true, force: true });
if (switches.has("--record")) recordTimes(packageFolder, everything, first);

const sum = (of: (outcome: Outcome) => number): number => outcomes.reduce((total, outcome) => total + of(outcome), 0);
const isTooFlaky = flaky.length > MOST_FLAKY;
const failed = chosen.length === 0 ? 1 : sum((outcome) => outcome.failed) + (isTooFlaky ? 1 : 0);
const skipped = sum((outcome) => outcome.skipped.length);
printSkipped(outcomes);
for (const outcome of outcomes.filter((each) => each.failed > 0)) printFailed(outcome, seed);
for (const outcome of flaky) printFlaky(outcome);
if (isTooFlaky)
  console.log(`failed: ${flaky.length} processes passed only at their second try; at most ${MOST_FLAKY} may`);
if (chosen.length === 0) console.log(`no test file matches ${words.join(" ")}`);
if (skipped > 0) console.log(`${skipped} skipped`);
console.log(`CPU ${sum((outcome) => outcome.cpuS).toFixed(0)} s, ${flaky.length} flaky`);
console.log(`${sum((outcome) => outcome.passed)} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
