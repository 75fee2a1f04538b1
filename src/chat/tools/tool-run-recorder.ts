// The row of one run of a tool in the record of its call. Nothing else changes such a row, and nothing changes it once the run is over.
import type { ErrorCode } from "../../core/errors.ts";
import type { ToolRun } from "../../core/tool.ts";
import type { CallClock } from "../call-clock.ts";

export class ToolRunRecorder {
  readonly row: Readonly<ToolRun>;
  readonly #row: { -readonly [Name in keyof ToolRun]: ToolRun[Name] };
  readonly #clock: CallClock;

  /** The run begins. */
  constructor(run: Pick<ToolRun, "callId" | "server" | "tool" | "round" | "spanId">, clock: CallClock) {
    this.#clock = clock;
    const { spanId, ...place } = run;
    this.row = this.#row = {
      ...place,
      startMs: clock.elapsedMs(),
      totalMs: null,
      code: null,
      isError: false,
      resultBytes: null,
      spanId,
    };
  }

  /** The tool has answered; what it said is still looked at. */
  answered(): void {
    this.#row.totalMs = this.#clock.elapsedMs();
  }

  /** `resultBytes` null: it brought no result. */
  ended(code: ErrorCode | null, isError: boolean, resultBytes: number | null): void {
    this.#row.totalMs ??= this.#clock.elapsedMs();
    this.#row.code = code;
    this.#row.isError = isError;
    this.#row.resultBytes = resultBytes;
  }
}
