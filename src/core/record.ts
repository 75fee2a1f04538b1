// One wide record per call, from which log line, metrics and everything later are made (decisions 11.1). Never holds text of a prompt or an answer.
import type { ErrorCode } from "./errors.ts";
import type { FinishReason, Usage } from "./chat.ts";
import type { JsonObject } from "./json.ts";
import type { LimitRule, LimitUnit } from "./limit.ts";
import type { ToolRun } from "./tool.ts";
import type { TraceContext } from "./trace.ts";

export type UsageSource = "provider" | "estimated";

/** What became of a field of the request. */
export type ParameterFate = "native" | "mapped" | "emulated" | "dropped" | "passed";

export interface Attempt {
  /** Its id in the configuration. */
  readonly provider: string;
  /** Who that is, by OpenTelemetry's list of vendors, or the family's own id; null: it was not noted. */
  readonly vendor: string | null;
  readonly model: string;
  /** The round of tools that it belongs to, from 1. */
  readonly round: number;
  /** Milliseconds from the arrival of the call. */
  readonly startMs: number;
  /** 16 hex digits; null: the call is not traced. */
  readonly spanId: string | null;
  /** What it used: by the provider's figures, or, without any, what is charged of it; null: nothing is known. */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Status of the provider's answer; null when none came. */
  readonly status: number | null;
  readonly code: ErrorCode | null;
  /** The model that the provider says has answered, and its own id of the request; null: it did not tell (decisions 9.8). */
  readonly toldModel: string | null;
  readonly requestId: string | null;
  /** The provider's own error code or type. */
  readonly nativeCode: string | null;
  /** What the provider said to wait; null: nothing. */
  readonly retryAfterMs: number | null;
  /** Milliseconds from the arrival of the call to the head of the provider's answer, to its first content, to the end of the attempt. */
  readonly headMs: number | null;
  readonly firstContentMs: number | null;
  readonly totalMs: number | null;
}

/** What a caller may see of it: no host, no key (decisions 7.6). */
export function toldAttempt({ provider, model, status, code }: Attempt): JsonObject {
  return { provider, model, status, code };
}

/** What a call cost. */
export interface CallCost {
  /** Whole nano-dollars. */
  readonly nanoUsd: number;
  /** Where the price comes from, with its version. */
  readonly priceId: string;
}

/** What a later process needs to count on from the last row of an account, where this one was killed before it kept its counts. */
export interface CountedHere extends Pick<LimitRule, "kind" | "window"> {
  /** Order of the operations of one data folder; a thousandth of it is the time in milliseconds since 1970. `after` is what the account counted then. */
  stamp: number;
}

/** One limit or budget that applied. */
export interface LimitTouch {
  readonly id: string;
  /** The value of its scope where each has an account of its own, else empty. */
  readonly value: string;
  readonly unit: LimitUnit;
  readonly before: number;
  reserved: number;
  /** Null until it is settled. */
  settled: number | null;
  after: number;
  /** In audit mode: it would have refused. */
  readonly wouldRefuse: boolean;
  /** Why the call, or one of its attempts, may not run by it; absent: it may. */
  readonly refused?: ErrorCode;
  /** Absent: its counts do not survive the process, or are not its own. */
  readonly counted?: CountedHere;
}

/** A policy that spoke. `denied` where another target took the call as well; `failed`: its rule could not be evaluated. */
export interface PolicyTouch {
  readonly name: string;
  readonly effect: "denied" | "would_deny" | "masked" | "failed";
  /** Why its rule could not be evaluated: words for the log alone. */
  readonly why?: string;
}

export interface MessageStatistics {
  readonly count: number;
  readonly roles: Readonly<Record<string, number>>;
  readonly blocks: readonly string[];
  readonly bodyCharacters: number;
}

/** Callers choose it at will. */
export const MAX_END_USER = 256;

/** Written by the recorder of its call while the call runs, published once, and not changed afterwards. */
export interface CallRecord {
  readonly traceId: string;
  readonly startedAtMs: number;
  readonly clientRequestId: string | null;
  readonly otelTraceId: string | null;
  /** Null: the call is not traced. */
  readonly trace: TraceContext | null;
  readonly snapshotVersion: number;
  readonly tokenId: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly userId: string | null;
  /** Whom the request names as its end user (`user`, `safety_identifier`), cut to MAX_END_USER characters. */
  readonly endUser: string | null;
  /** `model` as the caller wrote it. */
  readonly modelAsked: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  /** The provider's own name of the model that answered. */
  readonly model: string | null;
  readonly stream: boolean;
  /** The answer was an explanation, and nobody was called (decisions 9.4). */
  readonly explained: boolean;
  readonly status: number;
  readonly code: ErrorCode | null;
  /** Words for the log alone: stack of a fault of ours, the provider's text about our credential. */
  readonly errorDetail: string | null;
  readonly fates: Readonly<Record<string, ParameterFate>>;
  readonly messages: MessageStatistics | null;
  readonly attempts: readonly Attempt[];
  /** Rounds of the conversation with the model; 1 without tools of ours. */
  readonly rounds: number;
  /** Tools that the gateway ran. */
  readonly tools: readonly ToolRun[];
  readonly finishReasons: readonly (FinishReason | null)[];
  /** The vendor's own words, where they were others. */
  readonly nativeFinishReasons: readonly string[];
  /** The stream told its end and no reason for it, and the reason is inferred (decisions 8.3). */
  readonly finishInferred: boolean;
  /** The model that the provider says has answered, and its own id of the request; null: it did not tell (decisions 9.8). */
  readonly providerModel: string | null;
  readonly providerRequestId: string | null;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** Figures of providers' usage objects that no code here names, by their path in there; null: there were none. */
  readonly unnamedUsage: JsonObject | null;
  /** Null: nothing was used, or the price is not known. */
  readonly cost: CallCost | null;
  /** By the caller's own price where the token may not set one: recorded, and counted nowhere (decisions 4.8). */
  readonly callerCost: CallCost | null;
  readonly limits: readonly LimitTouch[];
  readonly policies: readonly PolicyTouch[];
  readonly warnings: readonly string[];
  /** The client left before the answer was complete. */
  readonly cancelled: boolean;
  readonly metadata: JsonObject | null;
  /** Milliseconds from the arrival of the request to the first content sent, and to the end. */
  readonly firstContentMs: number | null;
  readonly totalMs: number;
  /** The gateway's own share of totalMs. */
  readonly ownMs: number;
}

/** Whether no good token came with it. There is no bound on how many such calls come, so that only a few of them have a line in the log, and integrations get none of them. */
export function isOfStranger({ tokenId }: Pick<CallRecord, "tokenId">): boolean {
  return tokenId === null;
}
