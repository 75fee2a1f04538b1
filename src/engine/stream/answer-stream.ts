// Translates the bytes of a provider's stream to the text of the client's stream, one read at a time, through parser,
// decoder and stream normalizer, with guards between its stages; events that are like earlier ones are rewritten as text
// (event-patterns.ts). It stops at `[DONE]` or at the end of the bytes. An answer that is incomplete by then was cut off,
// unless the protocol's own terminator came and the end can be inferred (promise 8.3).

// Decides (the answer): When is a stream complete? By: `ResponseStream`. Also: `vendor-repair.ts`
// (`inferFinish`). Rule: With a finish reason; or with the protocol's terminator, where the reason can be inferred.
// Else `upstream_incomplete`.
import { GatewayError } from "../../core/errors.ts";
import type { ChatChunk, Usage } from "../../core/chat.ts";
import { isLongEvent, LONG_TEXT, readableEvents } from "../long-bodies/read-in-turns.ts";
import type { StreamDecoder } from "../../providers/interface/stream-decoder.ts";
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import { type EventReceiver, type SseEvent, type SseParser, textOfEvent } from "../../wire/sse.ts";
import type { UpstreamBody } from "../../wire/upstream.ts";
import type { CallClock } from "../call/call-clock.ts";
import type { StreamUnderGuards } from "../guards/stream-under-guards.ts";
import { endingUnderGuards } from "../guards/guarded-ending.ts";
import { EventPatterns } from "./event-patterns.ts";
import { NativePatterns } from "../native/native-patterns.ts";
import type { NativePassing } from "../native/native-passing.ts";
import type { StreamNormalizer } from "./stream-normalizer.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";
import { readOn } from "../../wire/body-bytes.ts";

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
export type ChunkWriter = Pick<StreamNormalizer, "repair" | "serialize" | "isComplete" | "inferFinish" | "finish"> & {
  readonly finishInSteps?: StreamNormalizer["finishInSteps"];
};

/** Texts that are made one by one, each in a turn of its own and once those before it have been taken. */
interface Steps {
  readonly texts: Iterator<string, void>;
  /** What follows upon them. */
  readonly after: () => Promise<void>;
}

/**
 * A provider that sends without pause must not occupy the thread: after this many bytes, other calls get their turn,
 * also within one read, which can be of any size.
 */
export const TURN_BYTES = 64 * 1024;
/**
 * The most text that one read may produce, because some formats expand a few bytes to much text on the client's side.
 */
const MAX_TEXT = 64 * 1024 * 1024;

export interface AnswerStreamParts {
  readonly body: UpstreamBody;
  readonly parser: SseParser;
  readonly decoder: StreamDecoder;
  readonly writer: ChunkWriter;
  /** `null` when no guard searches the answer. */
  readonly guarded: StreamUnderGuards | null;
  /** The usage that the last chunk reports. */
  readonly usage: () => Usage;
  /** The writer, where events may be rewritten as text: it receives all chunks of the answer. */
  readonly normalizer: StreamNormalizer | null;
  /** Passes on the events of a provider that speaks the operation; `null` where the writer makes the events. */
  readonly passing: NativePassing | null;
  /** Searches a long event for the operator's keys before it is read. */
  readonly search: (event: SseEvent) => unknown;
  readonly maxEventBytes: number;
}

/** The stream of one upstream response. */
export class ResponseStream implements AnswerStream, EventReceiver {
  readonly #parts: AnswerStreamParts;
  readonly #clock: CallClock;
  /** `null` when every event has to be parsed. */
  readonly #patterns: EventPatterns | NativePatterns | null;
  /** The events of the present read from the first long one on, which need turns of their own. */
  #later: SseEvent[] = [];
  #hasEnded = false;
  #failure: unknown = undefined;
  #turnBytes = 0;
  /** The rest of a read that is more than one turn can handle; `null` when there is none. */
  #unread: Uint8Array | null = null;
  /** The text that can be taken, which a failure does not take back. */
  #text = "";
  /** What has to be written before anything else is read. */
  #steps: Steps | null = null;

  constructor(parts: AnswerStreamParts, clock: CallClock) {
    this.#parts = parts;
    this.#clock = clock;
    this.#patterns = patternsOf(parts);
  }

