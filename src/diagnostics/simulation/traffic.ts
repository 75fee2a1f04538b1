// Reads the file of `dragoman simulate --traffic`: YAML like the configuration, and therefore JSON too, with the
// position of every problem.
import type { z } from "zod";
import type { Variables } from "../../config/expansion.ts";
import { readConfigFile, readConfigText } from "../../config/file.ts";
import { didYouMean } from "../../config/suggestion.ts";
import { type PreparedCalls, prepareCalls, type SimulatedConfiguration } from "./prepare-calls.ts";
import { concerns, type Fault, faultFindings } from "../../simulation/faults.ts";
import type { SimulatedOperation } from "../../simulation/written-request.ts";
import { type CallEntry, MAX_CALLS, trafficShape } from "./traffic-schema.ts";
import type { Finding } from "../../config/problem.ts";

export interface Traffic extends z.output<typeof trafficShape> {
  readonly prepared: PreparedCalls;
}

/** Throws ConfigurationError. */
export function readTraffic(
  file: string,
  environment: Variables,
  configuration: SimulatedConfiguration,
  operation: SimulatedOperation,
): Traffic {
  let prepared: PreparedCalls | null = null;
  const schema = trafficShape.superRefine((traffic, context) => {
    if (context.issues.length > 0) return;
    prepared = prepareCalls(traffic.calls, configuration, operation);
    const findings: readonly Finding[] = [
      ...callFindings(traffic.calls),
      ...prepared.findings,
      ...faultFindings(traffic.faults),
      ...timeFindings(traffic.faults),
      ...(prepared.findings.length > 0 ? [] : targetFindings(traffic, prepared.targets)),
    ];
    for (const { path, message } of findings) context.addIssue({ code: "custom", path: [...path], message });
  });
  const traffic = readConfigFile({ file, text: readConfigText(file), schema, environment });
  return { ...traffic, prepared: prepared! };
}

function callFindings(calls: readonly CallEntry[]): readonly Finding[] {
  const total = calls.reduce((sum, { count }) => sum + count, 0);
  return [
    ...(total > MAX_CALLS ? [{ path: ["calls"], message: `expected at most ${MAX_CALLS} calls, got ${total}` }] : []),
    ...calls.flatMap(({ user, users }, at) =>
      user !== undefined && users !== undefined
        ? [{ path: ["calls", at, "users"], message: "expected user or users, not both" }]
        : [],
    ),
  ];
}

function timeFindings(faults: readonly Fault[]): readonly Finding[] {
  return faults.flatMap(({ from_ms: fromMs, to_ms: toMs }, at) =>
    toMs <= fromMs ? [{ path: ["faults", at, "to_ms"], message: "expected a time after from_ms" }] : [],
  );
}

/** A target that no call can reach is probably a typing mistake. */
function targetFindings(
  { faults, latencies }: Pick<Traffic, "faults" | "latencies">,
  targets: ReadonlySet<string>,
): readonly Finding[] {
  const named: readonly (readonly [Finding["path"], string])[] = [
    ...faults.map(({ target }, at) => [["faults", at, "target"], target] as const),
    ...Object.keys(latencies).map((target) => [["latencies", target], target] as const),
  ];
  return named.flatMap(([path, name]) =>
    [...targets].some((target) => concerns(name, target))
      ? []
      : [{ path, message: `no call of this file can reach this target${didYouMean(name, [...targets])}` }],
  );
}
