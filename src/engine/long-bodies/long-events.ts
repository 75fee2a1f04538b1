// Single events of megabytes in the streams of providers (promise 5.8). Each is handled in a turn of its own, and may
// contain only as many values and escapes as can be read in one turn.
import { MalformedAnswer } from "../../providers/provider.ts";
import { JsonError } from "../../wire/json-error.ts";
import { parseScanned } from "../../wire/json.ts";
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
/** Of each object, as in every text of a provider. */
const MAX_MEMBERS = 10_000;
const BOUNDS = { maxDepth: 512, maxValues: 400_000 };
/** Numbers that a double would change are read one by one, and each is an object: this many take some 15 ms. */
const MAX_EXACT_NUMBERS = 20_000;
const TOO_MANY_ESCAPES = `${MAX_ESCAPES} escaped characters`;
const BACKSLASH = 0x5c;

export function isLongEvent({ data }: SseEvent): boolean {
  return data.length >= LONG_EVENT;
}

/**
 * Gives other calls their turn before each long event and between the parts of the work on it, of which `withoutKeys`
 * is one. Returns the events up to the first that is refused, and the refusal.
 */
export async function readableEvents(
  events: readonly SseEvent[],
  withoutKeys: (event: SseEvent) => SseEvent,
): Promise<{ readonly events: readonly SseEvent[]; readonly refusal: MalformedAnswer | null }> {
  const readable: SseEvent[] = [];
  for (const event of events) {
    if (!isLongEvent(event)) {
      readable.push(event);
      continue;
    }
    await yieldToLoop();
    const excess = hasTooManyEscapes(event.data) ? TOO_MANY_ESCAPES : null;
    await yieldToLoop();
    const numbers = excess ?? (event.data.startsWith("{") ? exactNumbersOf(event.data) : null);
    if (typeof numbers === "string")
      return {
        events: readable,
        refusal: new MalformedAnswer(`One event of the provider's stream holds more than ${numbers}.`),
      };
    await yieldToLoop();
    const parsed = numbers === null ? event : withValue(event, numbers);
    await yieldToLoop();
    readable.push(withoutKeys(parsed));
    await yieldToLoop();
  }
  return { events: readable, refusal: null };
}

/** The decoder reports an event that is not JSON. */
function withValue(event: SseEvent, exactNumbers: readonly number[]): SseEvent {
  try {
    return { ...event, value: parseScanned(event.data, exactNumbers) };
  } catch (thrown) {
    if (!(thrown instanceof JsonError)) throw thrown;
    return event;
  }
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
  if (hasTooManyEscapes(data)) return TOO_MANY_ESCAPES;
  const numbers = data.startsWith("{") ? exactNumbersOf(data) : null;
  return typeof numbers === "string" ? numbers : null;
}

/**
 * Returns where the numbers of a JSON object are that a double would change, as parseScanned takes them, or what the
 * object holds too much of. Returns null for invalid JSON, which the decoder reports.
 */
function exactNumbersOf(data: string): readonly number[] | string | null {
  try {
    const numbers = scanValue(data, { ...BOUNDS, maxMembers: MAX_MEMBERS });
    // two positions each
    return numbers.length / 2 > MAX_EXACT_NUMBERS ? `${MAX_EXACT_NUMBERS} numbers that a double cannot hold` : numbers;
  } catch (thrown) {
    const isExcess = thrown instanceof JsonError && thrown.beyond !== null;
    return isExcess && holdsTooManyValues(data) ? `${BOUNDS.maxValues} JSON values` : null;
  }
}

function holdsTooManyValues(data: string): boolean {
  try {
    scanValue(data, BOUNDS);
    return false;
  } catch (thrown) {
    return thrown instanceof JsonError && thrown.beyond !== null;
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