  async next(): Promise<string | null> {
    if (this.#text !== "") return this.#nextText();
    while (this.#failure === undefined) {
      if (this.#steps !== null) {
        await this.#step(this.#steps);
        if (this.#text !== "") return this.#nextText();
        continue;
      }
      if (this.#hasEnded) break;
      if (this.#turnBytes >= TURN_BYTES) {
        this.#turnBytes = 0;
        await yieldToLoop();
      }
      let bytes = this.#unread;
      if (bytes === null) {
        this.#clock.waitBegins();
        try {
          bytes = await this.#parts.body.read();
        } finally {
          this.#clock.waitEnds();
        }
      }
      const given = this.#parsed(this.#ofTurn(bytes));
      if (given.length > 0 || this.#hasEnded) {
        const { events, refusal } = given.some(isLongEvent)
          ? await readableEvents(given, this.#parts.search)
          : { events: given, refusal: null };
        if (refusal !== null) this.#hasEnded = false;
        await this.#translate(events, refusal);
      }
      if (this.#text !== "") return this.#nextText();
    }
    // what a decoder or a driver throws is passed on as it is
    // oxlint-disable-next-line typescript/only-throw-error
    if (this.#failure !== undefined) throw this.#failure;
    return null;
  }

  failure(): unknown {
    return this.#failure;
  }

  /** Returns as many of the bytes as one turn can handle, and keeps the rest for the next ones. */
  #ofTurn(bytes: Uint8Array | null): Uint8Array | null {
    const isLong = bytes !== null && bytes.length > TURN_BYTES;
    this.#unread = isLong ? bytes.subarray(TURN_BYTES) : null;
    return isLong ? bytes.subarray(0, TURN_BYTES) : bytes;
  }

  async #nextText(): Promise<string> {
    const text = this.#text;
    this.#text = "";
    // a long text is encoded in a turn of its own
    if (text.length >= LONG_TEXT) await yieldToLoop();
    return text;
  }

  cancel(): void {
    this.#parts.guarded?.close();
    this.#parts.body.cancel();
  }

  /**
   * Returns the events of one read; `null` is the end of the body. Where events may be rewritten as text, it makes the
   * text of them all, but for those behind a long one.
   */
  #parsed(bytes: Uint8Array | null): readonly SseEvent[] {
    const { parser } = this.#parts;
    if (bytes === null) {
      this.#hasEnded = true;
      return parser.end();
    }
    this.#turnBytes += bytes.length;
    if (this.#patterns === null || parser.pushTo === undefined) return parser.push(bytes);
    this.#later = [];
    try {
      parser.pushTo(bytes, this);
    } catch (thrown) {
      // what follows `[DONE]` does not matter
      if (!this.#hasEnded) this.#failure = thrown;
    }
    return this.#later;
  }

  take(text: string, start: number): number {
    if (this.#hasEnded || this.#later.length > 0 || !this.#parts.normalizer!.repeatsEvents) return start;
    const end = this.#patterns!.take(text, start);
    if (end > start) this.#add(this.#patterns!.takeShown());
    return end;
  }

  push(event: SseEvent): void {
    if (this.#hasEnded) return;
    if (this.#later.length > 0 || this.#isLong(event)) this.#later.push(event);
    else if (!this.#isDone(event)) this.#write(event);
  }

  #isLong(event: SseEvent): boolean {
    return this.#parts.passing?.isLong(event) ?? isLongEvent(event);
  }

  /** Writes an event that is not long and that no guard searches. Others like it may then be written as text. */
  #write(event: SseEvent): void {
    const { decoder, writer, passing, parser } = this.#parts;
    // where the format of the stream is no text, the parser could not ask
    const mayTake = this.#patterns !== null && parser.pushTo === undefined && !event.data.includes("\n");
    if (mayTake && this.take(textOfEvent(event), 0) > 0) return;
    const chunks = decoder.push(event);
    let shown = "";
    let isRepaired = false;
    for (const chunk of chunks) {
      const repaired = writer.repair(chunk);
      if (repaired !== chunk) isRepaired = true;
      shown = writer.serialize(repaired);
      this.#add(shown);
    }
    if (passing !== null) {
      shown = passing.pass(event);
      this.#add(shown);
    } else if (isRepaired) shown = "";
    this.#patterns?.learn(event, chunks, shown);
  }

  async #step({ texts, after }: Steps): Promise<void> {
    await yieldToLoop();
    try {
      const { done, value } = texts.next();
      if (done !== true) return this.#add(value);
      this.#steps = null;
      await after();
    } catch (thrown) {
      this.#failure = thrown;
    }
  }

  /**
   * Makes the text of the events up to `[DONE]`, a failure, which is stored, or one that is passed in steps, on which
   * the others follow. `refusal` is the failure behind them all.
   */
  async #translate(events: readonly SseEvent[], refusal: MalformedAnswer | null): Promise<void> {
    const { decoder, writer, guarded, passing } = this.#parts;
    try {
      const repaired: ChatChunk[] = [];
      try {
        for (const [index, event] of events.entries()) {
          if (this.#isDone(event)) break;
          if (guarded === null && !this.#isLong(event)) {
            this.#write(event);
            continue;
          }
          for (const chunk of decoder.push(event))
            repaired.push(writer.repair(guarded === null ? chunk : await endingUnderGuards(chunk, guarded)));
          if (isLongEvent(event)) await yieldToLoop();
          if (guarded !== null) continue;
          this.#serialize(repaired.splice(0));
          if (passing === null) continue;
          this.#steps = { texts: passing.steps(event), after: () => this.#translate(events.slice(index + 1), refusal) };
          return;
        }
      } finally {
        // the chunks before a failure in the same read are written first
        this.#serialize(guarded === null || repaired.length === 0 ? repaired : await guarded.take(repaired));
      }
      if (refusal !== null) throw refusal;
      if (this.#hasEnded) await this.#end();
    } catch (thrown) {
      this.#failure = thrown;
    }
  }

  async #end(): Promise<void> {
    const { body, decoder, writer, guarded, usage, passing } = this.#parts;
    const ending: ChatChunk[] = [];
    for (const chunk of decoder.end())
      ending.push(writer.repair(guarded === null ? chunk : await endingUnderGuards(chunk, guarded)));
    this.#serialize(guarded === null || ending.length === 0 ? ending : await guarded.take(ending));
    const isCut = !writer.isComplete && decoder.isTerminated !== true;
    if (guarded !== null && !isCut) this.#serialize(await guarded.end());
    if (decoder.isTerminated === true && !writer.isComplete) writer.inferFinish();
    if (!writer.isComplete)
      throw new GatewayError("upstream_incomplete", "The provider's stream ended before the answer was complete.");
    body.accept();
    const last = (): Promise<void> => {
      if (passing !== null) this.#add(passing.end());
      return Promise.resolve();
    };
    const texts = writer.finishInSteps?.(usage()) ?? null;
    if (texts !== null) this.#steps = { texts, after: last };
    else {
      this.#add(writer.finish(usage()));
      await last();
    }
  }

  #serialize(chunks: readonly ChatChunk[]): void {
    for (const chunk of chunks) this.#add(this.#parts.writer.serialize(chunk));
  }

  #add(text: string): void {
    this.#text += text;
    if (this.#text.length > MAX_TEXT) throw tooMuch();
  }

  #isDone(event: SseEvent): boolean {
    const { body, decoder } = this.#parts;
    if (event.data !== "[DONE]" || decoder.isPlainText === true) return false;
    this.#hasEnded = true;
    if (decoder.isTerminated !== undefined) decoder.push(event);
    void readOn(body);
    return true;
  }
}

function patternsOf(parts: AnswerStreamParts): EventPatterns | NativePatterns | null {
  const { parser, decoder, guarded, normalizer, passing, maxEventBytes } = parts;
  if (guarded !== null || normalizer === null) return null;
  if (passing === null)
    return decoder.passes === undefined
      ? null
      : new EventPatterns({ maxEventBytes, normalizer, decoder, passes: decoder.passes });
  if (parser.pushTo === undefined) return null;
  return new NativePatterns({ maxEventBytes, passing, decoder, generated: normalizer.generated });
}

function tooMuch(): MalformedAnswer {
  return new MalformedAnswer("The provider's stream sent more at once than the gateway accepts.");
}
