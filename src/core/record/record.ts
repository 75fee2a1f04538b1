// One wide record for each call, from which the log line, metrics, traces and rows are made (promise 11.1). It never
// holds text of a prompt or an answer.

// Decides (records and configuration): Which calls do figures leave out? By: `isInFigures`. Also: of rows:
// `store/sums/call-sums.ts` (`sumsOfCalls`). Rule: Explained calls, and copies for mirrors.
import type { CachedCall } from "../configured/cache.ts";
import type { ChangedPiece } from "../configured/prompt-cache.ts";
import type { ErrorCode } from "../errors.ts";
import type { FinishReason, Usage } from "../chat.ts";
import type { JsonObject } from "../json.ts";
import type { LimitRule, LimitUnit } from "../configured/limit.ts";
import type { RecordedOperation } from "../operation.ts";
import type { GuardServiceUse } from "../configured/outside-guard.ts";
import type { ToolRun } from "../configured/tool.ts";
import type { TraceContext } from "./trace.ts";

export type UsageSource = "provider" | "estimated";

/** What became of a field of the request: its disposition. */
export type ParameterDisposition = "native" | "mapped" | "emulated" | "dropped" | "passed";

export interface Attempt {
  /** The provider's id in the configuration. */
  readonly provider: string;
  /** The vendor by OpenTelemetry's list, or the id of the provider's family; `null` when it was not recorded. */
  readonly vendor: string | null;
  readonly model: string;
  /** The round of the attempt, counted from 1. */
  readonly round: number;
  /** Milliseconds from the arrival of the call. */
  readonly startMs: number;
  /** 16 hex digits; `null` when the call is not traced. */
  readonly spanId: string | null;
  /**
   * What the attempt used: the provider's figures or, without any, what it is charged as; `null` when nothing is known.
   */
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /** The status of the provider's response; `null` when there was none. */
  readonly status: number | null;
  readonly code: ErrorCode | null;
  /**
   * The model that answered, as the provider reports it, and in `requestId` the provider's own id of the request;
   * `null` when it reported none (promise 9.8).
   */
  readonly toldModel: string | null;
  readonly requestId: string | null;
  /** The provider's own error code or type. */
  readonly nativeCode: string | null;
  /** How long the provider asked to wait; `null` when it did not. */
  readonly retryAfterMs: number | null;
  /** Whether no request was sent, because the answer came from the response cache. */
  readonly fromCache: boolean;
  /** `null` where the provider found in its prompt cache what it had kept of the conversation, or nothing is known. */
  readonly promptCacheMiss: PromptCacheMiss | null;
  /**
   * Milliseconds from the arrival of the call to the head of the provider's response, to the first content, and to the
   * end of the attempt.
   */
  readonly headMs: number | null;
  readonly firstContentMs: number | null;
  readonly totalMs: number | null;
}

/**
 * Why a provider read less of a prompt from its cache than was kept of the conversation's earlier call: that one went to
 * another target or used another key, the prompt has changed since, the vendor keeps no prompt that long, or none of
 * these, so that the vendor has dropped it or never found it.
 */
export type PromptCacheMiss =
  | { readonly why: "other_target"; readonly earlier: string }
  | { readonly why: "other_credential" | "not_found" }
  | { readonly why: "prompt_changed"; readonly at: ChangedPiece }
  | { readonly why: "too_old"; readonly agoMs: number };

/**
 * What an attempt used of its provider, as far as this call pays for it; `null` for an answer of the response cache that
 * it does not pay for. When the equal call that sent the request has left, this call pays, and its cache says `miss`.
 */
export function usedBy({ usage, fromCache }: Attempt, { cache }: Pick<CallRecord, "cache">): Usage | null {
  return fromCache && cache?.outcome !== "miss" ? null : usage;
}

/** A provider's figure may be of any type; undefined for one that is not a number. */
export function figureOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** What a caller may see of an attempt: no host and no key (promise 7.6). */
export function attemptSummary({ provider, model, status, code }: Attempt): JsonObject {
  return { provider, model, status, code };
}

export interface CallCost {
  /** Whole nano-dollars. */
  readonly nanoUsd: number;
  /** The source of the price, with its version. */
  readonly priceId: string;
  /**
   * How much less it is than without the provider's prompt cache, below 0 where it is more; absent where nothing was read
   * from the cache or written to it.
   */
  readonly promptCacheSavedNanoUsd?: number;
}

