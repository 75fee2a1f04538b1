// How the stream of a provider is cut into events, and how events become chunks.
import type { ChatChunk, ChunkDelta } from "../../core/chat.ts";
import type { SseEvent } from "../../wire/sse.ts";
import type { Json } from "../../core/json.ts";

/**
 * How a stream is cut into events. `ndjson`: each line is one JSON text and becomes an event without a name.
 * `aws-event-stream`: binary messages, each named by its event or exception type.
 */
export type Framing = "sse" | "ndjson" | "aws-event-stream";

/** Says which events may be written as an earlier one was. */
export interface EventPasses {
  /** Whether all of some events may, judged by their text as it came, their pieces apart. */
  events(text: string): boolean;
  /**
   * Returns what says it of further pieces of the text `name` in the delta of the choice `index`. A piece of which it
   * returns true counts as passed on.
   */
  pieces(index: number, name: string): (piece: string) => boolean;
}

/** A synchronous push decoder. Each stream has its own. */
export interface StreamDecoder {
  /** The data of events is the model's own text, in which `[DONE]` is ordinary text. */
  readonly isPlainText?: boolean;
  /**
   * Whether the protocol's own terminator has come, such as `[DONE]` or `message_stop`. Absent when the form has no
   * terminator beside the finish reason; `push` does not receive `[DONE]` then.
   */
  readonly isTerminated?: boolean;
  /**
   * Present when an event that brings a piece of text leaves no trace in the decoder but what `growth` takes, so that one
   * that differs from an earlier one only in its piece may be written in the same way without passing `push`; `true` where
   * all may.
   */
  readonly passes?: true | EventPasses;
  /**
   * Present where a piece of text belongs to what earlier events have begun, such as a block. Returns what takes further
   * pieces behind the last event: those that differ from it only in their piece of text need not pass `push`.
   */
  growth?(): (piece: string) => void;
  /** The member of an event that only pads it: it may differ from event to event, and no chunk has it. */
  readonly padding?: string;
  /** Returns the piece of text in the JSON of an event. Absent in the form of chat completions. */
  pieceIn?(event: Json): Json | undefined;
  /** How often the provider has run each of its own tools so far. Absent where the events do not say it. */
  toolUses?(): Readonly<Record<string, number>>;
  /**
   * Whether the usage reported so far includes the answer, and not only the prompt, which is known when the stream begins.
   * Absent where a reported usage always includes it.
   */
  countsAnswer?(): boolean;
  /** Throws StreamError when the event carries an error of the provider. */
  push(event: SseEvent): readonly ChatChunk[];
  /**
   * Called at the end of the bytes. Returns what was still held back. The decoder does not decide whether the answer is
   * complete: without a finish reason and without the protocol's own terminator it was cut off (promise 8.3).
   */
  end(): readonly ChatChunk[];
}

/**
 * `inner` with another `push`, `end` and `passes`. All other properties reflect the present values of `inner`.
 */
export function decoderAround(
  inner: StreamDecoder,
  { push, end, passes }: Pick<StreamDecoder, "push" | "end" | "passes">,
): StreamDecoder {
  // each member is named, so that none can be forgotten that the interface gains
  const around: { readonly [K in keyof StreamDecoder]-?: StreamDecoder[K] | undefined } = {
    push,
    end,
    passes,
    growth: inner.growth?.bind(inner),
    padding: inner.padding,
    pieceIn: inner.pieceIn?.bind(inner),
    toolUses: inner.toolUses?.bind(inner),
    countsAnswer: inner.countsAnswer?.bind(inner),
    isPlainText: inner.isPlainText,
    // whether the terminator has come changes
    get isTerminated() {
      return inner.isTerminated;
    },
  };
  return around as StreamDecoder;
}

export const NO_CHUNKS: readonly ChatChunk[] = [];

export function chunkOf(delta: ChunkDelta): ChatChunk {
  return { choices: [{ index: 0, delta }] };
}
