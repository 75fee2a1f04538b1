// Which test files of a run share a process, and in which order the processes start. All of this follows from the path and the text of a file and from the
// figures of the last recorded run, so that no list of files is kept by hand.
import { keyOf, type Lane, laneOf, startsProcesses, type TestFile } from "./test-file.ts";
import type { Times } from "./times.ts";

export interface PlannedProcess {
  readonly files: readonly TestFile[];
  readonly lane: Lane;
}

/** In seconds of CPU time: files that take less share a process, up to about so much for a process. */
const SMALL_CPU_S = 2.5;
const SHARED_CPU_S = 12;
/** What a file takes of which no run has told: long enough to be started early. */
const UNKNOWN_CPU_S = 5;

/** The longest ones first. Where only some files were asked for, each has a process of its own. */
export function planOf(files: readonly TestFile[], times: Times, isWholeRun: boolean): readonly PlannedProcess[] {
  const cpuS = (file: TestFile): number => times[keyOf(file)]?.cpuS ?? UNKNOWN_CPU_S;
  const isShared = (file: TestFile): boolean =>
    isWholeRun && laneOf(file) === "together" && !startsProcesses(file) && cpuS(file) < SMALL_CPU_S;
  const folders = Object.values(Object.groupBy(files.filter(isShared), groupOf)).map((folder) => folder!);
  const groups = [
    ...files.filter((file) => !isShared(file)).map((file) => [file]),
    ...folders.flatMap((folder) => filled(folder, cpuS)),
  ];
  const whole = (group: readonly TestFile[]): number => group.reduce((total, file) => total + cpuS(file), 0);
  return groups
    .toSorted((one, other) => whole(other) - whole(one))
    .map((group) => ({ files: group, lane: laneOf(group[0]!) }));
}

const groupOf = ({ path, database }: TestFile): string => `${path.split("/")[1]!} ${database}`;

/** As few groups as are needed for each to stay below `SHARED_CPU_S`. */
function filled(files: readonly TestFile[], size: (file: TestFile) => number): readonly (readonly TestFile[])[] {
  const groups: { readonly files: TestFile[]; size: number }[] = [];
  for (const file of files.toSorted((one, other) => size(other) - size(one))) {
    const group = groups.find((one) => one.size + size(file) <= SHARED_CPU_S);
    if (group === undefined) groups.push({ files: [file], size: size(file) });
    else {
      group.files.push(file);
      group.size += size(file);
    }
  }
  return groups.map((group) => group.files);
}

/** What fails here has failed: a counterexample that was drawn at random, and what counts money, limits and tenants' bytes under faults. */
const FACTS = /^test\/e2e\/(drills\/(ledger|replicas|upstream|workers|database)|limits\/|data\/ledger)|model/;
const COUNTEREXAMPLE = /^Counterexample: |\bProperty failed after\b|\bin the world of seed\b|\bDRAGOMAN_TEST_SEED=\d/m;

/** Whether a process that failed may run once more. */
export function mayTryAgain(files: readonly TestFile[], output: string): boolean {
  return !files.some(({ path }) => FACTS.test(path)) && !COUNTEREXAMPLE.test(output);
}
