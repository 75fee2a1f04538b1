// What a module of an integration of type `callback` may export, for those who write one: `import type { Callbacks } from "dragoman/callback"`. Each function is called
// in a thread of its own, one call after the other, and may be asynchronous; what it throws is counted and told to nobody else.
import type { CallContent } from "../../core/content.ts";
import type { JsonObject } from "../../core/json.ts";
import type { CallRecord } from "../../core/record.ts";

export type { CallContent, CallRecord };

/** A call that was admitted: an attempt of it is about to run. */
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

/** A piece of a stream as it went to the client. Its size and never its text: a piece cannot be redacted. */
export interface StreamChunk {
  readonly traceId: string;
  /** From 0. */
  readonly index: number;
  /** Milliseconds from the arrival of the call. */
  readonly atMs: number;
  /** Of the text that was sent, with its frame. */
  readonly characters: number;
}

export interface Callbacks {
  /** Of calls that are tried; one that is refused before has only an end. */
  readonly onCallStart?: (call: CallStart) => unknown;
  /** `content`: what was said, where the tenant keeps it and the integration has `content: true`. */
  readonly onCallEnd?: (record: CallRecord, content: CallContent | null) => unknown;
  /** Of the part of the streams that `stream_chunks` says. */
  readonly onStreamChunk?: (chunk: StreamChunk) => unknown;
}
