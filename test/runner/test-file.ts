// A file of tests: of which kind it is, whether `npm test` runs it, and over which databases. All of that follows from its path and from what it imports.
import { DATABASES_VARIABLE } from "../harness/servers/postgres-server.ts";

/** In the order of the table in CONTRIBUTING.md. */
export const KINDS = ["smoke", "browser", "drill", "process", "spec", "contract", "other"] as const;
export type Kind = (typeof KINDS)[number];

export interface TestFile {
  /** From the project's folder: `test/wire/sse.test.ts`. */
  readonly path: string;
  readonly text: string;
  /** The database of a suite that runs once for each; null where the file says by itself what it needs. */
  readonly database: "SQLite" | "PostgreSQL" | null;
}

/** What `npm run test:all` adds: real processes, browsers and packages. test/smoke/ has one proof of each real thing for `npm test`. */
const OF_THE_REST = /^test\/(e2e|packaging)\//;
/** Starts processes, so it has one of its own. */
const STARTS_PROCESSES = /^test\/(smoke|e2e|packaging|release)\//;
const DRAWS_PAGES = /^(?:import|\}) .*\bfrom "[./]*harness\/console\/(?:chromium|visits)\.ts"/m;
const RUNS_A_BENCH = /^test\/e2e\/drills\//;
const RUNS_OVER_ALL_DATABASES = /\b(allDatabases|postgresDatabases)\(/;

export function isQuick({ path, database }: TestFile): boolean {
  return !OF_THE_REST.test(path) && database !== "PostgreSQL";
}

/** Which files a run without words takes: `--rest` those that `npm test` leaves out, also beside `--all`, which takes all; without both, those of `npm test`. */
export function filesOfRun(files: readonly TestFile[], switches: ReadonlySet<string>): readonly TestFile[] {
  if (switches.has("--rest")) return files.filter((file) => !isQuick(file));
  return switches.has("--all") ? files : files.filter(isQuick);
}

export function kindOf({ path, text }: TestFile): Kind {
  if (path.startsWith("test/smoke/")) return "smoke";
  if (drawsPages({ text })) return "browser";
  if (RUNS_A_BENCH.test(path)) return "drill";
  if (STARTS_PROCESSES.test(path)) return "process";
  if (path.startsWith("test/spec/")) return "spec";
  return path.startsWith("test/contract/") ? "contract" : "other";
}

const drawsPages = ({ text }: Pick<TestFile, "text">): boolean => DRAWS_PAGES.test(text);

/**
 * Beside what a file may run, in the order in which a run takes them: beside any other, beside others that draw pages, or
 * beside none, because it burdens a gateway or measures.
 */
export const LANES = ["together", "pages", "alone"] as const;
export type Lane = (typeof LANES)[number];

export function laneOf(file: TestFile): Lane {
  if (drawsPages(file)) return "pages";
  return kindOf(file) === "drill" ? "alone" : "together";
}

/** Small files of other kinds may share a process. */
export const startsProcesses = ({ path }: TestFile): boolean => STARTS_PROCESSES.test(path);

/** What a run of all tests runs of a file: once without PostgreSQL and once over it where the file is a suite over all databases. */
export function overDatabases(path: string, text: string): readonly TestFile[] {
  const runsOverAll = !STARTS_PROCESSES.test(path) && RUNS_OVER_ALL_DATABASES.test(text);
  return (runsOverAll ? (["SQLite", "PostgreSQL"] as const) : [null]).map((database) => ({ path, text, database }));
}

/** The name of its figures. */
export const keyOf = ({ path, database }: TestFile): string =>
  database === "PostgreSQL" ? `${path} over PostgreSQL` : path;

export const variablesOf = ({ database }: TestFile): Readonly<Record<string, string>> =>
  database === null ? {} : { [DATABASES_VARIABLE]: database };
