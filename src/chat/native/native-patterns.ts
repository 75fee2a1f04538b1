// Passes on events as text, without parsing them: nearly every event of a stream differs from the one before only in its
// piece of text, and in a number that counts. Once such an event was parsed and passed, it is kept as a pattern; an event
// that fits it to the last character passes in the same way. Every other event is parsed.
import { type TokenTally, tally } from "../../accounting/estimate.ts";
import type { ChatChunk } from "../../core/chat.ts";
import type { SseEvent } from "../../wire/sse.ts";
import type { Growing } from "../answer-form.ts";
import { nameOfText } from "../stream/event-patterns.ts";

export interface NativePatternParts {
  readonly maxEventBytes: number;
  /** Counts the text of the events that pass. */
  readonly generated: TokenTally;
  /** Whether an event may pass as it is. */
  readonly passes: (event: string) => boolean;
  /** What the event that was passed last has lengthened. */
  readonly growing: () => Growing | null;
}

type Hole = "text" | "number" | "padding";

/** An event as literals with holes between them, as it comes and as it is passed on. */
interface NativePattern {
  readonly holes: readonly Hole[];
  /** One more than there are holes. */
  readonly source: readonly string[];
  readonly shown: readonly string[];
  /** The number of the last event; 0 when events have no number. */
  number: number;
  /** What its events lengthen. */
  readonly growing: Growing | null;
}

/** Text and reasoning. */
const MAX_PATTERNS = 2;
/** The number of patterns in a row that no event fitted. */
const MAX_TRIES = 8;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SPACE = 0x20;

export class NativePatterns {
  readonly #parts: NativePatternParts;
  readonly #patterns: NativePattern[] = [];
  #tries = 0;
  #shown = "";

  constructor(parts: NativePatternParts) {
    this.#parts = parts;
  }

  /** Returns the position in `text` after all events from `start` on that fit a pattern. */
  take(text: string, start: number): number {
    let at = start;
    while (at < text.length) {
      const end = this.#takeOne(text, at);
      if (end === at) break;
      at = end;
    }
    return at;
  }

