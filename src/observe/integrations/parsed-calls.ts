// Lines of calls in the thread of the sinks. Each line is parsed once for all sinks, when the first of them sends it,
// and the parsed form is dropped when the last one has it. The parsed form takes several times the memory of the text,
// so only the newest lines stay parsed; a call that waits long for a receiver waits as text.
import { type ReceivedLine, recordedCall } from "./integration-line.ts";
import type { RecordedCall } from "./sink.ts";

export interface ParsedLine {
  readonly units: number;
  /** Returns the call for immediate use. */
  call(): RecordedCall;
  /** Returns the call for one of the sinks that get it; a sink may ask again. */
  take(withContent: boolean): RecordedCall;
}

const MOST_PARSED = 2048;
const MOST_UNITS = 8 * 1024 * 1024;

class Line implements ParsedLine {
  readonly text: string;
  parsed: RecordedCall | null = null;
  #withoutContent: RecordedCall | null = null;
  /** The number of sinks that have not asked for it yet. */
  #waiting: number;
  readonly #kept: ParsedCalls;

  constructor(text: string, sinks: number, kept: ParsedCalls) {
    this.text = text;
    this.#waiting = sinks;
    this.#kept = kept;
  }

  get units(): number {
    return this.text.length;
  }

  call(): RecordedCall {
    if (this.parsed !== null) return this.parsed;
    const parsed = recordedCall(this.text);
    this.parsed = parsed;
    this.#kept.add(this);
    return parsed;
  }

  take(withContent: boolean): RecordedCall {
    const call = this.call();
    // All sinks get the same object, because results derived from it are cached by it.
    const own =
      withContent || call.content === null ? call : (this.#withoutContent ??= { record: call.record, content: null });
    this.#waiting -= 1;
    if (this.#waiting <= 0) this.#kept.drop(this);
    return own;
  }

  forget(): void {
    this.parsed = null;
    this.#withoutContent = null;
  }
}

export class ParsedCalls {
  /** The last line that was handed out, because each sink asks for it in turn. */
  #last: { readonly of: ReceivedLine; readonly line: Line } | null = null;
  /** The parsed lines, the oldest first. */
  readonly #parsed = new Set<Line>();
  #units = 0;

  /** `sinks` is the number of all sinks. A line that all of them get need not be copied out of its block. */
  of(handed: ReceivedLine, sinks: number): ParsedLine {
    if (this.#last?.of === handed) return this.#last.line;
    const getting = bits(handed.mask);
    const line = new Line(getting === sinks ? handed.text : ownText(handed.text), getting, this);
    this.#last = { of: handed, line };
    return line;
  }

  add(line: Line): void {
    this.#parsed.add(line);
    this.#units += line.units;
    for (const oldest of this.#parsed) {
      if (this.#parsed.size <= MOST_PARSED && this.#units <= MOST_UNITS) return;
      this.drop(oldest);
    }
  }

  drop(line: Line): void {
    if (!this.#parsed.delete(line)) return;
    this.#units -= line.units;
    line.forget();
  }
}

function bits(mask: number): number {
  let count = 0;
  for (let left = mask; left !== 0; left &= left - 1) count += 1;
  return count;
}

/**
 * Copies a line out of its block. A slice keeps the whole block in memory, and a sink that gets one call of a hundred
 * would keep a hundred blocks.
 */
function ownText(piece: string): string {
  return Buffer.from(piece, "utf8").toString("utf8");
}
