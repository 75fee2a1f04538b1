// Records of calls for tests of what keeps them.
import type { CallRecord } from "../../src/core/record.ts";
import type { LedgerRow } from "../../src/store/ledger.ts";

export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** A day begins here. */
export const DAY_ONE = Date.UTC(2026, 0, 5);

let made = 0;
/** A trace id that no other call has; the later ones are the greater. */
export const newTraceId = (): string => (++made).toString(16).padStart(32, "0");

export interface CallParts extends Partial<Omit<CallRecord, "usage" | "cost">> {
  /** Prompt, completion, cached and reasoning tokens; null: no usage. */
  readonly tokens?: readonly [prompt: number, completion: number, cached?: number, reasoning?: number] | null;
  readonly costNanoUsd?: number | null;
}

export function recordOf({ tokens = [100, 10], costNanoUsd = 1000, ...parts }: CallParts = {}): CallRecord {
  const [prompt, completion, cached, reasoning] = tokens ?? [0, 0];
  return {
    traceId: newTraceId(),
    startedAtMs: DAY_ONE,
    clientRequestId: null,
    otelTraceId: null,
    trace: null,
    rounds: 1,
    tools: [],
    snapshotVersion: 1,
    tokenId: "tok",
    tenantId: "acme",
    projectId: "site",
    userId: null,
    endUser: null,
    modelAsked: "openai:gpt-4o",
    route: "direct",
    provider: "openai",
    model: "gpt-4o",
    stream: false,
    explained: false,
    status: 200,
    code: null,
    errorDetail: null,
    dispositions: {},
    messages: null,
    attempts: [],
    finishReasons: ["stop"],
    nativeFinishReasons: [],
    finishInferred: false,
    providerModel: null,
    providerRequestId: null,
    unnamedUsage: null,
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
    callerCost: null,
    limits: [],
    policies: [],
    warnings: [],
    cancelled: false,
    metadata: null,
    firstContentMs: 20,
    totalMs: 200,
    ownMs: 1,
    ...parts,
  };
}

export function rowOf(parts: CallParts = {}, settled = true): LedgerRow {
  return { record: recordOf(parts), settled };
}
