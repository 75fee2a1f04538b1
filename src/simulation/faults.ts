// The faults and latencies of targets that a simulation is given: in the file of `dragoman simulate --traffic`, and in
// the request that simulates a change of a route.
import { z } from "zod";
import type { Finding } from "../config/problem.ts";

const FAULT_KINDS = ["dead", "stall", "status", "cut", "slow", "garbage"] as const;
export const DAY_MS = 24 * 60 * 60_000;
export const time = z.number().min(0).max(DAY_MS);
export const fewText = z.string().min(1).max(400);

export const latencyEntry = z.strictObject({
  first_token_ms: time.default(500),
  total_ms: time.default(2_000),
  jitter: z.number().min(0).max(1).default(0),
});
export type Latency = z.output<typeof latencyEntry>;

/** What is wrong with a target, without the time. */
export const FAULT_SHAPE = {
  target: fewText,
  kind: z.enum(FAULT_KINDS),
  share: z.number().gt(0).max(1).default(1),
  status: z.int().min(300).max(599).optional(),
  retry_after_ms: time.optional(),
  added_ms: time.optional(),
};

export const faultEntry = z.strictObject({ ...FAULT_SHAPE, from_ms: time.default(0), to_ms: time.default(DAY_MS) });
export type Fault = z.output<typeof faultEntry>;

/** What a schema cannot say: which fields belong to which kind. */
export function faultFindings(faults: readonly Omit<Fault, "from_ms" | "to_ms">[]): readonly Finding[] {
  return faults.flatMap((fault, at) => {
    const findings: Finding[] = [];
    const belongs = (key: "status" | "retry_after_ms" | "added_ms", kind: Fault["kind"]): void => {
      if (fault[key] !== undefined && fault.kind !== kind)
        findings.push({ path: ["faults", at, key], message: `is only for faults of the kind ${kind}` });
    };
    belongs("status", "status");
    belongs("retry_after_ms", "status");
    belongs("added_ms", "slow");
    if (fault.kind === "status" && fault.status === undefined)
      findings.push({ path: ["faults", at, "status"], message: "is missing: expected a status from 300 to 599" });
    if (fault.kind === "slow" && fault.added_ms === undefined)
      findings.push({ path: ["faults", at, "added_ms"], message: "is missing: expected milliseconds" });
    return findings;
  });
}

/** `<provider>:*` matches every target of that provider. */
export function concerns(name: string, target: string): boolean {
  return name === target || (name.endsWith(":*") && target.startsWith(name.slice(0, -1)));
}
