// Records one run of a tool in the record of its call. Only this recorder changes the row, and only until the run is
// over.
import type { ErrorCode } from "../../core/errors.ts";
import type { ToolRun } from "../../core/configured/tool.ts";
import type { CallClock } from "./call-clock.ts";

export class ToolRunRecorder {
  readonly row: Readonly<ToolRun>;
  readonly #row: { -readonly [Name in keyof ToolRun]: ToolRun[Name] };
  readonly #clock: CallClock;

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

  /** Notes that the tool has answered. Guards may still search the result. */
  answered(): void {
    this.#row.totalMs = this.#clock.elapsedMs();
  }

  /** `resultBytes` is null if there is no result. */
  ended(code: ErrorCode | null, isError: boolean, resultBytes: number | null): void {
    this.#row.totalMs ??= this.#clock.elapsedMs();
    this.#row.code = code;
    this.#row.isError = isError;
    this.#row.resultBytes = resultBytes;
  }
}