  /** Returns the events that were taken, as the client gets them. */
  takeShown(): string {
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  /** `chunks` are those of the event, and `shown` is what was passed on for it. */
  learn({ event, data }: SseEvent, chunks: readonly ChatChunk[], shown: string): void {
    const name = chunks.length === 1 ? nameOfText(chunks[0]!) : null;
    if (name === null) {
      // what follows belongs to another part of the answer
      this.#patterns.length = 0;
      return;
    }
    const text = `${event === "" ? "" : `event: ${event}\n`}data: ${data}\n\n`;
    // an event that came in two reads is parsed, although a pattern of it is known
    if (this.#tries >= MAX_TRIES || this.#patterns.some((known) => isLike(known, text))) return;
    this.#tries += 1;
    const piece = chunks[0]!.choices[0]!.delta![name] as string;
    const pattern = patternOf(text, piece, shown, this.#parts.growing());
    if (pattern !== null && this.#patterns.unshift(pattern) > MAX_PATTERNS) this.#patterns.pop();
  }

  #takeOne(text: string, start: number): number {
    for (const pattern of this.#patterns) {
      const end = this.#fit(pattern, text, start);
      if (end === start) continue;
      this.#tries = 0;
      return end;
    }
    return start;
  }

  /** Returns the position after the event that begins at `start`; `start` when it does not fit the pattern. */
  #fit(pattern: NativePattern, text: string, start: number): number {
    const { holes, source, shown } = pattern;
    let at = start;
    let passed = "";
    let piece = "";
    let { number } = pattern;
    for (let index = 0; ; index++) {
      const literal = source[index]!;
      if (!text.startsWith(literal, at)) return start;
      at += literal.length;
      passed += shown[index]!;
      const hole = holes[index];
      if (hole === undefined) break;
      const end = hole === "number" ? endOfDigits(text, at) : endOfString(text, at);
      if (end < 0) return start;
      const value = text.slice(at, end);
      if (hole === "number") {
        // an event that comes twice is left to the decoder
        if (!(Number(value) > number)) return start;
        number = Number(value);
      } else {
        passed += value;
        if (hole === "text") piece = value;
      }
      at = end;
    }
    // a UTF-16 unit takes at most three bytes
    if (piece === "" || (at - start) * 3 > this.#parts.maxEventBytes) return start;
    if (!this.#parts.passes(text.slice(start, at))) return start;
    const plain = piece.includes("\\") ? parsedString(piece) : piece;
    if (plain === null) return start;
    tally(this.#parts.generated, plain);
    pattern.number = number;
    if (pattern.growing !== null) grow(pattern.growing, plain, number);
    this.#shown += passed;
    return at;
  }
}

function grow(growing: Growing, piece: string, number: number): void {
  growing.text += piece;
  growing.lastPiece = piece;
  growing.number = number;
}

/** Whether an event has all literals of the pattern in their order. */
function isLike({ source }: NativePattern, event: string): boolean {
  let at = 0;
  for (const literal of source) {
    const found = event.indexOf(literal, at);
    if (found < 0 || (at === 0 && found > 0)) return false;
    at = found + literal.length;
  }
  return at === event.length;
}

/** Returns `null` for an event that is not passed on as it came, but for its number. */
function patternOf(event: string, piece: string, shown: string, growing: Growing | null): NativePattern | null {
  const found = [textPlace(event, piece), numberPlace(event), paddingPlace(event)];
  if (found[0] === null || found.includes("several")) return null;
  const places = found.filter((one) => one !== null && one !== "several").toSorted((a, b) => a.start - b.start);
  const source: string[] = [];
  let copied = 0;
  for (const { start, end } of places) {
    source.push(event.slice(copied, start));
    copied = end;
  }
  source.push(event.slice(copied));
  const literals = shownLiterals(event, shown, places);
  const number = places.find(({ hole }) => hole === "number");
  return literals === null
    ? null
    : {
        holes: places.map(({ hole }) => hole),
        source,
        shown: literals,
        number: number === undefined ? 0 : Number(event.slice(number.start, number.end)),
        growing,
      };
}

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
  const end = endOfString(event, start + 1);
  return end < 0 ? null : { hole: "padding", start: start + 1, end };
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

/**
 * Returns the literals of the event as it was passed on: those of `event`, and in place of the number what was written
 * for it. Returns `null` when more than the number differs.
 */
function shownLiterals(event: string, shown: string, places: readonly Place[]): readonly string[] | null {
  const literals: string[] = [];
  let rest = shown;
  let literal = "";
  let copied = 0;
  for (const { hole, start, end } of places) {
    const before = event.slice(copied, start);
    const at = copied === 0 ? rest.indexOf(before) : rest.startsWith(before) ? 0 : -1;
    if (at < 0) return null;
    // events that had to come before the first of a part do not come again
    if (rest.slice(0, at).includes("\n\n")) return null;
    // the passed event may begin with the name that the provider left out
    literal += rest.slice(0, at) + before;
    rest = rest.slice(at + before.length);
    copied = end;
    if (hole === "number") {
      const following = event.slice(end, nextStart(places, start, event));
      const width = rest.indexOf(following);
      if (width < 0) return null;
      literals.push(literal + rest.slice(0, width));
      rest = rest.slice(width);
    } else {
      const value = event.slice(start, end);
      if (!rest.startsWith(value)) return null;
      literals.push(literal);
      rest = rest.slice(value.length);
    }
    literal = "";
  }
  return rest === event.slice(copied) ? [...literals, rest] : null;
}

/** Returns where the place after the one at `start` begins; the end of the event where there is none. */
function nextStart(places: readonly Place[], start: number, event: string): number {
  return places.find((place) => place.start > start)?.start ?? event.length;
}

/** Returns the position of the quote that ends a JSON string; -1 when there is none. */
function endOfString(text: string, start: number): number {
  for (let at = start; ; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return at;
    if (code === BACKSLASH) at++;
    // also at the end of the text, where there is no code
    else if (!(code >= SPACE)) return -1;
  }
}

/** Returns the position after the digits; -1 when there are none. */
function endOfDigits(text: string, start: number): number {
  let at = start;
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++;
  return at === start ? -1 : at;
}

function parsedString(piece: string): string | null {
  try {
    return JSON.parse(`"${piece}"`) as string;
  } catch {
    return null;
  }
}