/**
 * What a later process needs in order to continue the count from the last row of an account, when this process was
 * killed before it saved its counts.
 */
export interface CountedHere extends Pick<LimitRule, "kind" | "window"> {
  /**
   * The order of the operations of one data folder; divided by 1000 it is the time in milliseconds since 1970. `after`
   * is the account's count at that operation.
   */
  stamp: number;
  /** Names this process while it counted beside another one that kept the counts. */
  run?: string | undefined;
  /**
   * Names the worker for which the supervisor counted. `stamp` is then the order of the reservation, and `after` may lack
   * what other workers did.
   */
  holder?: string | undefined;
  /** The number of the settlement among those of `holder`; absent until it is settled. */
  settlement?: number | undefined;
}

/** The outcome of one limit or budget that applied. */
export interface LimitOutcome {
  readonly id: string;
  /** The value of the scope where each value has an account of its own; otherwise empty. */
  readonly value: string;
  readonly unit: LimitUnit;
  /** The bound at the time of the call; absent in records of earlier versions. */
  readonly limit?: number;
  readonly before: number;
  reserved: number;
  /** `null` until the reservation is settled. */
  settled: number | null;
  after: number;
  /** In audit mode: the limit would have refused the call. */
  readonly wouldRefuse: boolean;
  /** Why the limit refuses the call or one of its attempts; absent when it does not. */
  readonly refused?: ErrorCode;
  /** `undefined` when the counts do not outlive the process or are not kept by it. */
  counted?: CountedHere | undefined;
  /**
   * In a worker: the number of the reservation, the first where the rule counts the call, by which the supervisor settles
   * what the worker left open.
   */
  readonly reservation?: number;
}

/**
 * The outcome of a policy that took effect. It is `denied` even where another target took the call; `failed` means that
 * its rule could not be evaluated.
 */
export interface PolicyOutcome {
  readonly name: string;
  readonly effect: "denied" | "would_deny" | "masked" | "failed";
  /** Why its rule could not be evaluated; this text is for the log only. */
  readonly why?: string;
}

/** A step of the plan: which target was chosen or passed over, and why. */
export interface PlanStep {
  /** The name of the target, `<provider>:<model>`. */
  readonly target: string;
  /** As the strategy says it: `weight 3 of 10`, `retry 1 of 2 after a retryable failure`. */
  readonly why: string;
  /** Milliseconds from the arrival of the call to the decision. */
  readonly atMs: number;
  /** How long the call waited before the attempt, as a provider asked or because of a retry. */
  readonly waitMs: number;
  readonly round: number;
  /** Why the target was not called: what forbade it to this call; `null` when it was called. */
  refused: ErrorCode | null;
}

export interface MessageStatistics {
  readonly count: number;
  readonly roles: Readonly<Record<string, number>>;
  readonly blocks: readonly string[];
  readonly bodyCharacters: number;
}

/** What became of the copy of a call for the mirror of its route (promise 16.1). */
export interface CopiedCall {
  /** The route whose mirror it is. */
  readonly route: string;
  /** The target of the mirror, `<provider>:<model>`. */
  readonly target: string;
  /** Of the copy, which has a record of its own; `null` when the call was not copied. */
  readonly traceId: string | null;
  /** Why the call was not copied; `null` when it was. */
  readonly dropped: string | null;
}

/**
 * The recorder of the call writes the record while the call runs and publishes it once; after that it does not change.
 */
