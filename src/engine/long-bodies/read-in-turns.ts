// Reads long texts of providers in turns (promise 5.8): answers of megabytes, and single events as long as that. Each may
// contain only as many values and escapes as can be read in one turn.
import { MalformedAnswer } from "../../providers/interface/upstream-failure.ts";
import type { Json } from "../../core/json.ts";
import { JsonError } from "../../wire/json/json-error.ts";
import { parseScanned } from "../../wire/json/json.ts";
import { scanValue, type ScannedSpans } from "../../wire/json/json-scan.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { yieldToLoop } from "../../core/concurrency/event-loop.ts";

/** From this length on a text is long, in characters. */
export const LONG_TEXT = 524_288;
/**
 * The runtime reads some hundred million characters of a text in a second, but it decodes escaped ones one by one: this
 * many take 10 to 15 ms. An event of 16 MiB could contain eight times as many.
 */
const MAX_ESCAPES = 1_000_000;
const BOUNDS = {
  /** These two are those of every text of a provider. */
  maxDepth: 512,
  maxMembers: 10_000,
  /** Enough for an answer of two thousand tokens in one piece, each with the probabilities of twenty alternatives. */
  maxValues: 400_000,
  /**
   * Numbers that a double would change are read one by one, and each is an object: this many take some 8 ms, and under a
   * guard three times that.
   */
  maxChangedNumbers: 10_000,
  /** From this length on, a string is read apart from the text around it, in characters as they are written. */
  longString: 8_192,
};
/** `\u00e9`, in characters. */
const LONGEST_ESCAPE = 6;

export function isLongEvent({ data }: SseEvent): boolean {
  return data.length >= LONG_TEXT;
}

/**
 * Gives other calls their turn before each long event and between the parts of the work on it. One of these parts is
 * `search`, whose result is remembered for later readers of the event. Returns the events up to the first that is refused,
 * and the refusal.
 */
export async function readableEvents(
  events: readonly SseEvent[],
  search: (event: SseEvent) => unknown,
): Promise<{ readonly events: readonly SseEvent[]; readonly refusal: MalformedAnswer | null }> {
  const readable: SseEvent[] = [];
  for (const event of events) {
    if (!isLongEvent(event)) {
      readable.push(event);
      continue;
    }
    let value: Json | undefined;
    try {
      value = await valueInTurns(event.data, "One event of the provider's stream");
    } catch (thrown) {
      if (!(thrown instanceof MalformedAnswer)) throw thrown;
      return { events: readable, refusal: thrown };
    }
    await yieldToLoop();
    const whole = value === undefined ? event : { ...event, value };
    search(whole);
    readable.push(whole);
    await yieldToLoop();
  }
  return { events: readable, refusal: null };
}

/**
 * Parses a long text of a provider, and gives other calls their turns between the parts of that work. Returns undefined
 * for a text that is not valid, which the decoder reports. Throws MalformedAnswer, which names `sent`, where the text
 * holds more than can be worked on in single turns.
 */
export async function valueInTurns(text: string, sent: string): Promise<Json | undefined> {
  await yieldToLoop();
  requireFewEscapes(text, sent);
  await yieldToLoop();
  const spans = spansOf(text, sent);
  await yieldToLoop();
  if (spans === null) return undefined;
  try {
    const { changedNumbers, longStrings } = spans;
    const values = await stringsInTurns(text, longStrings);
    return parseScanned(text, changedNumbers, { spans: longStrings, values });
  } catch (thrown) {
    if (!(thrown instanceof JsonError) && !(thrown instanceof SyntaxError)) throw thrown;
    return undefined;
  }
}

/** Reads the strings at these spans, which have starts and ends in turns. Throws SyntaxError. */
async function stringsInTurns(text: string, spans: readonly number[]): Promise<readonly string[]> {
  const values: string[] = [];
  let sinceTurn = 0;
  for (let index = 0; index < spans.length; index += 2) {
    const [start, end] = [spans[index]!, spans[index + 1]!];
    if (text[end - 1] !== '"') throw new SyntaxError("a string has no end");
    const written = text.slice(start + 1, end - 1);
    values.push(written.length <= LONG_TEXT ? stringIn(written) : await stringInTurns(written));
    sinceTurn += written.length;
    if (sinceTurn < LONG_TEXT) continue;
    await yieldToLoop();
    sinceTurn = 0;
  }
  return values;
}

/** Reads what stands between the quotes of a string. Throws SyntaxError. */
function stringIn(written: string): string {
  return JSON.parse(`"${written}"`) as string;
}

/**
 * Does the same in pieces. The runtime reads a string in which anything is escaped character by character to its end,
 * some 2 ms for each piece. Throws SyntaxError.
 */
async function stringInTurns(written: string): Promise<string> {
  const read: string[] = [];
  for (let at = 0; at < written.length;) {
    const piece = written.slice(at, at + LONG_TEXT + LONGEST_ESCAPE);
    const end = pieceEnd(piece);
    read.push(stringIn(piece.slice(0, end)));
    at += end;
    await yieldToLoop();
  }
  // a sum of the pieces would be put together where the text is used first, in the turn of other work
  const whole = read.join("");
  await yieldToLoop();
  return whole;
}

/** Returns the first place at or after `LONG_TEXT` at which no escape is cut. */
function pieceEnd(piece: string): number {
  for (let at = 0; ;) {
    const next = piece.indexOf("\\", at);
    if (next === -1 || next >= LONG_TEXT) return Math.max(at, Math.min(LONG_TEXT, piece.length));
    at = next + (piece[next + 1] === "u" ? LONGEST_ESCAPE : 2);
  }
}

function tooMuch(sent: string, excess: string): MalformedAnswer {
  return new MalformedAnswer(`${sent} holds more than ${excess}.`);
}

const EXCESS = {
  maxValues: `${BOUNDS.maxValues} JSON values`,
  maxChangedNumbers: `${BOUNDS.maxChangedNumbers} numbers that a double cannot hold`,
} as const;

/** Returns `null` for a text that the decoder refuses. */
function spansOf(text: string, sent: string): ScannedSpans | null {
  try {
    return scanValue(text, BOUNDS);
  } catch (thrown) {
    if (thrown instanceof JsonError && thrown.bound !== null) throw tooMuch(sent, EXCESS[thrown.bound]);
    return null;
  }
}

function requireFewEscapes(text: string, sent: string): void {
  let escapes = 0;
  for (let at = text.indexOf("\\"); at !== -1; at = text.indexOf("\\", at + 2))
    if (++escapes > MAX_ESCAPES) throw tooMuch(sent, `${MAX_ESCAPES} escaped characters`);
}
