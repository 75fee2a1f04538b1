// Lines of calls in the thread of the sinks: each is parsed once for all sinks, when the first of them sends it. What was parsed weighs several times its text, so only
// the newest stay parsed; a call that waits long for a receiver waits as text.
import { type HandedLine, recordedCall } from "./integration-line.ts";
import type { RecordedCall } from "./sink.ts";

export interface ParsedLine {
  readonly units: number;
  call(): RecordedCall;
}

const MOST_PARSED = 2048;
const MOST_UNITS = 8 * 1024 * 1024;

class Line implements ParsedLine {
  readonly text: string;
  parsed: RecordedCall | null = null;
  readonly #parsedNow: (line: Line) => void;

  constructor(text: string, parsedNow: (line: Line) => void) {
    this.text = text;
    this.#parsedNow = parsedNow;
  }

  get units(): number {
    return this.text.length;
  }

  call(): RecordedCall {
    if (this.parsed !== null) return this.parsed;
    this.parsed = recordedCall(this.text);
    const { parsed } = this;
    this.#parsedNow(this);
    return parsed;
  }
}

export class ParsedCalls {
  /** The last line that was handed out: each sink asks for it in turn. */
  #last: { readonly of: HandedLine; readonly line: Line } | null = null;
  /** Parsed, the oldest first. */
  readonly #parsed = new Set<Line>();
  #units = 0;

  /** `isForAll`: all sinks get it, as they get the rest of its block. */
  of(handed: HandedLine, isForAll: boolean): ParsedLine {
    if (this.#last?.of === handed) return this.#last.line;
    const line = new Line(isForAll ? handed.text : ownText(handed.text), this.#remember);
    this.#last = { of: handed, line };
    return line;
  }

  readonly #remember = (line: Line): void => {
    this.#parsed.add(line);
    this.#units += line.units;
    for (const oldest of this.#parsed) {
      if (this.#parsed.size <= MOST_PARSED && this.#units <= MOST_UNITS) return;
      this.#parsed.delete(oldest);
      this.#units -= oldest.units;
      oldest.parsed = null;
    }
  };
}

/** A piece of a block keeps the whole block in memory, and a sink that gets one call of a hundred would keep a hundred blocks. */
function ownText(piece: string): string {
  return Buffer.from(piece, "utf8").toString("utf8");
}
