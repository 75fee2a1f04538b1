// groundingMetadata and citationMetadata -> OpenAI's url_citation annotations. Google counts bytes of UTF-8, OpenAI counts characters.
// https://ai.google.dev/gemini-api/docs/google-search, https://ai.google.dev/api/generate-content#citationmetadata
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** `text`: the answer so far, thoughts left out. `partTexts`: its parts, to which a segment's offsets refer, where they are known apart. */
export function citationsOf(candidate: JsonObject, text: string, partTexts: readonly string[] | null): JsonObject[] {
  const grounding = candidate["groundingMetadata"];
  const citation = candidate["citationMetadata"];
  if (!isObject(grounding) && !isObject(citation)) return [];
  const positions = positionsIn(text);
  return [...(isObject(grounding) ? fromGrounding(grounding, positions, partTexts) : []), ...(isObject(citation) ? fromCitation(citation, positions) : [])];
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
      return source === null ? [] : [annotation(positions, start, base + (segment["endIndex"] as number), source.uri, source.title)];
    });
  });
}

function sourceOf(chunk: JsonObject | null | undefined): { readonly uri: string; readonly title: string } | null {
  for (const kind of ["web", "retrievedContext", "maps"]) {
    const source = chunk?.[kind];
    if (isObject(source) && typeof source["uri"] === "string") return { uri: source["uri"], title: typeof source["title"] === "string" ? source["title"] : source["uri"] };
  }
  return null;
}

/** AI Studio calls the list citationSources, Vertex citations. */
function fromCitation(citation: JsonObject, positions: Positions): JsonObject[] {
  return objects(citation["citationSources"] ?? citation["citations"], true).flatMap((source) => {
    const { uri, title, startIndex: start, endIndex: end } = source!;
    if (typeof uri !== "string" || typeof end !== "number") return [];
    return [annotation(positions, typeof start === "number" ? start : 0, end, uri, typeof title === "string" && title !== "" ? title : uri)];
  });
}

/** Where each part begins in the whole text, in bytes. */
function basesOf(partTexts: readonly string[]): readonly number[] {
  let at = 0;
  return partTexts.map((text) => {
    const begins = at;
    at += Buffer.byteLength(text);
    return begins;
  });
}

function annotation(positions: Positions, startByte: number, endByte: number, url: string, title: string): JsonObject {
  return { type: "url_citation", url_citation: { start_index: positions(startByte), end_index: positions(endByte), url, title } };
}

/** Gives the characters, counted as code points, in the first so many bytes of a text. */
type Positions = (end: number) => number;

const MARK_EVERY = 1024;

/** Counts the text once and keeps a mark here and there: an answer may have a long text and many sources. */
function positionsIn(text: string): Positions {
  const bytes = Buffer.from(text, "utf8");
  const marks: number[] = [];
  let count = 0;
  for (let index = 0; index < bytes.length; index++) {
    if (index % MARK_EVERY === 0) marks.push(count);
    if (isCharacterStart(bytes[index]!)) count++;
  }
  const total = count;
  return (end) => {
    if (end >= bytes.length) return total;
    const from = Math.max(0, Math.floor(end / MARK_EVERY));
    let characters = marks[from] ?? 0;
    for (let index = from * MARK_EVERY; index < end; index++) if (isCharacterStart(bytes[index]!)) characters++;
    return characters;
  };
}

function isCharacterStart(byte: number): boolean {
  return (byte & 0xc0) !== 0x80;
}

/** The list's members; what is no object keeps its place as null, or is left out. */
function objects(value: Json | undefined, dense: boolean): (JsonObject | null)[] {
  if (!Array.isArray(value)) return [];
  const list = (value as readonly Json[]).map((item) => (isObject(item) ? item : null));
  return dense ? list.filter((item) => item !== null) : list;
}
