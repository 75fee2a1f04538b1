// Passes on events as text, without parsing them: nearly every event of a stream differs from the one before only in its
// piece of text, and in a number that counts. Once such an event was parsed and passed, it is kept as a pattern; an event
// that fits it to the last character passes in the same way. Every other event is parsed.
import type { TokenTally } from "../../accounting/estimate.ts";
import type { ChatChunk } from "../../core/chat.ts";
import { type SseEvent, textOfEvent } from "../../wire/sse.ts";
import type { StreamDecoder } from "../../providers/interface/stream-decoder.ts";
import type { EventNumbers, Growing } from "../answer-form.ts";
import { EventMatcher, type EventTemplate, type Hole } from "../stream/event-matcher.ts";
import { nameOfText } from "../stream/event-patterns.ts";
import type { NativePassing } from "./native-passing.ts";

export interface NativePatternParts {
  readonly maxEventBytes: number;
  /** Counts the text of the events that pass. */
  readonly generated: TokenTally;
  readonly passing: Pick<NativePassing, "passes" | "pieces" | "numbers" | "growing">;
  readonly decoder: Pick<StreamDecoder, "growth">;
}

/** An event passes as it came, but for what precedes it. */
interface NativePattern extends EventTemplate {
  /** The name that the provider has left out. */
  readonly name: string;
  /** What its events lengthen. */
  readonly growing: Growing | null;
  readonly grew: ((piece: string) => void) | undefined;
}

export class NativePatterns {
  readonly #parts: NativePatternParts;
  readonly #matcher: EventMatcher<NativePattern>;
  #shown = "";
  /** Events that follow upon `#shown`, and how many of their numbers follow upon each other, the last being `#last`. */
  #run = "";
  #counted = 0;
  #last = 0;

  constructor(parts: NativePatternParts) {
    this.#parts = parts;
    const { maxEventBytes, generated, passing } = parts;
    this.#matcher = new EventMatcher(maxEventBytes, generated, (events) => passing.passes(events));
  }

  /** Returns the position in `text` after all events from `start` on that fit a pattern. */
  take(text: string, start: number): number {
    const matcher = this.#matcher;
    matcher.begin(text);
    let at = start;
    // what precedes this was passed on
    let copied = start;
    while (at < text.length) {
      const pattern = matcher.fitting(text, at);
      if (pattern === null) break;
      const { name, growing } = pattern;
      const { number, said } = matcher;
      pattern.grew?.(said);
      growing?.grow(said, number);
      if (number > 0) {
        if (this.#counted > 0 && number !== this.#last + 1) {
          this.#endRun(text.slice(copied, at));
          copied = at;
        }
        this.#counted += 1;
        this.#last = number;
      }
      if (name !== "") {
        this.#run += text.slice(copied, at) + name;
        copied = at;
      }
      at = matcher.end;
    }
    if (at > copied) this.#endRun(text.slice(copied, at));
    return at;
  }

  /** Returns the events that were taken, as the client gets them. */
  takeShown(): string {
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  #endRun(rest: string): void {
    const events = this.#run + rest;
    const first = this.#last - this.#counted + 1;
    this.#shown += this.#counted === 0 ? events : this.#parts.passing.numbers!.run(events, first, this.#counted);
    this.#run = "";
    this.#counted = 0;
  }

  /** `chunks` are those of the event, and `shown` is what was passed on for it. */
  learn(event: SseEvent, chunks: readonly ChatChunk[], shown: string): void {
    const member = chunks.length === 1 ? nameOfText(chunks[0]!) : null;
    if (member === null) {
      // what follows belongs to another part of the answer
      this.#matcher.forget();
      return;
    }
    if (!this.#matcher.mayLearn()) return;
    const text = textOfEvent(event);
    const piece = textPlace(text, chunks[0]!.choices[0]!.delta![member] as string);
    const number = placeOf("number", NUMBERS, text);
    const { passing, decoder } = this.#parts;
    const { numbers } = passing;
    const name = nameBefore({ text, shown, numbers }, number);
    // an event that is not passed on as it came, but for its name and its number, is no example
    if (piece === null || name === null) return;
    const places = [piece, number, placeOf("padding", PADDINGS, text)].filter((one) => one !== null);
    places.sort((a, b) => a.start - b.start);
    this.#matcher.learn({
      holes: places.map(({ hole }) => hole),
      literals: [0, ...places.map(({ end }) => end)].map((end, index) => text.slice(end, places[index]?.start)),
      name,
      number: number === null ? 0 : Number(text.slice(number.start, number.end)),
      growing: passing.growing,
      grew: decoder.growth?.(),
      passesPiece: passing.pieces(),
    });
  }
}

/** Returns what was passed on before an event; `null` when something else differs than its number. */
function nameBefore(
  { text, shown, numbers }: { readonly text: string; readonly shown: string; readonly numbers: EventNumbers | null },
  number: Place | null,
): string | null {
  if (number !== null && numbers === null) return null;
  const passed = number === null ? text : text.slice(0, number.start) + numbers!.place + text.slice(number.end);
  const name = shown.slice(0, -passed.length);
  return name + passed === shown && (name === "" || NAME.test(name)) ? name : null;
}
const NAME = /^event: .*\n$/;

interface Place {
  readonly hole: Hole;
  readonly start: number;
  readonly end: number;
}

/** The members in which pieces of text come. */
const TEXT_MEMBERS = /"(?:delta|text|thinking)": ?/g;
const NUMBERS = /"sequence_number": ?(\d+)/dg;
const PADDINGS = /"obfuscation": ?"([^"\\]*)"/dg;

/** Returns `null` when the event does not have the piece with this spelling, or has it several times. */
function textPlace(event: string, piece: string): Place | null {
  const literal = JSON.stringify(piece);
  const starts = [...event.matchAll(TEXT_MEMBERS)].map(({ 0: key, index }) => index + key.length);
  const [start, another] = starts.filter((at) => event.startsWith(literal, at));
  if (start === undefined || another !== undefined) return null;
  return { hole: "text", start: start + 1, end: start + literal.length - 1 };
}

/** Returns the place of the only value that a pattern finds. */
function placeOf(hole: Hole, values: RegExp, event: string): Place | null {
  const [found, another] = event.matchAll(values);
  if (found === undefined || another !== undefined) return null;
  const [start, end] = found.indices![1]!;
  return { hole, start, end };
}