export interface CallRecord {
  readonly traceId: string;
  readonly startedAtMs: number;
  readonly clientRequestId: string | null;
  readonly otelTraceId: string | null;
  /** `null` when the call is not traced. */
  readonly trace: TraceContext | null;
  readonly snapshotVersion: number;
  readonly operation: RecordedOperation;
  readonly tokenId: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly userId: string | null;
  /** The end user that the request names (`user` or `safety_identifier`), as `endUserName` has it. */
  readonly endUser: string | null;
  /** `model` as the caller wrote it. */
  readonly modelAsked: string | null;
  readonly route: string | null;
  /** Of a route in the store; `null` for one of the file. */
  readonly routeVersion: number | null;
  /** `null` when no provider was asked. */
  readonly provider: string | null;
  /** The provider's own name of the model that answered, or was asked last. */
  readonly model: string | null;
  readonly stream: boolean;
  /** Only an explanation was asked for, so that no provider was called (promise 9.4). It may have been refused. */
  readonly explained: boolean;
  /** The trace id of the call that this one is a copy of; `null` for a call of a client. No sum and no limit counts a copy. */
  readonly mirrorOf: string | null;
  /** `null` when the call is not among those that a mirror copies. */
  readonly mirror: CopiedCall | null;
  readonly status: number;
  /** `null` exactly where the status is below 400: metrics count failures by the code, and sums of rows by the status. */
  readonly code: ErrorCode | null;
  /**
   * A text for operators only, in the log and in the admin API: the stack of a fault of the gateway, the provider's message
   * about the gateway's credential, or why a provider could not be reached.
   */
  readonly errorDetail: string | null;
  readonly dispositions: Readonly<Record<string, ParameterDisposition>>;
  readonly messages: MessageStatistics | null;
  readonly attempts: readonly Attempt[];
  /** The names of the targets that the call might go to, in their order; empty where there was only one. */
  readonly candidates: readonly string[];
  /** The steps of the plan; its text leaves them out where the only target was called once. */
  readonly plan: readonly PlanStep[];
  /** The number of rounds; 1 when the gateway ran no tools. */
  readonly rounds: number;
  /** The tools that the gateway ran. */
  readonly tools: readonly ToolRun[];
  readonly finishReasons: readonly (FinishReason | null)[];
  /** The vendor's own values, where they differ. */
  readonly nativeFinishReasons: readonly string[];
  /** The stream ended without a finish reason, so that the reason is inferred (promise 8.3). */
  readonly finishInferred: boolean;
  /**
   * The model that answered, as the provider reports it, and the provider's own id of the request; `null` when it
   * reported none (promise 9.8).
   */
  readonly providerModel: string | null;
  readonly providerRequestId: string | null;
  readonly usage: Usage | null;
  readonly usageSource: UsageSource | null;
  /**
   * Figures of the providers' usage objects that the code does not know, by their path there; `null` when there were
   * none.
   */
  readonly unnamedUsage: JsonObject | null;
  /** `null` when nothing was used or the price is not known. */
  readonly cost: CallCost | null;
  /**
   * The cost by the caller's own price where the token may not set one: it is recorded, and no budget counts it
   * (promise 4.8).
   */
  readonly callerCost: CallCost | null;
  /** `null` when the cache is off. */
  readonly cache: CachedCall | null;
  readonly limits: readonly LimitOutcome[];
  readonly policies: readonly PolicyOutcome[];
  /** What services of guards were asked. */
  readonly guardServices: readonly GuardServiceUse[];
  readonly warnings: readonly string[];
  /** The client disconnected before the answer was complete. */
  readonly cancelled: boolean;
  readonly metadata: JsonObject | null;
  /**
   * Milliseconds from the arrival to the sending of a stream's head, where that was before there was any content; `null`
   * otherwise.
   */
  readonly headMs: number | null;
  /** What was sent to a client that would otherwise have received nothing for long. */
  readonly keepAlives: number;
  /** Milliseconds from the arrival of the request to the first content sent, and to the end. */
  readonly firstContentMs: number | null;
  readonly totalMs: number;
  /** The part of `totalMs` that the gateway itself took. */
  readonly ownMs: number;
}

/** What a call is charged if its process ends before it does: what it has used, and what its attempts may still use. */
export type ChargeInFlight = Pick<CallRecord, "usage" | "cost">;

/**
 * Whether the call was not authenticated. The number of such calls has no bound, so that only a few of them are logged
 * and integrations receive none.
 */
export function isUnauthenticated({ tokenId }: Pick<CallRecord, "tokenId">): boolean {
  return tokenId === null;
}

/** Whether figures of calls count it. Sums of rows have the same rule (`sumsOfCalls` of `store/sums/call-sums.ts`). */
export function isInFigures({ explained, mirrorOf }: Pick<CallRecord, "explained" | "mirrorOf">): boolean {
  return !explained && mirrorOf === null;
}

/**
 * Whether the error of a call came from a target that was called. The client receives that error even if a rule of the
 * gateway has refused other targets of the same call (promise 7.3).
 */
export function isErrorOfTarget({ code, attempts, rounds }: Pick<CallRecord, "code" | "attempts" | "rounds">): boolean {
  return code !== null && attempts.some((one) => one.code === code && one.round === rounds);
}
