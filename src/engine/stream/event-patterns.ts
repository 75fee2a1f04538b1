// Rewrites events as text, without parsing them (docs/design/stream-normalizer.md): nearly every event of a stream
// differs from an earlier one only in its piece of text. Once such an event was parsed, found strict and written, it is
// kept as a pattern: the provider's event and the client's, both without the text. An event that fits a pattern to the
// last character is written as the pattern says, with its own text. Every other event is parsed.
import type { TokenTally } from "../../accounting/estimate.ts";
import type { ChatChunk, ChunkDelta } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { StreamDecoder } from "../../providers/provider.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { isVendorField } from "../answer/strict-fields.ts";
import { JudgedText } from "./judged-text.ts";
import { StringScan } from "./string-scan.ts";

/** What an event is made of around its text and, where the provider pads its events, around the padding behind it. */
interface EventPattern {
  readonly source: { readonly before: string; readonly between: string | null; readonly after: string };
  /** The padding stands before the text. */
  readonly shown: { readonly before: string; readonly between: string; readonly after: string };
  readonly passesPiece: (piece: string) => boolean;
}

export interface EventPatternParts {
  readonly maxEventBytes: number;
  readonly passes: NonNullable<StreamDecoder["passes"]>;
  /** Counts the text of the events that are taken. */
  readonly generated: TokenTally;
  /** Returns the one event that is written for a strict chunk. */
  readonly preview: (chunk: ChatChunk) => string;
  /** Called with the text of each event that is taken; absent where it is not kept. */
  readonly repeated?: (piece: string) => void;
}

/** Reasoning and text, of two choices. */
const MAX_PATTERNS = 4;
/** The number of events in a row from which a pattern is made that no other event fits. */
const MAX_TRIES = 8;
/** Stand for text and padding in an event. They are random, so that no event contains them. */
const TEXT = `text ${crypto.randomUUID()}`;
const PADDING = `padding ${crypto.randomUUID()}`;

const passesAll = (): boolean => true;

/** The patterns of one stream. */
export class EventPatterns {
  readonly #parts: EventPatternParts;
  /** The one that was used last is the first. */
  readonly #patterns: EventPattern[] = [];
  #tries = 0;
  /** The chunk from which the last pattern was made; `null` once an event has fitted a pattern. */
  #last: ChatChunk | null = null;
  #shown = "";
  readonly #judged: JudgedText;
  readonly #text = new StringScan();
  readonly #padding = new StringScan();

  constructor(parts: EventPatternParts) {
    this.#parts = parts;
    const { passes } = parts;
    this.#judged = new JudgedText(passes === true ? passesAll : (text) => passes.events(text));
  }

  /**
   * Returns the position in `text` after all events from `start` on that fit a pattern. `takeShown` has them as the
   * client gets them.
   */
  take(text: string, start: number): number {
    this.#judged.begin(text);
    let at = start;
    while (at < text.length) {
      const end = this.#takeOne(text, at);
      if (end === at) break;
      at = end;
    }
    return at;
  }

  /** Forgets all patterns, because the events that they yield are no longer right. */
  forget(): void {
    this.#patterns.length = 0;
    this.#last = null;
  }

  takeShown(): string {
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  #takeOne(text: string, start: number): number {
    const patterns = this.#patterns;
    for (let index = 0; index < patterns.length; index++) {
      const pattern = patterns[index]!;
      const end = this.#fit(pattern, text, start);
      if (end === start) continue;
      this.#tries = 0;
      this.#last = null;
      if (index > 0) patterns.unshift(...patterns.splice(index, 1));
      return end;
    }
    return start;
  }

