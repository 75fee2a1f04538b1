// `dragoman simulate <config> --traffic <file>`: shows where calls would go while targets fail, with the gateway's own
// routing in virtual time. No provider is called.
import type { Environment } from "../config/environment.ts";
import { counted } from "../core/text/counted.ts";
import { PROVIDER_FAMILIES } from "../process/parts/provider-families.ts";
import { loadConfiguration } from "../snapshot/configuration.ts";
import { printJson, printLine, printTable } from "./output.ts";
import { chanceOf } from "../simulation/chance.ts";
import {
  type CallRow,
  type Counts,
  type FaultRow,
  type OpeningRow,
  type Report,
  reportOf,
  type TargetRow,
  type Totals,
} from "../diagnostics/simulation/report.ts";
import { type Run, runCalls } from "../simulation/run-calls.ts";
import { readTraffic, type Traffic } from "../diagnostics/simulation/traffic.ts";
import { createCourses, latencyTimes } from "../simulation/upstream-course.ts";
import { SIMULATED_OPERATIONS } from "../simulation/written-request.ts";

export interface SimulateFlags {
  readonly traffic: string;
  readonly seed?: number;
  /** The operation of calls that name none; chat completions when absent. */
  readonly operation?: string;
  readonly json?: true;
  readonly verbose?: true;
}

/** Throws ConfigurationError for either file. */
export function simulate(file: string, flags: SimulateFlags, environment: Environment): void {
  const report = simulation(file, flags, environment);
  if (flags.json === true) printJson(report);
  else printReport(report);
}

/** Throws ConfigurationError. */
export function simulation(file: string, flags: SimulateFlags, environment: Environment): Report {
  const { run, traffic, seed } = played(file, flags, environment);
  return reportOf(run, traffic.faults, { seed, isVerbose: flags.verbose === true });
}

/** Throws ConfigurationError. */
export function played(
  file: string,
  { traffic: trafficFile, seed: ownSeed, operation = "chat.completions" }: SimulateFlags,
  environment: Environment,
): { readonly run: Run; readonly traffic: Traffic; readonly seed: number } {
  const named = SIMULATED_OPERATIONS.find((name) => name === operation);
  if (named === undefined)
    throw new Error(
      `unknown operation ${JSON.stringify(operation)}; the operations are: ${SIMULATED_OPERATIONS.join(", ")}`,
    );
  const { configuration } = loadConfiguration({ file, families: PROVIDER_FAMILIES, environment });
  const traffic = readTraffic(trafficFile, environment, { configuration, environment }, named);
  const seed = ownSeed ?? traffic.seed;
  // Routing and targets use separate random sequences, so that a change of the routing does not change the targets.
  const ofTargets = chanceOf(~seed);
  const courses = createCourses({
    timesOf: latencyTimes(traffic.latencies, ofTargets),
    faults: traffic.faults,
    random: ofTargets,
  });
  const random = chanceOf(seed);
  return {
    run: runCalls({
      calls: traffic.prepared.calls,
      courses,
      limits: traffic.prepared.snapshot.limits,
      randomOf: () => random,
    }),
    traffic,
    seed,
  };
}

function printReport({ seed, targets, health, faults, totals, calls }: Report): void {
  for (const call of calls ?? []) printLine(callLine(call));
  if (calls !== undefined) printLine("");
  printTable(
    ["ROUTE", "TARGET", "CALLS", "ATTEMPTS", "SUCCESSES", "SHARE", "ADDED P50", "ADDED P95", "OTHER OUTCOMES"],
    targets.map(targetCells),
  );
  if (health.length > 0) {
    printLine("");
    printTable(["AT", "TARGET", "HEALTH"], health.map(healthCells));
  }
  if (faults.length > 0) {
    printLine("");
    printTable(
      ["FAULT", "FROM", "TO", "TARGET", "CALLS", "SUCCEEDED", "ADDED P95", "ATTEMPTS", "OPENED", "RECOVERED AFTER"],
      faults.map(faultCells),
    );
  }
  printLine("");
  printLine(totalsLine(totals));
  printLine(`seed ${seed}`);
}

