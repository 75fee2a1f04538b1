// The schema of the file of `dragoman simulate --traffic`: calls, the latencies of targets, and the faults of targets
// with their times.
import { z } from "zod";
import { DAY_MS, faultEntry, fewText, latencyEntry, time } from "../../simulation/faults.ts";
import { simulatedHeaders } from "../../routing/test-settings.ts";
import { SIMULATED_OPERATIONS } from "../../simulation/written-request.ts";

export const MAX_CALLS = 200_000;

const MAX_ENTRIES = 1_000;

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
  headers: simulatedHeaders.optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  tenant: fewText.default("default"),
  project: fewText.default("default"),
});
export type CallEntry = z.output<typeof callEntry>;

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
