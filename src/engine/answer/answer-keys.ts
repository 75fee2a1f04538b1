// Removes the operator's key from an answer, because a provider or a proxy before it may repeat the key that it
// received. The key is removed from non-streaming answers and from streams, even where it arrives in pieces, both as it
// is and in base64, hexadecimal and other usual spellings. A key that the caller sent is not removed.
import type { ChatChunk, ChunkChoice, ChunkDelta } from "../../core/chat.ts";
import { memoizePerObject } from "../../core/memoization.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { mappedList, mappedMembers } from "../../core/request/mapped-list.ts";
import { isKey, keyFinder, type KeyFinder, keyRemover, KeyWatch } from "../../core/text/quoted-key.ts";
import { type Credential, secretsOf } from "../../core/target.ts";
import type { SseEvent } from "../../wire/sse.ts";
import { isLongEvent } from "../long-bodies/read-in-turns.ts";
import { parseSentObject } from "../../providers/answers/sent-json.ts";
import { decoderAround, type StreamDecoder } from "../../providers/interface/stream-decoder.ts";

const NO_KEYS: readonly string[] = [];
/** Returns no keys when there is nothing to search for. */
function keysOf(credential: Credential | null): readonly string[] {
  return credential === null || credential.fromCaller ? NO_KEYS : operatorKeys(credential);
}
const operatorKeys = memoizePerObject((credential: Credential) => secretsOf(credential).filter(isKey));

/** `text` is the text of a non-streaming answer as it arrived. */
export function answerWithoutKeys(text: string, credential: Credential | null): string {
  const keys = keysOf(credential);
  return keys.length === 0 ? text : keyRemover(keys)(text);
}

/** Returns what finds the operator's keys; `null` when there is nothing to search for. */
export function answerKeyFinder(credential: Credential | null): KeyFinder | null {
  const keys = keysOf(credential);
  return keys.length === 0 ? null : keyFinder(keys);
}

/**
 * Returns the same decoder, but its chunks contain no key. It is given the events as they came: it compares the pieces of a
 * text with the whole one, of which only the latter is found to hold a key before the pieces are joined.
 */
export function decoderWithoutKeys(decoder: StreamDecoder, credential: Credential | null): StreamDecoder {
  const keys = keysOf(credential);
  if (keys.length === 0) return decoder;
  const removeKeys = keyRemover(keys);
  const search = eventSearch(credential!);
  const texts = new StreamTexts(keyFinder(keys));
  /** Whether an event had a key, which may then be in any chunk, outside the texts that come in pieces too. */
  let hadKey = false;
  const shown = (chunk: ChatChunk): ChatChunk => {
    const withTexts = texts.chunk(chunk);
    return hadKey
      ? (parseSentObject(removeKeys(JSON.stringify(withTexts)), "event") as unknown as ChatChunk)
      : withTexts;
  };
  const clean = (chunks: readonly ChatChunk[]): readonly ChatChunk[] => mappedList(chunks, shown);
  return decoderAround(decoder, {
    push: (event) => {
      hadKey ||= search(event) !== event;
      return clean(decoder.push(event));
    },
    end: () => [...clean(decoder.end()), ...texts.end()],
    ...(decoder.passes === true && {
      passes: {
        events: (text: string) => removeKeys(text) === text,
        pieces: (index: number, name: string) => texts.passes(index, name),
      },
    }),
  });
}

/**
 * Returns what removes a key that is whole within one event, wherever it is in the event, as in a non-streaming answer;
 * it returns the same event where there is none. A long event is searched once for all that read it.
 */
export function eventsWithoutKeys(credential: Credential | null): (event: SseEvent) => SseEvent {
  return keysOf(credential).length === 0 ? (event) => event : eventSearch(credential!);
}

const eventSearch = memoizePerObject((credential: Credential): ((event: SseEvent) => SseEvent) => {
  const removeKeys = keyRemover(keysOf(credential));
  const search = (event: SseEvent): SseEvent => {
    const data = removeKeys(event.data);
    return data === event.data ? event : { event: event.event, data };
  };
  const searchOnce = memoizePerObject(search);
  return (event) => (isLongEvent(event) ? searchOnce(event) : search(event));
});

/**
 * Removes keys that arrive in pieces over several events, in the texts of deltas. Each string of a delta is a text of
 * its own, identified by its position.
 */
class StreamTexts {
  readonly #finder: KeyFinder;
  readonly #watches = new Map<string, KeyWatch>();

  constructor(finder: KeyFinder) {
    this.#finder = finder;
  }

  chunk(chunk: ChatChunk): ChatChunk {
    const given: unknown = chunk.choices;
    if (!Array.isArray(given)) return chunk;
    const choices = mappedList(given as readonly ChunkChoice[], (choice) => {
      if (!isObject(choice) || !isObject(choice.delta)) return choice;
      const { index } = choice;
      const delta = this.#members(choice.delta, String(typeof index === "number" ? index : 0)) as ChunkDelta;
      return delta === choice.delta ? choice : { ...choice, delta };
    });
    return choices === given ? chunk : { ...chunk, choices };
  }

  /** Returns what was held back of texts that ended with the beginning of a key. */
  end(): readonly ChatChunk[] {
    const chunks = [...this.#watches].flatMap(([place, watch]) => {
      const rest = watch.end();
      const [index, ...names] = place.split(".");
      return rest === "" ? [] : [{ choices: [{ index: Number(index), delta: nested(names, rest) as ChunkDelta }] }];
    });
    this.#watches.clear();
    return chunks;
  }

  #members(owner: JsonObject, place: string): JsonObject {
    return mappedMembers(owner, (member, name) => this.#value(member, place, name));
  }

  #value(value: Json | undefined, place: string, name: string): Json | undefined {
    if (typeof value === "string") return this.#text(value, place, name);
    if (typeof value !== "object" || value === null) return value;
    if (isObject(value)) return this.#members(value, `${place}.${name}`);
    return mappedList(value as readonly Json[], (item, at) => {
      // tool calls and blocks of reasoning are identified by their own index
      const index = isObject(item) && typeof item["index"] === "number" ? item["index"] : at;
      return this.#value(item, `${place}.${name}`, String(index)) as Json;
    });
  }

  /** Returns what says whether a further piece of a text may pass as it is. */
  passes(index: number, name: string): (piece: string) => boolean {
    const watch = this.#watchOf(`${index}.${name}`);
    return (piece) => watch.passes(piece);
  }

  #text(text: string, owner: string, name: string): string {
    if (this.#watches.size === 0 && !this.#finder.mayBeginIn(text)) return text;
    const place = `${owner}.${name}`;
    if (!this.#watches.has(place) && !this.#finder.mayBeginIn(text)) return text;
    return this.#watchOf(place).push(text);
  }

  #watchOf(place: string): KeyWatch {
    return this.#watches.getOrInsertComputed(place, () => new KeyWatch(this.#finder));
  }
}

/** Builds a delta with only this text; a numeric name is the index of a tool call or a block. */
function nested([name, ...inner]: readonly string[], text: string): Json {
  if (name === undefined) return text;
  if (/^\d+$/.test(name)) return [{ index: Number(name), ...(nested(inner, text) as object) }];
  return { [name]: nested(inner, text) };
}
