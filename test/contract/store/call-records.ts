// Records of calls for tests of what is made of them: `recordOf` for any answered call, `bareRecord` where absent fields
// matter.
import { emptyAttempt, emptyRecord } from "../../../src/core/record/empty-record.ts";
import { EARLIEST_OPERATION } from "../../../src/core/operation.ts";
import { traceTimeOf } from "../../../src/core/ids.ts";
import type { Attempt, CallRecord } from "../../../src/core/record/record.ts";
import type { LedgerRow } from "../../../src/store/journal/ledger.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** A day begins here. */
export const DAY_ONE = Date.UTC(2026, 0, 5);

let made = 0;
/** A trace id that no other call has, of a call that begins at this time. Of those of one time the later ones are the greater. */
export function newTraceId(startedAtMs = DAY_ONE): string {
  made += 1;
  const places = made & 0xfffff;
  return `${traceTimeOf(startedAtMs)}${places.toString(16).padStart(5, "0")}${made.toString(16).padStart(15, "0")}`;
}

export interface CallParts extends Partial<Omit<CallRecord, "usage" | "cost">> {
  /** Prompt, completion, cached and reasoning tokens; null: no usage. */
  readonly tokens?: readonly [prompt: number, completion: number, cached?: number, reasoning?: number] | null;
  readonly costNanoUsd?: number | null;
}

/** A call that was answered. */
export function recordOf({ tokens = [100, 10], costNanoUsd = 1000, ...parts }: CallParts = {}): CallRecord {
  const [prompt, completion, cached, reasoning] = tokens ?? [0, 0];
  return bareRecord({
    startedAtMs: DAY_ONE,
    tokenId: "tok",
    tenantId: "acme",
    projectId: "site",
    modelAsked: "openai:gpt-4o",
    route: "direct",
    provider: "openai",
    model: "gpt-4o",
    status: 200,
    finishReasons: ["stop"],
    usage:
      tokens === null
        ? null
        : {
            prompt_tokens: prompt,
            completion_tokens: completion,
            total_tokens: prompt + completion,
            ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
            ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
          },
    usageSource: tokens === null ? null : "provider",
    cost: costNanoUsd === null ? null : { nanoUsd: costNanoUsd, priceId: "p" },
    firstContentMs: 20,
    totalMs: 200,
    ownMs: 1,
    ...parts,
  });
}

/** A call of which nothing is known but these parts. */
export function bareRecord(parts: Partial<CallRecord> = {}): CallRecord {
  const arrived = {
    clientRequestId: null,
    otelTraceId: null,
    trace: null,
    snapshotVersion: 1,
    operation: EARLIEST_OPERATION,
  };
  const { startedAtMs = DAY_ONE } = parts;
  return { ...emptyRecord({ ...arrived, traceId: newTraceId(startedAtMs), startedAtMs }), ...parts };
}

/** An upstream request that was answered. */
export function attemptOf(parts: Partial<Attempt> = {}): Attempt {
  const sent = { provider: "mine", vendor: "openai", model: "gpt-4o", round: 1, startMs: 2, spanId: "a".repeat(16) };
  return {
    ...emptyAttempt(sent),
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    usageSource: "provider",
    status: 200,
    headMs: 30,
    firstContentMs: 52,
    totalMs: 90,
    ...parts,
  };
}

export function rowOf(parts: CallParts = {}, settled = true): LedgerRow {
  return { record: recordOf(parts), settled };
}
