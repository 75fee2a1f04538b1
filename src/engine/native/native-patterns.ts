// Passes on events as text, without parsing them: nearly every event of a stream differs from the one before only in its
// piece of text, and in a number that counts. Once such an event was parsed and passed, it is kept as a pattern; an event
// that fits it to the last character passes in the same way. Every other event is parsed.
import type { TokenTally } from "../../accounting/estimate.ts";
import type { ChatChunk } from "../../core/chat.ts";
import type { SseEvent } from "../../wire/sse.ts";
import type { EventNumbers, Growing } from "../answer-form.ts";
import { nameOfText } from "../stream/event-patterns.ts";
import { JudgedText } from "../stream/judged-text.ts";
import { StringScan } from "../stream/string-scan.ts";

export interface NativePatternParts {
  readonly maxEventBytes: number;
  /** Counts the text of the events that pass. */
  readonly generated: TokenTally;
  /** Whether the events of a text may pass as they are. */
  readonly passes: (text: string) => boolean;
  /** Returns what says whether a further piece of the text may pass as it is that the last event has lengthened. */
  readonly pieces: () => (piece: string) => boolean;
  /** How the client's events are numbered; `null` where they have no numbers. */
  readonly numbers: EventNumbers | null;
  /** What the event that was passed last has lengthened. */
  readonly growing: () => Growing | null;
  /** Returns what counts the text of further events for the decoder; absent where it counts none. */
  readonly growth?: () => (piece: string) => void;
}

type Hole = "text" | "number" | "padding";

/** An event as literals with holes between them. It passes as it came, but for what precedes it. */
interface NativePattern {
  readonly holes: readonly Hole[];
  /** One more than there are holes. */
  readonly literals: readonly string[];
  /** The name that the provider has left out. */
  readonly name: string;
  /** The number of the last event; 0 when events have no number. */
  number: number;
  /** What its events lengthen. */
  readonly growing: Growing | null;
  readonly grew: ((piece: string) => void) | undefined;
  readonly passesPiece: (piece: string) => boolean;
}

/** Text and reasoning. */
const MAX_PATTERNS = 2;
/** The number of patterns in a row that no event fitted. */
const MAX_TRIES = 8;
/** Numbers that a double holds have no more digits. */
const MAX_DIGITS = 15;
const QUOTE = 0x22;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;

export class NativePatterns {
  readonly #parts: NativePatternParts;
  readonly #patterns: NativePattern[] = [];
  #tries = 0;
  #shown = "";
  /** Events that follow upon `#shown`, and how many of their numbers follow upon each other, the last being `#last`. */
  #run = "";
  #counted = 0;
  #last = 0;
  /** The text of which events were taken last. */
  readonly #judged: JudgedText;
  /** What `#fit` found: the end of the event, and its number, which is 0 where there is none. */
  #end = 0;
  #number = 0;
  readonly #piece = new StringScan();
  readonly #padding = new StringScan();

  constructor(parts: NativePatternParts) {
    this.#parts = parts;
    this.#judged = new JudgedText(parts.passes);
  }

