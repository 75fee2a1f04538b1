// What a run prints: a line for each process as it ends, and at the end what failed, what passed only at its second try, and what was skipped and why.
import { keyOf } from "./test-file.ts";
import type { Outcome } from "./test-process.ts";

export const titleOf = (files: Outcome["files"]): string => files.map(keyOf).join(" ");
const inSeconds = (seconds: number): string => `${seconds.toFixed(1)} s`;

export function printOutcome({
  files,
  passed,
  failed,
  skipped,
  faults,
  output,
  wallS,
  cpuS,
  leftBehind,
}: Outcome): void {
  const title = titleOf(files);
  const parts = [
    `${passed} passed`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(skipped.length > 0 ? [`${skipped.length} skipped`] : []),
  ];
  console.log(
    `${failed > 0 ? "FAIL" : "ok  "} ${title}  ${parts.join(", ")}  ${inSeconds(wallS)}, CPU ${inSeconds(cpuS)}`,
  );
  for (const line of output.split("\n")) if (/^(?:alarm|drawn): /.test(line)) console.log(`     ${line}`);
  for (const command of leftBehind) console.log(`     left behind, and ended: ${command}`);
  if (failed === 0) return;
  console.log(output.trimEnd().replaceAll(/^/gm, "     | "));
  for (const fault of faults) console.log(`     ${title} ${fault}`);
}

/** In one line which test failed and how to run it alone; then why. */
export function printFailed({ files, failures, faults, complaints }: Outcome, seed: number): void {
  const blamed =
    failures.length > 0 ? failures : files.map(({ path }) => ({ file: path, title: "the file as a whole" }));
  for (const { file, title } of blamed)
    console.log(`failed: ${file}: ${title}; alone: DRAGOMAN_TEST_SEED=${seed} npm test -- ${file}`);
  for (const fault of faults) console.log(`  ${fault}`);
  for (const complaint of complaints) console.log(`  ${complaint}`);
}

export function printFlaky({ files, failures }: Outcome): void {
  if (failures.length === 0) console.log(`flaky: ${titleOf(files)}: the file as a whole`);
  for (const { file, title } of failures) console.log(`flaky: ${file}: ${title}`);
}

/** For each reason, which processes skipped tests for it. */
export function printSkipped(outcomes: readonly Outcome[]): void {
  const skipping = outcomes.filter(({ skipped }) => skipped.length > 0);
  const groups = Object.groupBy(skipping, ({ reasons }) => reasons.map((reason) => reason.trim()).join("; "));
  for (const [reasons, group = []] of Object.entries(groups)) {
    const titles = group.flatMap(({ skipped }) => skipped);
    console.log(`skipped ${titles.length} tests in ${titleOf(group.flatMap(({ files }) => files))}`);
    console.log(`  because: ${reasons}`);
    console.log(`  ${titles.slice(0, 5).join("; ")}${titles.length > 5 ? `; and ${titles.length - 5} more` : ""}`);
  }
}
