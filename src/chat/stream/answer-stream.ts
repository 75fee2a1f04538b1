// Translates the bytes of a provider's stream to the text of the client's stream, one read at a time, through parser,
// decoder and stream normalizer, with guards between its stages. It stops at `[DONE]` or at the end of the bytes. An
// answer that is incomplete by then was cut off, unless the protocol's own terminator came and the end can be inferred
// (promise 8.3).
import { GatewayError } from "../../core/errors.ts";
import type { ChatAnswer, ChatChunk, Usage } from "../../core/chat.ts";
import { isLongEvent, LONG_EVENT, readableEvents } from "../long-bodies/long-events.ts";
import { MalformedAnswer, type StreamDecoder } from "../../providers/provider.ts";
import type { SseEvent, SseParser } from "../../wire/sse.ts";
import type { UpstreamBody } from "../../wire/upstream.ts";
import type { Call } from "../call/call.ts";
import type { StreamUnderGuards } from "../guards/guard-scheduler.ts";
import type { StreamNormalizer } from "./stream-normalizer.ts";
import { yieldToLoop } from "../../core/event-loop.ts";

export interface AnswerStream {
  /**
   * Returns the next text for the client, which is never empty, or `null` once the stream is complete. Throws what the
   * upstream or the decoder throws, after the text that preceded the failure in the same read was returned.
   */
  next(): Promise<string | null>;
  /** Returns the failure that the next call of `next` will throw. */
  failure(): unknown;
  /** Cancels reading the provider's response. */
  cancel(): void;
}

/** The receiver of a stream's chunks: the stream normalizer, or one choice of it. */
export type ChunkWriter = Pick<StreamNormalizer, "repair" | "serialize" | "isComplete" | "inferFinish" | "finish">;

/**
 * A provider that sends without pause must not occupy the thread: after this many bytes, other calls get their turn.
 */
const TURN_BYTES = 64 * 1024;
/**
 * The most text that one read may produce, because some formats expand a few bytes to much text on the client's side.
 */
const MAX_TEXT = 64 * 1024 * 1024;

/** After `[DONE]`, the body is read to its end for at most this long, so that the connection can be reused. */
const DRAIN_MS = 1000;

export function openAnswerStream(
  body: UpstreamBody,
  parser: SseParser,
  decoder: StreamDecoder,
  writer: ChunkWriter,
  guarded: StreamUnderGuards | null,
  call: Call,
  usage: () => Usage,
): AnswerStream {
  let ended = false;
  let failure: unknown = undefined;
  let turnBytes = 0;
  /** The text of the present read, which a failure does not take back. */
  let out = "";

  /** Returns the text of the events up to `[DONE]` or a failure, which is stored. */
  async function translate(events: readonly SseEvent[]): Promise<string> {
    out = "";
    try {
      const repaired: ChatChunk[] = [];
      try {
        for (const event of events) {
          if (isDone(event)) break;
          for (const chunk of decoder.push(event)) repaired.push(writer.repair(chunk));
          if (isLongEvent(event)) await yieldToLoop();
        }
      } finally {
        // the chunks before a failure in the same read are written first
        serialize(guarded === null || repaired.length === 0 ? repaired : await guarded.take(repaired));
      }
      if (ended) {
        const last = decoder.end().map((chunk) => writer.repair(chunk));
        serialize(guarded === null || last.length === 0 ? last : await guarded.take(last));
        const isCut = !writer.isComplete && decoder.isTerminated !== true;
        if (guarded !== null && !isCut) serialize(await guarded.end());
        requireComplete();
        out += writer.finish(usage());
      }
    } catch (thrown) {
      failure = thrown;
    }
    return out;
  }

  function serialize(chunks: readonly ChatChunk[]): void {
    for (const chunk of chunks) {
      out += writer.serialize(chunk);
      if (out.length > MAX_TEXT) throw tooMuch();
    }
  }

  function isDone(event: SseEvent): boolean {
    if (event.data !== "[DONE]" || decoder.isPlainText === true) return false;
    ended = true;
    if (decoder.isTerminated !== undefined) decoder.push(event);
    drain(body);
    return true;
  }

  function requireComplete(): void {
    if (decoder.isTerminated === true && !writer.isComplete) writer.inferFinish();
    if (!writer.isComplete)
      throw new GatewayError("upstream_incomplete", "The provider's stream ended before the answer was complete.");
  }

  return {
    cancel() {
      guarded?.close();
      body.cancel();
    },
    failure: () => failure,
    async next() {
      while (!ended && failure === undefined) {
        if (turnBytes > TURN_BYTES) {
          turnBytes = 0;
          await yieldToLoop();
        }
        let bytes: Uint8Array | null;
        call.clock.waitBegins();
        try {
          bytes = await body.read();
        } finally {
          call.clock.waitEnds();
        }
        turnBytes += bytes?.length ?? 0;
        if (bytes === null) ended = true;
        const given = bytes === null ? parser.end() : parser.push(bytes);
        const { events, refusal } = given.some(isLongEvent)
          ? await readableEvents(given)
          : { events: given, refusal: null };
        if (refusal !== null) ended = false;
        const text = await translate(events);
        if (refusal !== null) failure ??= refusal;
        // a long text is encoded in a turn of its own
        if (text.length >= LONG_EVENT) await yieldToLoop();
        if (text !== "") return text;
      }
      // what a decoder or a driver throws is passed on as it is
      // oxlint-disable-next-line typescript/only-throw-error
      if (failure !== undefined) throw failure;
      return null;
    },
  };
}

function tooMuch(): MalformedAnswer {
  return new MalformedAnswer("The provider's stream sent more at once than the gateway accepts.");
}

function drain(body: UpstreamBody): void {
  const timer = setTimeout(() => body.cancel(), DRAIN_MS);
  const readOn = async (): Promise<void> => {
    try {
      while ((await body.read()) !== null);
    } catch {
      // the answer is complete, so that it does not matter how the connection ends
    } finally {
      clearTimeout(timer);
    }
  };
  void readOn();
}

/** Turns a non-streaming answer into one chunk, for a server that answers a streamed call with plain JSON. */
export function chunkOfAnswer(answer: ChatAnswer): ChatChunk {
  const choices = answer.choices.map(({ message, ...choice }) => ({
    ...choice,
    delta: {
      ...message,
      ...(message.tool_calls && { tool_calls: message.tool_calls.map((call, index) => ({ ...call, index })) }),
    },
  }));
  return { ...answer, choices };
}
