// Removes the operator's key from the stream of a provider that speaks the operation of the call, even where it arrives in
// pieces over several events. A text that ends with the beginning of a key is held until its next piece has come, or until
// its part of the answer ends.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { type KeyFinder, KeyWatch } from "../../core/text/quoted-key.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { parseEvent } from "../../providers/answers/sent-json.ts";

/** Members of a delta that are pieces of a text. */
const PIECES = ["text", "thinking", "partial_json"] as const;
/** Members of an event that name the part of the answer which it lengthens or ends. */
const NAMES = ["item_id", "output_index", "content_index", "summary_index", "index"] as const;
/** Types of events that end a part, or the whole answer. */
const ENDING = /(?:\.done|_stop|\.completed|\.incomplete|\.failed|^message_delta|^error)$/;

/** A text that comes in pieces. */
interface WatchedText {
  readonly watch: KeyWatch;
  readonly names: JsonObject;
  /** Returns the event that came last with another piece. */
  withPiece: (piece: string) => SseEvent;
}

export class NativeKeys {
  readonly #finder: KeyFinder;
  /** By its place in the answer. */
  readonly #texts = new Map<string, WatchedText>();
  /** The text that the last event has lengthened. */
  #last: KeyWatch | null = null;

  constructor(finder: KeyFinder) {
    this.#finder = finder;
  }

  /** Returns what says whether a further piece of the text may pass as it is that the last event has lengthened. */
  passes(): (piece: string) => boolean {
    const watch = this.#last;
    return watch === null ? () => false : (piece) => watch.passes(piece);
  }

  /** Returns the events for one that has come: none while its text is held, and before the end of a part what was held. */
  shown(event: SseEvent): readonly SseEvent[] {
    this.#last = null;
    const isHolding = this.#texts.values().some(({ watch }) => watch.isHolding);
    if (!isHolding && !event.data.includes('"delta"')) return [event];
    const data = parseEvent(event);
    if (!isObject(data)) return [event];
    const found = pieceOf(data);
    if (found === null) return [...this.#ended(data), event];
    const withPiece = (piece: string): SseEvent => ({
      event: event.event,
      data: JSON.stringify(found.withPiece(piece)),
    });
    const text = this.#textOf(data, found.name, withPiece);
    this.#last = text.watch;
    const shown = text.watch.push(found.piece);
    if (shown === found.piece) return [event];
    return shown === "" ? [] : [withPiece(shown)];
  }

  /** Returns what is held at the end of the stream. */
  end(): readonly SseEvent[] {
    return this.#taken([...this.#texts.keys()]);
  }

  #textOf(data: JsonObject, name: string, withPiece: WatchedText["withPiece"]): WatchedText {
    const names = namesOf(data);
    const place = JSON.stringify([data["type"], name, names]);
    const known = this.#texts.get(place);
    if (known !== undefined) {
      known.withPiece = withPiece;
      return known;
    }
    const text = { watch: new KeyWatch(this.#finder), names, withPiece };
    this.#texts.set(place, text);
    return text;
  }

  /** Returns what is held of the parts that an event ends. */
  #ended(data: JsonObject): readonly SseEvent[] {
    if (typeof data["type"] !== "string" || !ENDING.test(data["type"])) return [];
    const ended = namesOf(data);
    return this.#taken([...this.#texts].filter(([, { names }]) => isPartOf(names, ended)).map(([place]) => place));
  }

  #taken(places: readonly string[]): readonly SseEvent[] {
    return places.flatMap((place) => {
      const { watch, withPiece } = this.#texts.get(place)!;
      this.#texts.delete(place);
      const rest = watch.end();
      return rest === "" ? [] : [withPiece(rest)];
    });
  }
}

interface FoundPiece {
  readonly name: string;
  readonly piece: string;
  /** Returns the event's data with another piece, and without the tokens of the one that came. */
  readonly withPiece: (piece: string) => JsonObject;
}

function pieceOf(data: JsonObject): FoundPiece | null {
  const { delta } = data;
  const others = "logprobs" in data ? { logprobs: [] } : {};
  if (typeof delta === "string")
    return { name: "delta", piece: delta, withPiece: (piece) => ({ ...data, ...others, delta: piece }) };
  if (!isObject(delta)) return null;
  for (const name of PIECES) {
    const piece = delta[name];
    if (typeof piece === "string")
      return { name, piece, withPiece: (other) => ({ ...data, delta: { ...delta, [name]: other } }) };
  }
  return null;
}

function namesOf(data: JsonObject): JsonObject {
  const names: Record<string, Json> = {};
  for (const name of NAMES) if (data[name] !== undefined) names[name] = data[name];
  return names;
}

/** Whether a part is the one that an event names, or lies within it; every part lies within the whole answer. */
function isPartOf(names: JsonObject, ended: JsonObject): boolean {
  return Object.entries(ended).every(([name, value]) => names[name] === undefined || names[name] === value);
}
