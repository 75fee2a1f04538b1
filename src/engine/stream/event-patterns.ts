// Rewrites events as text, without parsing them (docs/design/stream-normalizer.md): nearly every event of a stream
// differs from an earlier one only in its piece of text. Once such an event was parsed, found strict and written, it is
// kept as a pattern: the provider's event and the client's, both without the text. An event that fits a pattern to the
// last character is written as the pattern says, with its own text. Every other event is parsed.
import type { ChatChunk, ChunkDelta } from "../../core/chat.ts";
import { TEXT_MEMBERS, type TextMember } from "../../core/delta-members.ts";
import { isObject, isText, type Json, type JsonObject, jsonIn, listIn } from "../../core/json.ts";
import type { EventPasses, StreamDecoder } from "../../providers/interface/stream-decoder.ts";
import { type SseEvent, textOfEvent } from "../../wire/sse.ts";
import { isVendorField } from "../answer/strict-fields.ts";
import { EventMatcher, type EventTemplate } from "./event-matcher.ts";
import type { StreamNormalizer } from "./stream-normalizer.ts";

/** Its holes are the text and, where the provider pads its events, the padding. */
interface EventPattern extends EventTemplate {
  /** The literals of the client's event. Where that has the padding too, it stands before the text. */
  readonly shown: readonly string[];
  readonly grew: ((piece: string) => void) | undefined;
}

export interface EventPatternParts {
  readonly maxEventBytes: number;
  readonly passes: NonNullable<StreamDecoder["passes"]>;
  readonly decoder: Pick<StreamDecoder, "growth" | "padding" | "pieceIn">;
  /** Has written the events that are parsed. */
  readonly normalizer: StreamNormalizer;
}

/** Stand for text and padding in an event. They are random, so that no event contains them. */
const TEXT = `text ${crypto.randomUUID()}`;
const PADDING = `padding ${crypto.randomUUID()}`;

const ALL_PASS: EventPasses = { events: () => true, pieces: () => () => true };

/** The patterns of one stream. */
export class EventPatterns {
  readonly #parts: EventPatternParts;
  readonly #passes: EventPasses;
  readonly #matcher: EventMatcher<EventPattern>;
  /** The chunk from which the last pattern was made; `null` once an event has fitted a pattern. */
  #last: ChatChunk | null = null;
  /** Where the writer was when the patterns were made. */
  #place: number | undefined;
  #shown = "";

  constructor(parts: EventPatternParts) {
    this.#parts = parts;
    const { passes, maxEventBytes, normalizer } = parts;
    const judge = passes === true ? ALL_PASS : passes;
    this.#passes = judge;
    this.#place = normalizer.writer.place;
    this.#matcher = new EventMatcher(maxEventBytes, normalizer.generated, (events) => judge.events(events));
  }

  /**
   * Returns the position in `text` after all events from `start` on that fit a pattern. `takeShown` has them as the
   * client gets them.
   */
  take(text: string, start: number): number {
    const matcher = this.#matcher;
    const { writer } = this.#parts.normalizer;
    this.#forgetWhereMoved();
    matcher.begin(text);
    let at = start;
    while (at < text.length) {
      const pattern = matcher.fitting(text, at);
      if (pattern === null) break;
      pattern.grew?.(matcher.said);
      writer.repeated?.(matcher.said);
      const padding = pattern.shown.length === 2 ? "" : text.slice(matcher.paddingStart, matcher.paddingEnd);
      this.#shown += shownEvent(pattern.shown, padding, matcher.written);
      at = matcher.end;
    }
    if (at > start) this.#last = null;
    return at;
  }

  /**
   * Forgets the patterns where the writer has come to another place, because what they yield is no longer right. Returns
   * whether it has.
   */
  #forgetWhereMoved(): boolean {
    const { place } = this.#parts.normalizer.writer;
    if (place === this.#place) return false;
    this.#place = place;
    this.#matcher.forget();
    this.#last = null;
    return true;
  }

  takeShown(): string {
    const shown = this.#shown;
    this.#shown = "";
    return shown;
  }

