// Single events of megabytes in the streams of providers (promise 5.8). Each is handled in a turn of its own, and may
// contain only as many values and escapes as can be read in one turn.
import { MalformedAnswer } from "../../providers/provider.ts";
import { JsonError } from "../../wire/json-error.ts";
import { scanValue } from "../../wire/json-scan.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { yieldToLoop } from "../../core/event-loop.ts";

/** In characters. */
export const LONG_EVENT = 524_288;
/**
 * The runtime reads some hundred million characters of a text in a second, but it decodes escaped ones one by one: this
 * many take 10 to 15 ms. An event of 16 MiB could contain eight times as many.
 */
const MAX_ESCAPES = 1_000_000;
/** Enough for an answer of two thousand tokens in one event, each with the probabilities of twenty alternatives. */
const BOUNDS = { maxDepth: 512, maxValues: 400_000 };
/** Numbers that a double would change are read one by one, and each is an object: this many take some 15 ms. */
const MAX_EXACT_NUMBERS = 20_000;
const BACKSLASH = 0x5c;

export function isLongEvent({ data }: SseEvent): boolean {
  return data.length >= LONG_EVENT;
}

/**
 * Gives other calls their turn before each long event. Returns the events up to the first that is refused, and the
 * refusal.
 */
export async function readableEvents(
  events: readonly SseEvent[],
): Promise<{ readonly events: readonly SseEvent[]; readonly refusal: MalformedAnswer | null }> {
  for (const [index, event] of events.entries()) {
    if (!isLongEvent(event)) continue;
    await yieldToLoop();
    const excess = excessOf(event.data);
    if (excess !== null)
      return {
        events: events.slice(0, index),
        refusal: new MalformedAnswer(`One event of the provider's stream holds more than ${excess}.`),
      };
    await yieldToLoop();
  }
  return { events, refusal: null };
}

/** Yields pieces of about `length` characters. No surrogate pair is cut, because each piece is encoded separately. */
export function* piecesOf(text: string, length: number): Generator<string> {
  for (let start = 0; start < text.length;) {
    const cut = start + length;
    const cutsPair = cut < text.length && isLeading(text.charCodeAt(cut - 1));
    const end = !cutsPair ? cut : length > 1 ? cut - 1 : cut + 1;
    yield text.slice(start, end);
    start = end;
  }
}

function isLeading(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** Throws MalformedAnswer when an answer whose value is needed contains more than a single event may. */
export function requireReadable(data: string): void {
  const excess = excessOf(data);
  if (excess !== null)
    throw new MalformedAnswer(
      `The provider's answer holds more than ${excess}, which the gateway cannot bring into the form that was asked for.`,
    );
}

function excessOf(data: string): string | null {
  if (hasTooManyEscapes(data)) return `${MAX_ESCAPES} escaped characters`;
  return data.startsWith("{") ? excessiveValues(data) : null;
}

/** Returns null for invalid JSON too, which the decoder reports. */
function excessiveValues(data: string): string | null {
  try {
    // two positions each
    const exact = scanValue(data, BOUNDS).length / 2;
    return exact > MAX_EXACT_NUMBERS ? `${MAX_EXACT_NUMBERS} numbers that a double cannot hold` : null;
  } catch (thrown) {
    const isExcess = thrown instanceof JsonError && thrown.beyond !== null;
    return isExcess ? `${BOUNDS.maxValues} JSON values` : null;
  }
}

function hasTooManyEscapes(data: string): boolean {
  const first = data.indexOf("\\");
  if (first === -1) return false;
  let escapes = 0;
  for (let at = first; at < data.length; at++) {
    if (data.charCodeAt(at) !== BACKSLASH) continue;
    if (++escapes > MAX_ESCAPES) return true;
    at++;
  }
  return false;
}
