// What each test file took in the last recorded run: the order of the next one follows from it, and the table in CONTRIBUTING.md. A run with --record writes both.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { table, withGeneratedPart } from "../../docs/generators/markdown.ts";
import { isQuick, keyOf, KINDS, kindOf, type TestFile } from "./test-file.ts";
import type { Outcome } from "./test-process.ts";
import type { FileShare } from "./verdict.ts";

export interface Time {
  /** Of its process and of those that it started and waited for; a share of it where files shared a process. */
  readonly cpuS: number;
  readonly wallS: number;
  readonly tests: number;
}

/** By the key of the file. */
export type Times = Readonly<Record<string, Time>>;

const PLACE = "test/times.json";

export function readTimes(folder: string): Times {
  const place = join(folder, PLACE);
  return existsSync(place) ? (JSON.parse(readFileSync(place, "utf8")) as Times) : {};
}

/** Of each file of these processes: its part of the CPU time is as large as that of the time on the clock. */
function measuredTimes(outcomes: readonly Outcome[]): Times {
  return Object.fromEntries(
    outcomes.flatMap(({ files, shares, cpuS, wallS }) => {
      const whole = shares.reduce((total, share) => total + share.wallS, 0);
      const part = (share: FileShare): number => (whole === 0 ? 1 / shares.length : share.wallS / whole);
      const rounded = (seconds: number): number => Math.round(seconds * 10) / 10;
      return shares.map((share, at) => [
        keyOf(files[at]!),
        { cpuS: rounded(cpuS * part(share)), wallS: rounded(wallS * part(share)), tests: share.tests },
      ]);
    }),
  );
}

/** Files that did not run keep the times that they had; files that are gone lose them. */
export function recordTimes(folder: string, files: readonly TestFile[], outcomes: readonly Outcome[]): void {
  const before = readTimes(folder);
  const measured = measuredTimes(outcomes);
  const times = Object.fromEntries(
    files.flatMap((file) => {
      const time = measured[keyOf(file)] ?? before[keyOf(file)];
      return time === undefined ? [] : [[keyOf(file), time] as const];
    }),
  );
  const lines = Object.entries(times).map(([key, time]) => `  ${JSON.stringify(key)}: ${JSON.stringify(time)}`);
  writeFileSync(join(folder, PLACE), `{\n${lines.join(",\n")}\n}\n`);
  const page = join(folder, "CONTRIBUTING.md");
  writeFileSync(page, withGeneratedPart(readFileSync(page, "utf8"), "times of the tests", tableOf(files, times)));
}

function tableOf(files: readonly TestFile[], times: Times): string {
  const row = (command: string, kind: string, of: readonly TestFile[]): readonly string[] => {
    const known = of.map((file) => times[keyOf(file)] ?? { cpuS: 0, wallS: 0, tests: 0 });
    const sum = (figure: (time: Time) => number): number =>
      Math.round(known.reduce((total, time) => total + figure(time), 0));
    const figures = [sum(({ tests }) => tests), sum(({ cpuS }) => cpuS), sum(({ wallS }) => wallS)];
    return [command, kind, ...[of.length, ...figures].map(String)];
  };
  const rows = [true, false].flatMap((quick) => {
    const command = quick ? "`npm test`" : "`npm run test:all` adds";
    const of = files.filter((file) => isQuick(file) === quick);
    const kinds = KINDS.map((kind) => [kind, of.filter((file) => kindOf(file) === kind)] as const);
    return [
      ...kinds.filter(([, own]) => own.length > 0).map(([kind, own]) => row(command, kind, own)),
      row(command, "**all of these**", of),
    ];
  });
  return table(["command", "kind", "files", "tests", "CPU s", "wall s, summed"], rows);
}