  /**
   * Makes a pattern of an event that was parsed. `shown` is the last event that was written for it; empty where there is
   * none, and where it needed repair. Nothing happens where the event has another form, where the writer has come to another
   * place, or after too many patterns that no event fitted.
   */
  learn(event: SseEvent, chunks: readonly ChatChunk[], shown: string): void {
    const [chunk] = chunks;
    // what a decoder keeps belongs to the part that the last event was about
    if (this.#parts.decoder.growth !== undefined) this.#matcher.forget();
    if (this.#forgetWhereMoved() || chunk === undefined || chunks.length > 1 || shown === "") return;
    if (!this.#parts.normalizer.repeatsEvents) return;
    const name = nameOfText(chunk);
    if (name === null || !this.#matcher.mayLearn()) return;
    const pattern = this.#patternOf(event, chunk, name, shown);
    this.#last = chunk;
    if (pattern !== null) this.#matcher.learn(pattern);
  }

  #patternOf({ event, data }: SseEvent, chunk: ChatChunk, name: string, shown: string): EventPattern | null {
    const choice = chunk.choices[0]!;
    const piece = choice.delta![name] as string;
    const { decoder } = this.#parts;
    const hidden = paddingIn(data, decoder.padding);
    const padded = hidden !== null || this.#last === null ? null : nameOfPadding(this.#last, chunk);
    const padding = padded === null ? hidden : (chunk[padded] as string);
    const withText = marked(data, piece, TEXT);
    const whole = withText === null || padding === null ? withText : marked(withText, padding, PADDING);
    if (whole === null) return null;
    if (!this.#isMarked(jsonIn(whole) ?? null, padding === null ? null : (padded ?? decoder.padding!))) return null;
    const marks = (padding === null ? [TEXT] : [TEXT, PADDING]).toSorted((a, b) => whole.indexOf(a) - whole.indexOf(b));
    const literals = literalsOf(textOfEvent({ event, data: whole }), marks);
    const written = this.#parts.normalizer.preview({
      ...chunk,
      ...(padded !== null && { [padded]: PADDING }),
      choices: [{ ...choice, delta: { [name]: TEXT } }],
    });
    const shownLiterals = literalsOf(written, padded === null ? [TEXT] : [PADDING, TEXT]);
    if (literals === null || shownLiterals === null) return null;
    if (shownEvent(shownLiterals, padding ?? "", JSON.stringify(piece).slice(1, -1)) !== shown) return null;
    return {
      holes: marks.map((mark) => (mark === TEXT ? "text" : "padding")),
      literals,
      number: 0,
      passesPiece: this.#passes.pieces(choice.index ?? 0, name),
      shown: shownLiterals,
      grew: decoder.growth?.(),
    };
  }

  /** Whether the mark of the text is the piece of the event, and that of the padding a member of it. */
  #isMarked(event: Json, padded: string | null): boolean {
    const { decoder } = this.#parts;
    if (padded !== null && (!isObject(event) || event[padded] !== PADDING)) return false;
    return decoder.pieceIn === undefined ? isPieceOfDelta(event) : decoder.pieceIn(event) === TEXT;
  }
}

/** Returns the client's event. */
function shownEvent(literals: readonly string[], padding: string, piece: string): string {
  return literals.length === 2
    ? literals[0]! + piece + literals[1]!
    : literals[0]! + padding + literals[1]! + piece + literals[2]!;
}

/** Returns the member of the chunk's only delta that is its piece of text. */
export function nameOfText({ choices }: ChatChunk): TextMember | null {
  const delta: ChunkDelta | undefined = choices.length === 1 ? choices[0]!.delta : undefined;
  return TEXT_MEMBERS.find((name) => isText(delta?.[name])) ?? null;
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

/** Returns what a member of an event is that pads it; `null` where it has none. */
function paddingIn(data: string, name: string | undefined): string | null {
  const event = name === undefined ? null : jsonIn(data);
  const padding = isObject(event) ? event[name!] : undefined;
  return typeof padding === "string" ? padding : null;
}

/** Returns what stands around the marks; `null` when they do not stand in this order. */
function literalsOf(text: string, marks: readonly string[]): readonly string[] | null {
  const literals: string[] = [];
  let rest = text;
  for (const mark of marks) {
    const at = rest.indexOf(mark);
    if (at < 0) return null;
    literals.push(rest.slice(0, at));
    rest = rest.slice(at + mark.length);
  }
  return [...literals, rest];
}

/** Whether the mark of the text is a member of the delta of a chat completion's chunk. */
function isPieceOfDelta(chunk: Json): boolean {
  if (!isObject(chunk)) return false;
  const [choice] = listIn(chunk["choices"]);
  if (!isObject(choice) || !isObject(choice["delta"])) return false;
  const { role: _role, ...members }: JsonObject = choice["delta"];
  return Object.values(members).includes(TEXT);
}
