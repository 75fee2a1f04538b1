// Converts groundingMetadata and citationMetadata to OpenAI's url_citation annotations. Google counts bytes of UTF-8;
// annotations count UTF-16 units, in which the gateway shifts them where texts are joined.
// https://ai.google.dev/gemini-api/docs/google-search, https://ai.google.dev/api/generate-content#citationmetadata
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { urlCitation } from "../answers/citations.ts";

/**
 * `text` is the answer so far, without thoughts. `partTexts` are the texts of its parts, to which a segment's offsets
 * refer, when they are known separately.
 */
export function citationsOf(
  candidate: JsonObject,
  text: TextPositions,
  partTexts: readonly string[] | null,
): JsonObject[] {
  const grounding = candidate["groundingMetadata"];
  const citation = candidate["citationMetadata"];
  if (!isObject(grounding) && !isObject(citation)) return [];
  const positions: Positions = (endByte) => text.units(endByte);
  return [
    ...(isObject(grounding) ? fromGrounding(grounding, positions, partTexts) : []),
    ...(isObject(citation) ? fromCitation(citation, positions) : []),
  ];
}

function fromGrounding(grounding: JsonObject, positions: Positions, partTexts: readonly string[] | null): JsonObject[] {
  const bases = basesOf(partTexts ?? []);
  const chunks = objects(grounding["groundingChunks"], false);
  return objects(grounding["groundingSupports"], true).flatMap((support) => {
    const segment = support!["segment"];
    const indices = support!["groundingChunkIndices"];
    if (!isObject(segment) || typeof segment["endIndex"] !== "number" || !Array.isArray(indices)) return [];
    const base = (typeof segment["partIndex"] === "number" ? bases[segment["partIndex"]] : 0) ?? 0;
    const start = base + (typeof segment["startIndex"] === "number" ? segment["startIndex"] : 0);
    return (indices as readonly Json[]).flatMap((index) => {
      const source = sourceOf(typeof index === "number" ? chunks[index] : null);
      return source === null
        ? []
        : [
            urlCitation(
              [positions(start), positions(base + (segment["endIndex"] as number))],
              source.uri,
              source.title,
            ),
          ];
    });
  });
}

function sourceOf(
  chunk: JsonObject | null | undefined,
): { readonly uri: string; readonly title: Json | undefined } | null {
  for (const kind of ["web", "retrievedContext", "maps"]) {
    const source = chunk?.[kind];
    if (isObject(source) && typeof source["uri"] === "string") return { uri: source["uri"], title: source["title"] };
  }
  return null;
}

/** AI Studio calls the list citationSources, and Vertex calls it citations. */
function fromCitation(citation: JsonObject, positions: Positions): JsonObject[] {
  return objects(citation["citationSources"] ?? citation["citations"], true).flatMap((source) => {
    const { uri, title, startIndex: start, endIndex: end } = source!;
    if (typeof uri !== "string" || typeof end !== "number") return [];
    const begin = typeof start === "number" ? start : 0;
    return [urlCitation([positions(begin), positions(end)], uri, title === "" ? uri : title)];
  });
}

/** The offset of each part in the complete text, in bytes. */
function basesOf(partTexts: readonly string[]): readonly number[] {
  let at = 0;
  return partTexts.map((text) => {
    const begins = at;
    at += Buffer.byteLength(text);
    return begins;
  });
}

/** Returns the number of UTF-16 units before a byte offset of a text. */
type Positions = (end: number) => number;

const MARK_EVERY = 1024;
/** Text beyond this is not counted. No real answer is this long, but a stream may never end. */
const MAX_BYTES = 16 * 1024 * 1024;

/**
 * A growing text in which byte offsets are converted to offsets in UTF-16 units. Each byte is counted once, and only when
 * a position is requested, because every event of a stream may cite.
 */
export class TextPositions {
  #waiting = "";
  #bytes = new Uint8Array(0);
  #length = 0;
  #units = 0;
  /** The number of units before each 1024th byte. */
  readonly #marks: number[] = [];

  append(text: string): void {
    if (this.#length + this.#waiting.length < MAX_BYTES) this.#waiting += text;
  }

  units(endByte: number): number {
    this.#count();
    if (endByte >= this.#length) return this.#units;
    const from = Math.max(0, Math.floor(endByte / MARK_EVERY));
    let units = this.#marks[from] ?? 0;
    for (let index = from * MARK_EVERY; index < endByte; index++) units += unitsBegunBy(this.#bytes[index]!);
    return units;
  }

  #count(): void {
    if (this.#waiting === "") return;
    const added = Buffer.from(this.#waiting, "utf8");
    this.#waiting = "";
    const end = this.#length + added.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(added, this.#length);
    for (; this.#length < end; this.#length++) {
      if (this.#length % MARK_EVERY === 0) this.#marks.push(this.#units);
      this.#units += unitsBegunBy(this.#bytes[this.#length]!);
    }
  }
}

/** A character of four bytes has two units; bytes that continue a character begin none. */
function unitsBegunBy(byte: number): 0 | 1 | 2 {
  if ((byte & 0xc0) === 0x80) return 0;
  return byte >= 0xf0 ? 2 : 1;
}

/** The list's members as objects. Members that are not objects become null, or are left out when `dense` is true. */
function objects(value: Json | undefined, dense: boolean): (JsonObject | null)[] {
  if (!Array.isArray(value)) return [];
  const list = (value as readonly Json[]).map((item) => (isObject(item) ? item : null));
  return dense ? list.filter((item) => item !== null) : list;
}