  /** Returns the position in `text` after all events from `start` on that fit a pattern. */
  take(text: string, start: number): number {
    this.#judged.begin(text);
    let at = start;
    // what precedes this was passed on
    let copied = start;
    while (at < text.length) {
      const pattern = this.#fitting(text, at);
      if (pattern === null) break;
      if (this.#number > 0) {
        if (this.#counted > 0 && this.#number !== this.#last + 1) {
          this.#endRun(text.slice(copied, at));
          copied = at;
        }
        this.#counted += 1;
        this.#last = this.#number;
      }
      if (pattern.name !== "") {
        this.#run += text.slice(copied, at) + pattern.name;
        copied = at;
      }
      at = this.#end;
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
    this.#shown += this.#counted === 0 ? events : this.#parts.numbers!.run(events, first, this.#counted);
    this.#run = "";
    this.#counted = 0;
  }

  /** `chunks` are those of the event, and `shown` is what was passed on for it. */
  learn({ event, data }: SseEvent, chunks: readonly ChatChunk[], shown: string): void {
    const name = chunks.length === 1 ? nameOfText(chunks[0]!) : null;
    if (name === null) {
      // what follows belongs to another part of the answer
      this.#patterns.length = 0;
      return;
    }
    if (this.#tries >= MAX_TRIES) return;
    this.#tries += 1;
    const text = `${event === "" ? "" : `event: ${event}\n`}data: ${data}\n\n`;
    const piece = chunks[0]!.choices[0]!.delta![name] as string;
    const { growing, growth, numbers, pieces } = this.#parts;
    const pattern = patternOf(
      { text, piece, shown, numbers },
      {
        growing: growing(),
        grew: growth?.(),
        passesPiece: pieces(),
      },
    );
    if (pattern !== null && this.#patterns.unshift(pattern) > MAX_PATTERNS) this.#patterns.pop();
  }

  /** Returns the pattern that the event at `start` fits. */
  #fitting(text: string, start: number): NativePattern | null {
    for (const pattern of this.#patterns)
      if (this.#fit(pattern, text, start)) {
        this.#tries = 0;
        return pattern;
      }
    return null;
  }

  #fit(pattern: NativePattern, text: string, start: number): boolean {
    const { holes, literals } = pattern;
    let at = start;
    let [pieceStart, pieceEnd] = [0, 0];
    let number = 0;
    for (let index = 0; ; index++) {
      const literal = literals[index]!;
      if (!text.startsWith(literal, at)) return false;
      at += literal.length;
      const hole = holes[index];
      if (hole === undefined) break;
      const end = this.#endOf(hole, text, at);
      if (end < 0) return false;
      if (hole === "number") {
        number = numberIn(text, at, end);
        // an event that comes twice is left to the decoder
        if (number <= pattern.number) return false;
      } else if (hole === "text") {
        [pieceStart, pieceEnd] = [at, end];
      }
      at = end;
    }
    // a UTF-16 unit takes at most three bytes
    if (pieceEnd === pieceStart || (at - start) * 3 > this.#parts.maxEventBytes) return false;
    if (!this.#judged.passes(start, at)) return false;
    const { generated } = this.#parts;
    const plain = this.#piece.read(text.slice(pieceStart, pieceEnd));
    if (plain === null || !pattern.passesPiece(plain)) return false;
    this.#piece.count(generated, plain);
    pattern.grew?.(plain);
    if (pattern.growing !== null) grow(pattern.growing, plain, number);
    pattern.number = number;
    this.#number = number;
    this.#end = at;
    return true;
  }

  /** Returns the position after what fills a hole; -1 when nothing there can. */
  #endOf(hole: Hole, text: string, start: number): number {
    if (hole === "number") return endOfDigits(text, start);
    return (hole === "text" ? this.#piece : this.#padding).endIn(text, start);
  }
}

function grow(growing: Growing, piece: string, number: number): void {
  growing.text += piece;
  growing.lastPiece = piece;
  growing.number = number;
}

interface LearnedEvent {
  readonly text: string;
  readonly piece: string;
  readonly shown: string;
  readonly numbers: EventNumbers | null;
}

/** Returns `null` for an event that is not passed on as it came, but for its name and its number. */
function patternOf(
  event: LearnedEvent,
  counted: Pick<NativePattern, "growing" | "grew" | "passesPiece">,
): NativePattern | null {
  const { text, piece } = event;
  const found = [textPlace(text, piece), numberPlace(text), paddingPlace(text)];
  if (found[0] === null || found.includes("several")) return null;
  const places = found.filter((one) => one !== null && one !== "several").toSorted((a, b) => a.start - b.start);
  const literals: string[] = [];
  let copied = 0;
  for (const { start, end } of places) {
    literals.push(text.slice(copied, start));
    copied = end;
  }
  literals.push(text.slice(copied));
  const number = places.find(({ hole }) => hole === "number") ?? null;
  const name = nameBefore(event, number);
  if (name === null) return null;
  const last = number === null ? 0 : Number(text.slice(number.start, number.end));
  return { holes: places.map(({ hole }) => hole), literals, name, number: last, ...counted };
}

/** Returns the name that was passed on before an event; `null` when something else differs from what was passed on. */
function nameBefore({ text, shown, numbers }: LearnedEvent, number: Place | null): string | null {
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

type Found = Place | "several" | null;

/** The members in which pieces of text come. */
const TEXT_MEMBERS = ["delta", "text", "thinking"] as const;

/** Returns `null` when the event does not have the piece with this spelling. */
function textPlace(event: string, piece: string): Found {
  const literal = JSON.stringify(piece);
  let found: Found = null;
  for (const name of TEXT_MEMBERS) {
    const start = valuesOf(event, name).filter((at) => event.startsWith(literal, at));
    if (start.length === 0) continue;
    if (found !== null || start.length > 1) return "several";
    found = { hole: "text", start: start[0]! + 1, end: start[0]! + literal.length - 1 };
  }
  return found;
}

function numberPlace(event: string): Found {
  const starts = valuesOf(event, "sequence_number");
  if (starts.length > 1) return "several";
  const [start = -1] = starts;
  const end = start < 0 ? -1 : endOfDigits(event, start);
  return end < 0 ? null : { hole: "number", start, end };
}

function paddingPlace(event: string): Found {
  const starts = valuesOf(event, "obfuscation");
  if (starts.length > 1) return "several";
  const [start = -1] = starts;
  if (start < 0 || event.charCodeAt(start) !== QUOTE) return null;
  const end = event.indexOf('"', start + 1);
  return end < 0 || event.slice(start, end).includes("\\") ? null : { hole: "padding", start: start + 1, end };
}

/** Returns where the values of all members of a name begin. */
function valuesOf(event: string, name: string): readonly number[] {
  const key = `"${name}":`;
  const starts: number[] = [];
  for (let at = event.indexOf(key); at >= 0; at = event.indexOf(key, at + 1)) {
    const start = at + key.length;
    starts.push(event.charCodeAt(start) === SPACE ? start + 1 : start);
  }
  return starts;
}

/** Returns the number that the digits between two positions write; 0 for one that JSON does not write so. */
function numberIn(text: string, start: number, end: number): number {
  if (end - start > MAX_DIGITS || text.charCodeAt(start) === ZERO) return 0;
  let number = 0;
  for (let at = start; at < end; at++) number = number * 10 + text.charCodeAt(at) - ZERO;
  return number;
}

/** Returns the position after the digits; -1 when there are none. */
function endOfDigits(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) >= ZERO && text.charCodeAt(at) <= NINE) at++;
  return at === start ? -1 : at;
}
