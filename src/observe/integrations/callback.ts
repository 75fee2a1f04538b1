// The functions that a module of an integration of type `callback` may export: `import type { Callbacks } from
// "dragoman/callback"`. Each function is called in a thread of its own, one call after the other, and may be
// asynchronous; an error that it throws is counted and affects nothing else.
import type { CallContent } from "../../core/configured/content.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CallRecord } from "../../core/record/record.ts";

export type { CallContent, CallRecord };

/** A call that was admitted: its first attempt is about to run. */
export interface CallStart {
  readonly traceId: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly tokenId: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
  readonly userId: string | null;
  readonly endUser: string | null;
  readonly modelAsked: string | null;
  readonly route: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly stream: boolean;
  readonly metadata: JsonObject | null;
}

/**
 * A piece of a stream as it was sent to the client. Only its size is given, never its text, because a piece cannot be
 * redacted.
 */
export interface StreamChunk {
  readonly traceId: string;
  /** Starts at 0. */
  readonly index: number;
  /** Milliseconds since the arrival of the call. */
  readonly atMs: number;
  /** Characters of the text that was sent, including its frame. */
  readonly characters: number;
}

export interface Callbacks {
  /** Called for calls that are attempted; a call that is refused before has only an end. */
  readonly onCallStart?: (call: CallStart) => unknown;
  /** `content` is given when the tenant keeps it and the integration has `content: true`. */
  readonly onCallEnd?: (record: CallRecord, content: CallContent | null) => unknown;
  /** Called for the fraction of streams that `stream_chunks` sets. */
  readonly onStreamChunk?: (chunk: StreamChunk) => unknown;
}
