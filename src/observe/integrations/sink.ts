// The port of everything outside that is told of finished calls: OTLP, JSON Lines, webhooks, Langfuse, Datadog. A sink only encodes and sends; queueing, repeats,
// time limits and shedding are the same for all and stand in front of it. No sink can slow or fail a call (decisions 11.4).
import type { CallContent } from "../../core/content.ts";
import type { CallRecord } from "../../core/record.ts";

export interface RecordedCall {
  readonly record: CallRecord;
  /** Null: the tenant keeps none. */
  readonly content: CallContent | null;
}

/** The receiver took the batch but for some: those are lost, and repeating would not help. */
export interface Rejected {
  readonly rejected: number;
  readonly why: string;
}

export interface Sink {
  /**
   * Resolves when the receiver has taken all of them, or has said which it never will. The same ones come again after a failure. Throws SinkFault; anything else
   * that is thrown counts as one that may be tried again. `signal` is its time limit.
   */
  deliver(calls: readonly RecordedCall[], signal: AbortSignal): Promise<void | Rejected>;
  close(): Promise<void>;
}

export class SinkFault extends Error {
  readonly isRetryable: boolean;
  /** What the receiver said to wait; null: nothing. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    { isRetryable, retryAfterMs = null }: { readonly isRetryable: boolean; readonly retryAfterMs?: number | null },
  ) {
    super(message);
    this.name = "SinkFault";
    this.isRetryable = isRetryable;
    this.retryAfterMs = retryAfterMs;
  }
}
