// The schema of the file of `dragoman simulate --traffic`: calls, the latencies of targets, and the faults of targets
// with their times.
import { z } from "zod";
import type { OperationName } from "../../core/operation.ts";

const FAULT_KINDS = ["dead", "stall", "status", "cut", "slow", "garbage"] as const;
export const MAX_CALLS = 200_000;

/** Operations whose calls can be simulated. */
export const SIMULATED_OPERATIONS = [
  "chat.completions",
  "responses",
  "messages",
  "completions",
  "embeddings",
  "rerank",
  "moderations",
] as const satisfies readonly OperationName[];
export type SimulatedOperation = (typeof SIMULATED_OPERATIONS)[number];

const DAY_MS = 24 * 60 * 60_000;
const MAX_ENTRIES = 1_000;
const time = z.number().min(0).max(DAY_MS);
const fewText = z.string().min(1).max(400);

const callEntry = z.strictObject({
  at_ms: time.default(0),
  count: z.int().min(1).max(MAX_CALLS).default(1),
  every_ms: time.default(0),
  route: fewText.optional(),
  model: fewText.optional(),
  operation: z.enum(SIMULATED_OPERATIONS).optional(),
  stream: z.boolean().default(false),
  user: fewText.optional(),
  users: z.int().min(1).max(MAX_CALLS).optional(),
  prompt_tokens: z.int().min(1).max(100_000).default(100),
  max_tokens: z.int().min(1).max(10_000_000).optional(),
  num_retries: z.int().min(0).max(10).optional(),
  fallbacks: z
    .array(z.union([fewText, z.record(z.string(), z.unknown())]))
    .max(32)
    .optional(),
  timeout_ms: z.number().min(1).max(DAY_MS).optional(),
  tenant: fewText.default("default"),
  project: fewText.default("default"),
});
export type CallEntry = z.output<typeof callEntry>;

const latencyEntry = z.strictObject({
  first_token_ms: time.default(500),
  total_ms: time.default(2_000),
  jitter: z.number().min(0).max(1).default(0),
});
export type Latency = z.output<typeof latencyEntry>;

const faultEntry = z.strictObject({
  target: fewText,
  kind: z.enum(FAULT_KINDS),
  from_ms: time.default(0),
  to_ms: time.default(DAY_MS),
  status: z.int().min(300).max(599).optional(),
  retry_after_ms: time.optional(),
  added_ms: time.optional(),
});
export type Fault = z.output<typeof faultEntry>;

export const trafficShape = z.strictObject({
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
  calls: z.array(callEntry).min(1).max(MAX_ENTRIES),
  latencies: z.record(fewText, latencyEntry).default({}),
  faults: z.array(faultEntry).max(MAX_ENTRIES).default([]),
});

/** The latency of a target that the file does not mention. */
export const DEFAULT_LATENCY: Latency = latencyEntry.parse({});

/** `<provider>:*` matches every target of that provider. */
export function concerns(name: string, target: string): boolean {
  return name === target || (name.endsWith(":*") && target.startsWith(name.slice(0, -1)));
}
