// The stream normalizer: turns the lenient chunks of a decoder into the one strict form of stream that every client can
// read, whatever the provider did (promises 8.1, 8.2 and 8.6 to 8.8; docs/clients.md, S1 to S28). This file puts its
// stages together: vendor repair, rounds, legacy functions, the operation's writer. `answer-stream.ts` applies the guards
// behind vendor repair (docs/design/stream-normalizer.md).
import type { ChatChunk, FinishReason, Usage } from "../../core/chat.ts";
import type { TokenTally } from "../../accounting/estimate.ts";
import type { JsonObject } from "../../core/json.ts";
import type { ReportedActivity } from "../../core/configured/tool.ts";
import type { AnswerFrame } from "../answer/strict-fields.ts";
import type { ReportedUsage } from "../../providers/answers/strict-usage.ts";
import type { RoundAccumulator } from "../tools/multi-round-answer.ts";
import { LegacyFunctionStage } from "./legacy-function-stage.ts";
import { RoundStage } from "./round-stage.ts";
import type { StreamStage } from "./stream-stage.ts";
import type { StreamWriter } from "./stream-writer.ts";
import { VendorRepair } from "./vendor-repair.ts";

/**
 * The state of one stream. The output is whole events, without the end of the stream. Guards may need time and another
 * thread, so that the reader of the stream applies them between `repair` and `serialize` (answer-stream.ts).
 */
export class StreamNormalizer {
  readonly #repair: VendorRepair;
  readonly #rounds: RoundStage | null;
  /** The stages between guards and serialization that this stream needs. */
  readonly #stages: readonly StreamStage[];
  /** The last stage. The next round continues its events. */
  readonly writer: StreamWriter;
  /** `null` when the answer has one round. */
  readonly #round: RoundAccumulator | null;
  /** The finish reasons that were written; `null` before the end. */
  #written: readonly FinishReason[] | null = null;

  constructor(frame: AnswerFrame, writer: StreamWriter, round: RoundAccumulator | null = null) {
    this.writer = writer;
    this.#round = round;
    this.#repair = new VendorRepair(frame, round !== null);
    this.#rounds = round === null ? null : new RoundStage(round);
    this.#stages = [
      ...(this.#rounds === null ? [] : [this.#rounds]),
      ...(frame.legacyFunctions ? [new LegacyFunctionStage()] : []),
    ];
  }

  /** The first stage. Throws MalformedAnswer when a bound is exceeded. */
  repair(chunk: ChatChunk): ChatChunk {
    return this.#repair.write(chunk);
  }

  /**
   * The stages behind the guards. Returns the events for a repaired chunk; empty when it has nothing for a client.
   * Throws MalformedAnswer when a bound is exceeded.
   */
  serialize(chunk: ChatChunk): string {
    return this.writer.write(this.#shown(chunk));
  }

  /** The same of strict chunks as `StreamWriter` says of its own. They are otherwise only counted in `generated`. */
  get repeatsEvents(): boolean {
    return this.#stages.length === 0 && this.writer.repeatsEvents;
  }

  /** What `serialize` would return for a strict chunk, where events are repeated. Nothing changes. */
  preview(chunk: ChatChunk): string {
    return this.writer.preview?.(chunk) ?? this.writer.write(chunk);
  }

  /** All stages of a stream without guards. */
  write(chunk: ChatChunk): string {
    return this.serialize(this.repair(chunk));
  }

  /**
   * Returns the last events of a complete stream: finish reasons, then the usage where it was requested. A tool round
   * has none.
   */
  finish(total: Usage): string {
    return this.#round === null ? this.end(total) : "";
  }

  /** The same in steps, of which each needs a turn of the event loop; `null` where one turn is enough. */
  finishInSteps(total: Usage): Iterator<string, void> | null {
    return this.#round === null && this.writer.endsLong === true ? this.#endInSteps(total) : null;
  }

  *#endInSteps(total: Usage): Generator<string, void> {
    const { last, reasons } = this.#ending(false);
    const steps = this.writer.endInSteps!(last, total, null);
    for (const [index, step] of steps.entries()) {
      if (index === steps.length - 1) this.#written = reasons;
      yield step();
    }
  }

  /**
   * `isCut` means that tool calls of the gateway were not run, so that the answer is incomplete. `report` is as in
   * `StreamWriter`.
   */
  end(total: Usage, isCut = false, report: JsonObject | null = null): string {
    const { last, reasons } = this.#ending(isCut);
    this.#written = reasons;
    return this.writer.end(last, total, report);
  }

  #ending(isCut: boolean): { readonly last: ChatChunk; readonly reasons: readonly FinishReason[] } {
    this.#rounds?.end();
    const last = this.#shown(this.#repair.end(isCut));
    return { last, reasons: last.choices.flatMap(({ finish_reason: finish }) => finish ?? []) };
  }

  /** Returns an event about what the gateway does between two rounds. */
  activity(reported: ReportedActivity): string {
    return this.writer.activity(reported);
  }

  /**
   * Called when the protocol's own terminator came while a choice has no finish reason. `source` restricts this to one
   * choice. Returns true when the reason was inferred.
   */
  inferFinish(source: number | null = null): boolean {
    return this.#repair.inferFinish(source);
  }

  #shown(chunk: ChatChunk): ChatChunk {
    let shown = chunk;
    for (const stage of this.#stages) shown = stage.write(shown);
    return shown;
  }

  /** What was generated so far, for an estimate. */
  get generated(): TokenTally {
    return this.#repair.generated;
  }
  /** True once text, reasoning, a tool call, a refusal or a finish reason has come (promise 7.4). */
  get hasContent(): boolean {
    // calls of tools that the gateway runs are not shown
    return this.writer.hasContent || (this.#repair.hasFinish && this.#round?.hasHidden !== true);
  }
  /** Whether the provider has generated something, even if a guard still holds it back. */
  get hasGenerated(): boolean {
    return this.#repair.hasGenerated || this.hasContent;
  }
  /** Whether the answer is complete and nothing at all was generated (promise 7.1). */
  get isEmpty(): boolean {
    return this.#repair.isEmpty;
  }
  /** How many characters of the answer are kept for later events. */
  get kept(): number {
    return this.writer.kept ?? 0;
  }
  /** Whether the last events have been written. */
  get isFinished(): boolean {
    return this.#written !== null;
  }
  /** Whether at least the required number of choices has begun, and every choice that began has its finish reason. */
  get isComplete(): boolean {
    return this.#repair.isComplete;
  }
  /** What the provider has told of its usage. */
  get reported(): ReportedUsage {
    return this.#repair.reported;
  }
  /** The model that answered, as the provider reports it; `null` when it has reported none. */
  get reportedModel(): string | null {
    return this.#repair.reportedModel;
  }
  get finishReasons(): readonly (FinishReason | null)[] {
    return this.#written ?? this.#repair.finishReasons;
  }
  get nativeFinishReasons(): readonly string[] {
    return this.#repair.nativeFinishReasons;
  }
  /** Whether the stream ended without a finish reason, and one was inferred. */
  get isFinishInferred(): boolean {
    return this.#repair.isFinishInferred;
  }
}
