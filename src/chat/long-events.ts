// Single events of megabytes, in the streams of providers (promise 5.8): each is a turn of its own, and holds no more values and escapes than are read in one.
import { MalformedAnswer } from "../providers/provider.ts";
import { JsonError } from "../wire/json-error.ts";
import { scanValue } from "../wire/json-scan.ts";
import type { SseEvent } from "../wire/sse.ts";
import { nextTurn } from "../wire/turn.ts";

/** Characters. */
export const LONG_EVENT = 524_288;
/** The runtime reads some hundred million characters of a text in a second, but escaped ones one by one: as many take some 10 to 15 ms. Eight times as many would fit into 16 MiB. */
const MAX_ESCAPES = 1_000_000;
/** An answer of two thousand tokens, each with the probabilities of twenty others, in one event. */
const BOUNDS = { maxDepth: 512, maxValues: 400_000 };
const BACKSLASH = 0x5c;

export function isLongEvent({ data }: SseEvent): boolean {
  return data.length >= LONG_EVENT;
}

/** Other calls have their turn before each long event. Gives the events up to the first that is refused, and the refusal. */
export async function readableEvents(
  events: readonly SseEvent[],
): Promise<{ readonly events: readonly SseEvent[]; readonly refusal: MalformedAnswer | null }> {
  for (const [index, event] of events.entries()) {
    if (!isLongEvent(event)) continue;
    await nextTurn();
    const excess = excessOf(event.data);
    if (excess !== null)
      return {
        events: events.slice(0, index),
        refusal: new MalformedAnswer(`One event of the provider's stream holds more than ${excess}.`),
      };
    await nextTurn();
  }
  return { events, refusal: null };
}

/** Pieces of about as many characters; no pair of UTF-16 is cut, because each piece is encoded by itself. */
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

/** Throws MalformedAnswer when a whole answer to a streamed call holds more than a single event may. */
export function demandReadable(data: string): void {
  const excess = excessOf(data);
  if (excess !== null) throw new MalformedAnswer(`The provider's answer to a streamed call holds more than ${excess}.`);
}

function excessOf(data: string): string | null {
  if (hasTooManyEscapes(data)) return `${MAX_ESCAPES} escaped characters`;
  return data.startsWith("{") && hasTooManyValues(data) ? `${BOUNDS.maxValues} JSON values` : null;
}

/** What is no JSON is for the decoder to say. */
function hasTooManyValues(data: string): boolean {
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
