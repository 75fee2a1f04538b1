// Which test files a run takes, which of them share a process, and in which order the processes start. Everything here follows from the path and the text of
// a file and from the figures of the last recorded run, so that no list of files is kept by hand.
import { kindOf, type TestFile } from "./test-file.ts";
import type { Times } from "./times.ts";

export interface PlannedProcess {
  readonly files: readonly string[];
  /** Nothing runs beside it: it draws pages, burdens a gateway, or measures. */
  readonly isAlone: boolean;
}

/** In seconds of CPU time: files that take less share a process, up to about so much for a process. */
const SMALL_CPU_S = 2.5;
const SHARED_CPU_S = 12;
/** What a file takes of which no run has told: long enough to be started early. */
const UNKNOWN_CPU_S = 5;

/** The longest ones first, those that run alone at the end. Where only some files were asked for, each has a process of its own. */
export function planOf(files: readonly TestFile[], times: Times, isWholeRun: boolean): readonly PlannedProcess[] {
  const cpuS = (path: string): number => times[path]?.cpuS ?? UNKNOWN_CPU_S;
  const kinds = new Map(files.map((file) => [file.path, kindOf(file)]));
  const isAlone = (path: string): boolean => ["browser", "drill"].includes(kinds.get(path)!);
  const isShared = (path: string): boolean =>
    isWholeRun && !isAlone(path) && kinds.get(path) !== "process" && cpuS(path) < SMALL_CPU_S;
  const paths = files.map(({ path }) => path);
  const folders = Object.values(Object.groupBy(paths.filter(isShared), folderOf)).map((folder) => folder!);
  const groups = [
    ...paths.filter((path) => !isShared(path)).map((path) => [path]),
    ...folders.flatMap((folder) => filled(folder, cpuS, SHARED_CPU_S)),
  ];
  const whole = (group: readonly string[]): number => group.reduce((total, path) => total + cpuS(path), 0);
  return groups
    .toSorted((one, other) => whole(other) - whole(one))
    .map((group) => ({ files: group, isAlone: group.some(isAlone) }));
}

const folderOf = (path: string): string => path.split("/")[1]!;

/** As few groups as are needed for each to stay below `most`. */
function filled(
  paths: readonly string[],
  size: (path: string) => number,
  most: number,
): readonly (readonly string[])[] {
  const groups: { readonly paths: string[]; size: number }[] = [];
  for (const path of paths.toSorted((one, other) => size(other) - size(one))) {
    const group = groups.find((one) => one.size + size(path) <= most);
    if (group === undefined) groups.push({ paths: [path], size: size(path) });
    else {
      group.paths.push(path);
      group.size += size(path);
    }
  }
  return groups.map((group) => group.paths);
}

/** What fails here has failed: a counterexample that was drawn at random, and what counts money, limits and tenants' bytes under faults. */
const FACTS = /^test\/e2e\/(drill-(ledger|replicas|tenants|workers|database)|limits|ledger)|model/;
const COUNTEREXAMPLE = /^Counterexample: |\bProperty failed after\b|\bin the world of seed\b|\bDRAGOMAN_TEST_SEED=\d/m;

/** Whether a process that failed may run once more. */
export function mayTryAgain(files: readonly string[], output: string): boolean {
  return !files.some((file) => FACTS.test(file)) && !COUNTEREXAMPLE.test(output);
}
