// Several choices from a provider that returns only one for each request: as many upstream requests in parallel, merged
// into one answer. This happens only where the capability table says that `n` is emulated. The answer's usage is the
// sum, and `x-gateway-warnings: n_emulated` says that each choice was paid for as a request of its own.
import { newTally, tokensOf } from "../../accounting/estimate.ts";
import { type ChatChunk, type ChunkChoice, isFinishReason } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import type { AnswerStream, ChunkWriter } from "./answer-stream.ts";
import { ReportedUsage } from "../../providers/answers/strict-usage.ts";
import type { StreamNormalizer } from "./stream-normalizer.ts";

/** One of the streams, as a choice of the merged stream. */
export class ChoiceWriter implements ChunkWriter {
  readonly #normalizer: StreamNormalizer;
  readonly #index: number;
  /** What was generated for this choice, for an estimate. */
  readonly generated = newTally();
  readonly reported = new ReportedUsage();
  #finished = false;

  constructor(normalizer: StreamNormalizer, index: number) {
    this.#normalizer = normalizer;
    this.#index = index;
  }

  get isComplete(): boolean {
    return this.#finished;
  }
  get hasGenerated(): boolean {
    return tokensOf(this.generated) > 0;
  }

  repair(chunk: ChatChunk): ChatChunk {
    const given: readonly ChunkChoice[] = Array.isArray(chunk.choices)
      ? chunk.choices.filter((choice) => isObject(choice))
      : [];
    const choices = given.map((choice) => ({ ...choice, index: this.#index }));
    if (choices.some(({ finish_reason: finish }) => isFinishReason(finish))) this.#finished = true;
    const repaired = this.#counted(() => this.#normalizer.repair({ ...chunk, usage: null, choices }));
    this.reported.take(chunk, this.hasGenerated);
    return repaired;
  }

  inferFinish(): boolean {
    this.#finished = this.#normalizer.inferFinish(this.#index);
    return this.#finished;
  }

  serialize(chunk: ChatChunk): string {
    return this.#normalizer.serialize(chunk);
  }

  /** Counts what the stream normalizer counts for this choice. */
  #counted<T>(repair: () => T): T {
    const { ascii, other } = this.#normalizer.generated;
    const repaired = repair();
    this.generated.ascii += this.#normalizer.generated.ascii - ascii;
    this.generated.other += this.#normalizer.generated.other - other;
    return repaired;
  }

  /** Returns no text, because the merged stream has only one end. */
  finish(): string {
    return "";
  }
}

/** Merges the streams, each of which is read as it arrives. `end` returns the last text once all are complete. */
export function mergedStream(streams: readonly AnswerStream[], end: () => string): AnswerStream {
  const reading = new Map<AnswerStream, Promise<readonly [AnswerStream, string | null]> | null>(
    streams.map((stream) => [stream, null]),
  );
  const read = (stream: AnswerStream): Promise<readonly [AnswerStream, string | null]> => {
    const next = stream.next().then((text) => [stream, text] as const);
    // another stream may be awaited when this read fails
    next.catch(() => {});
    return next;
  };
  return {
    cancel: () => streams.forEach((stream) => stream.cancel()),
    failure: () => streams.map((stream) => stream.failure()).find((failure) => failure !== undefined),
    async next() {
      while (reading.size > 0) {
        for (const [stream, next] of reading) if (next === null) reading.set(stream, read(stream));
        const [stream, text] = await Promise.race(
          reading.values() as Iterable<Promise<readonly [AnswerStream, string | null]>>,
        );
        if (text !== null) {
          reading.set(stream, null);
          return text;
        }
        reading.delete(stream);
        if (reading.size === 0) return end();
      }
      return null;
    },
  };
}