function targetCells(row: TargetRow): readonly string[] {
  const others = [
    countsText(row.failures),
    ifAny(row.cancelled, "cancelled"),
    ifAny(row.hedges, row.hedges === 1 ? "hedge" : "hedges"),
    ifAny(row.refused, "refused"),
    ifAny(row.shed, "shed"),
  ].filter((text) => text !== "");
  return [
    row.asked,
    row.target,
    String(row.calls),
    String(row.attempts),
    String(row.successes),
    row.share === null ? "-" : `${(row.share * 100).toFixed(1)} %`,
    ms(row.added_p50_ms),
    ms(row.added_p95_ms),
    others.join(", ") || "-",
  ];
}

const HEALTH_WORDS: Readonly<Record<string, string>> = {
  opened: "breaker open",
  probed: "probe",
  closed: "breaker closed",
  rate_limited: "rate limited",
};

function healthCells({ at_ms: atMs, target, what, until_ms: untilMs }: OpeningRow): readonly string[] {
  return [ms(atMs), target, `${HEALTH_WORDS[what] ?? what}${untilMs === null ? "" : ` until ${ms(untilMs)}`}`];
}

function faultCells(row: FaultRow): readonly string[] {
  return [
    row.status === null ? row.kind : String(row.status),
    ms(row.from_ms),
    ms(row.to_ms),
    row.target,
    String(row.calls),
    String(row.succeeded),
    ms(row.added_p95_ms),
    `${row.attempts}${Object.keys(row.failures).length === 0 ? "" : ` (${countsText(row.failures)})`}`,
    String(row.breaker_opened),
    ms(row.back_after_ms),
  ];
}

function totalsLine(totals: Totals): string {
  const failures = totals.failed === 0 ? "" : ` (${countsText(totals.failures)})`;
  return (
    `${counted(totals.calls, "call")}, ${totals.succeeded} succeeded, ${totals.failed} failed${failures}; ${counted(totals.attempts, "attempt")}${totals.hedges === 0 ? "" : `, ${totals.hedges} of them ${totals.hedges === 1 ? "a hedge" : "hedges"}`}; ` +
    `added ${ms(totals.added_p50_ms)} at p50, ${ms(totals.added_p95_ms)} at p95; first content ${ms(totals.first_content_p50_ms)} at p50, ${ms(totals.first_content_p95_ms)} at p95; ended at ${ms(totals.ended_ms)}`
  );
}

/**
 * `1200 ms chat: answered by b after 340 ms (added 20 ms); a at 1200 ms: upstream_error 500 after 20 ms (first by
 * order); b at ...`. Targets that conditions and shares left out stand before the attempts, and the mirror that gets a
 * copy behind them.
 */
function callLine({
  at_ms: atMs,
  asked,
  ok,
  code,
  target,
  added_ms: addedMs,
  total_ms: totalMs,
  attempts,
  passed_over: passedOver = [],
  mirrored_to: mirror,
}: CallRow): string {
  const end = ok
    ? `answered by ${target}, added ${ms(addedMs)}`
    : `failed with ${code}${target === null ? "" : ` after content of ${target}`}`;
  const steps = attempts.map(
    (each) =>
      `${each.target} at ${ms(each.at_ms)}: ${each.code ?? each.ending}${each.status === null ? "" : ` ${each.status}`} after ${ms(each.after_ms)} (${each.why})`,
  );
  const left = passedOver.map((each) => `passed over ${each.target}: ${each.why}`);
  const copied = mirror === undefined ? [] : [`a copy goes to ${mirror}`];
  return [`${ms(atMs)} ${asked}: ${end}, in ${ms(totalMs)}`, ...left, ...steps, ...copied].join("; ");
}

function countsText(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ");
}

function ifAny(count: number, name: string): string {
  return count === 0 ? "" : `${count} ${name}`;
}

function ms(value: number | null): string {
  return value === null ? "-" : `${Math.round(value)} ms`;
}
