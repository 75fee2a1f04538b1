// A file of tests, and of which kind it is, which follows from its path and from what it imports.

/** In the order of the table in CONTRIBUTING.md. */
export const KINDS = ["browser", "drill", "process", "spec", "contract", "other"] as const;
export type Kind = (typeof KINDS)[number];

export interface TestFile {
  /** From the project's folder: `test/wire/sse.test.ts`. */
  readonly path: string;
  readonly text: string;
}

/** Starts processes, so it has one of its own. */
const STARTS_PROCESSES = /^test\/(e2e|packaging|release)\//;
const DRAWS_PAGES = /harness\/(chromium|console-visits)\.ts"/;
const RUNS_A_BENCH = /^test\/e2e\/drill|^test\/bench\/bench\.test\.ts$/;

export function kindOf({ path, text }: TestFile): Kind {
  if (DRAWS_PAGES.test(text)) return "browser";
  if (RUNS_A_BENCH.test(path)) return "drill";
  if (STARTS_PROCESSES.test(path)) return "process";
  if (path.startsWith("test/spec/")) return "spec";
  return path.startsWith("test/contract/") ? "contract" : "other";
}