  /** Returns the position after the event that begins at `start`; `start` when it does not fit the pattern. */
  #fit({ source, shown, passesPiece }: EventPattern, text: string, start: number): number {
    if (!text.startsWith(source.before, start)) return start;
    const from = start + source.before.length;
    const to = this.#text.endIn(text, from);
    if (to <= from) return start;
    let last = to;
    let padding = "";
    if (source.between !== null) {
      if (!text.startsWith(source.between, to)) return start;
      const paddingFrom = to + source.between.length;
      last = this.#padding.endIn(text, paddingFrom);
      if (last < 0 || this.#padding.hasEscapes) return start;
      padding = text.slice(paddingFrom, last);
    }
    if (!text.startsWith(source.after, last)) return start;
    const end = last + source.after.length;
    // a UTF-16 unit takes at most three bytes
    if ((end - start) * 3 > this.#parts.maxEventBytes) return start;
    const piece = text.slice(from, to);
    const plain = this.#text.read(piece);
    if (plain === null) return start;
    const { generated, repeated } = this.#parts;
    if (!this.#judged.passes(start, end) || !passesPiece(plain)) return start;
    this.#text.count(generated, plain);
    repeated?.(plain);
    this.#shown +=
      source.between === null
        ? shown.before + piece + shown.after
        : shown.before + padding + shown.between + piece + shown.after;
    return end;
  }

  /**
   * Makes a pattern of an event that was parsed. `chunk` is its only chunk, which needed no repair, and `shown` the one
   * event that was written for it. Nothing happens where the event has another form, or after too many patterns that
   * no event fitted.
   */
  learn({ event, data }: SseEvent, chunk: ChatChunk, shown: string): void {
    if (this.#tries >= MAX_TRIES) return;
    const name = nameOfText(chunk);
    if (name === null) return;
    this.#tries += 1;
    const pattern = this.#patternOf(event === "" ? "" : `event: ${event}\n`, data, chunk, name, shown);
    this.#last = chunk;
    if (pattern === null) return;
    if (this.#patterns.unshift(pattern) > MAX_PATTERNS) this.#patterns.pop();
  }

  #patternOf(head: string, data: string, chunk: ChatChunk, name: string, shown: string): EventPattern | null {
    const choice = chunk.choices[0]!;
    const piece = choice.delta![name] as string;
    const padded = this.#last === null ? null : nameOfPadding(this.#last, chunk);
    const withText = marked(data, piece, TEXT);
    const whole = withText === null || padded === null ? withText : marked(withText, chunk[padded] as string, PADDING);
    if (whole === null || !isMarked(parsed(whole), padded)) return null;
    const source = `${head}data: ${whole}\n\n`;
    const written = this.#parts.preview({
      ...chunk,
      ...(padded !== null && { [padded]: PADDING }),
      choices: [{ ...choice, delta: { [name]: TEXT } }],
    });
    const { passes } = this.#parts;
    const passesPiece = passes === true ? passesAll : passes.pieces(choice.index ?? 0, name);
    const expected = written.replace(TEXT, () => JSON.stringify(piece).slice(1, -1));
    if (padded === null) {
      if (expected !== shown) return null;
      const [before = "", after] = source.split(TEXT);
      const [shownBefore = "", shownAfter] = written.split(TEXT);
      if (after === undefined || shownAfter === undefined) return null;
      return {
        source: { before, between: null, after },
        shown: { before: shownBefore, between: "", after: shownAfter },
        passesPiece,
      };
    }
    if (expected.replace(PADDING, () => chunk[padded] as string) !== shown) return null;
    const parts = new RegExp(`^(.*)${TEXT}(.*)${PADDING}(.*)$`, "s").exec(source);
    const shownParts = new RegExp(`^(.*)${PADDING}(.*)${TEXT}(.*)$`, "s").exec(written);
    if (parts === null || shownParts === null) return null;
    return {
      source: { before: parts[1]!, between: parts[2]!, after: parts[3]! },
      shown: { before: shownParts[1]!, between: shownParts[2]!, after: shownParts[3]! },
      passesPiece,
    };
  }
}

/** Returns `null` for a text that is not JSON. */
function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

/** Returns the member of the chunk's only delta that is its piece of text. */
export function nameOfText({ choices }: ChatChunk): "content" | "reasoning_content" | "refusal" | null {
  const delta: ChunkDelta | undefined = choices.length === 1 ? choices[0]!.delta : undefined;
  if (delta === undefined) return null;
  for (const name of ["content", "reasoning_content", "refusal"] as const)
    if (typeof delta[name] === "string" && delta[name] !== "") return name;
  return null;
}

/** Returns the one vendor's field whose text differs between two chunks; `null` when there is none. */
function nameOfPadding(before: ChatChunk, chunk: ChatChunk): string | null {
  let found: string | null = null;
  for (const name in chunk) {
    const value = chunk[name];
    if (typeof value !== "string" || typeof before[name] !== "string" || before[name] === value) continue;
    if (!isVendorField(name, value)) continue;
    if (found !== null) return null;
    found = name;
  }
  return found;
}

/**
 * Replaces what is between the first quotes that hold `value`, which may be other quotes than those of the string that
 * is meant; `null` when it stands nowhere with this spelling.
 */
function marked(text: string, value: string, mark: string): string | null {
  const literal = JSON.stringify(value);
  const at = text.indexOf(literal);
  return at < 0 ? null : text.slice(0, at + 1) + mark + text.slice(at + literal.length - 1);
}

/** Whether the mark of the text is a member of the delta, and that of the padding one of the chunk. */
function isMarked(chunk: Json, padded: string | null): boolean {
  if (!isObject(chunk) || (padded !== null && chunk[padded] !== PADDING)) return false;
  const [choice] = Array.isArray(chunk["choices"]) ? (chunk["choices"] as readonly Json[]) : [];
  if (!isObject(choice) || !isObject(choice["delta"])) return false;
  const { role: _role, ...members }: JsonObject = choice["delta"];
  return Object.values(members).includes(TEXT);
}
