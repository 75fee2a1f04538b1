// The port for all receivers of finished calls: OTLP, JSON Lines, webhooks, Langfuse, Datadog. A sink only encodes and
// sends; queueing, retries, time limits and dropping are the same for all sinks and happen in front of them. No sink
// can delay or fail a call (promise 11.4).
import type { CallContent } from "../../core/configured/content.ts";
import type { CallRecord } from "../../core/record/record.ts";

export interface RecordedCall {
  readonly record: CallRecord;
  /** `null` when the tenant keeps no content. */
  readonly content: CallContent | null;
}

/** The receiver accepted the batch except for some calls: these are lost, because a retry would not help. */
export interface Rejected {
  readonly rejected: number;
  readonly why: string;
}

export interface Sink<T = RecordedCall> {
  /**
   * Resolves when the receiver has accepted all calls, or has said which ones it never will. After a failure the same
   * calls are delivered again. Throws SinkFault; any other error counts as retryable. `signal` is its time limit.
   */
  deliver(calls: readonly T[], signal: AbortSignal): Promise<void | Rejected>;
  close(): Promise<void>;
}

/** During a longer wait, calls that do not fit into memory would be lost. */
const MAX_RETRY_AFTER_MS = 300_000;

/** What a refusal is about: one of the calls, or the size of the batch; `null` when it would meet any other batch too. */
export type RefusedFor = "call" | "size" | null;

interface FaultDetails {
  readonly isRetryable: boolean;
  readonly retryAfterMs?: number | null;
  readonly refusedFor?: RefusedFor;
}

export class SinkFault extends Error {
  readonly isRetryable: boolean;
  /** The wait that the receiver asked for, at most five minutes; `null` when it asked for none. */
  readonly retryAfterMs: number | null;
  readonly refusedFor: RefusedFor;

  constructor(message: string, { isRetryable, retryAfterMs = null, refusedFor = null }: FaultDetails) {
    super(message);
    this.name = "SinkFault";
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs === null ? null : Math.min(retryAfterMs, MAX_RETRY_AFTER_MS);
    this.refusedFor = refusedFor;
  }
}
