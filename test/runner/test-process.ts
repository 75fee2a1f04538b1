// Runs one or several test files in a process of their own, with a folder for their temporary files that goes with it, and judges what came of it.
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { environment, isolation, packageFolder } from "../../bin/runtime.mjs";
import { endMarked, markedProcesses } from "./marked-processes.ts";
import { type TestFile, variablesOf } from "./test-file.ts";
import { judge, type Verdict } from "./verdict.ts";

export interface Surroundings {
  /** Of the whole run. */
  readonly scratch: string;
  /** Of every draw at random in this run. */
  readonly seed: number;
  /** No file may skip what could have been installed. */
  readonly isStrict: boolean;
  readonly isLong: boolean;
  readonly variables: Readonly<Record<string, string>>;
}

export interface Outcome extends Verdict {
  readonly files: readonly TestFile[];
  readonly output: string;
  readonly wallS: number;
  /** Of the process and of those that it started and waited for. */
  readonly cpuS: number;
  /** The command lines of what still ran when the process had ended. */
  readonly leftBehind: readonly string[];
}

/** Far more than any test takes, because the machine may be busy: it only ends what hangs. */
const TEST_TIMEOUT_MS = 180_000;
const FILE_TIMEOUT_MS = 900_000;
const LONG_FILE_TIMEOUT_MS = 3_600_000;
/** For what a test has told to end, and not waited for. */
const LEFT_BEHIND_MS = 2_000;
let started = 0;

export async function runProcess(files: readonly TestFile[], surroundings: Surroundings): Promise<Outcome> {
  const { scratch, seed, isStrict, isLong, variables } = surroundings;
  const paths = files.map(({ path }) => path);
  const folder = join(scratch, String(++started));
  const temporary = join(folder, "t");
  mkdirSync(temporary, { recursive: true, mode: 0o711 });
  const report = join(folder, "report.xml");
  // a file and not a pipe: a process that a test left behind would hold a pipe open for ever
  const log = join(folder, "log");
  const logHandle = openSync(log, "w");
  const startedMs = performance.now();
  const flags = [
    `--timeout=${TEST_TIMEOUT_MS}`,
    `--preload=${join(packageFolder, "test/runner/seeded-draws.ts")}`,
    "--reporter=junit",
    `--reporter-outfile=${report}`,
  ];
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), "test", ...flags, ...paths.map((path) => `./${path}`)],
    {
      cwd: packageFolder,
      env: {
        DRAGOMAN_RUN_SEED: String(seed),
        ...environment(process.env),
        TMPDIR: temporary,
        ...variables,
        // files share a process only where they run over the same database
        ...variablesOf(files[0]!),
        ...(isLong && { DRAGOMAN_TEST_LONG: "1" }),
      },
      stdin: "ignore",
      stdout: logHandle,
      stderr: logHandle,
    },
  );
  let timedOut = false;
  const timer = setTimeout(
    () => {
      timedOut = true;
      child.kill("SIGKILL");
    },
    isLong ? LONG_FILE_TIMEOUT_MS : FILE_TIMEOUT_MS,
  );
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
  const verdict = judge(paths, existsSync(report) ? readFileSync(report, "utf8") : null, ending, isStrict);
  const wallS = (performance.now() - startedMs) / 1000;
  const cpuS = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1e6;
  const leftBehind = await endLeftBehind(temporary);
  rmSync(folder, { recursive: true, force: true });
  return { files, output, wallS, cpuS, leftBehind, ...verdict };
}

/** What ends by itself soon is not left behind: the watchers of servers remove folders. */
async function endLeftBehind(folder: string): Promise<readonly string[]> {
  const endsMs = performance.now() + LEFT_BEHIND_MS;
  while (performance.now() < endsMs && markedProcesses(folder).length > 0) await Bun.sleep(20);
  return endMarked(folder);
}
