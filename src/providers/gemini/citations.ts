// groundingMetadata and citationMetadata -> OpenAI's url_citation annotations. Google counts bytes of UTF-8, OpenAI counts characters.
// https://ai.google.dev/gemini-api/docs/google-search, https://ai.google.dev/api/generate-content#citationmetadata
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** `text`: the answer so far, thoughts left out. `partTexts`: its parts, to which a segment's offsets refer, where they are known apart. */
export function citationsOf(candidate: JsonObject, text: string, partTexts: readonly string[] | null): JsonObject[] {
  const grounding = candidate["groundingMetadata"];
  const citation = candidate["citationMetadata"];
  if (!isObject(grounding) && !isObject(citation)) return [];
  const bytes = Buffer.from(text, "utf8");
  return [...(isObject(grounding) ? fromGrounding(grounding, bytes, partTexts) : []), ...(isObject(citation) ? fromCitation(citation, bytes) : [])];
}

function fromGrounding(grounding: JsonObject, bytes: Buffer, partTexts: readonly string[] | null): JsonObject[] {
  const chunks = objects(grounding["groundingChunks"], false);
  return objects(grounding["groundingSupports"], true).flatMap((support) => {
    const segment = support!["segment"];
    const indices = support!["groundingChunkIndices"];
    if (!isObject(segment) || typeof segment["endIndex"] !== "number" || !Array.isArray(indices)) return [];
    const base = baseOf(segment["partIndex"], partTexts);
    const start = base + (typeof segment["startIndex"] === "number" ? segment["startIndex"] : 0);
    return (indices as readonly Json[]).flatMap((index) => {
      const source = sourceOf(typeof index === "number" ? chunks[index] : null);
      return source === null ? [] : [annotation(bytes, start, base + (segment["endIndex"] as number), source.uri, source.title)];
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
function fromCitation(citation: JsonObject, bytes: Buffer): JsonObject[] {
  return objects(citation["citationSources"] ?? citation["citations"], true).flatMap((source) => {
    const { uri, title, startIndex: start, endIndex: end } = source!;
    if (typeof uri !== "string" || typeof end !== "number") return [];
    return [annotation(bytes, typeof start === "number" ? start : 0, end, uri, typeof title === "string" && title !== "" ? title : uri)];
  });
}

/** Where a part begins in the whole text, in bytes. */
function baseOf(partIndex: Json | undefined, partTexts: readonly string[] | null): number {
  if (typeof partIndex !== "number" || partTexts === null) return 0;
  return partTexts.slice(0, partIndex).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function annotation(bytes: Buffer, startByte: number, endByte: number, url: string, title: string): JsonObject {
  return { type: "url_citation", url_citation: { start_index: characters(bytes, startByte), end_index: characters(bytes, endByte), url, title } };
}

/** Characters, counted as code points, in the first `end` bytes. */
function characters(bytes: Buffer, end: number): number {
  let count = 0;
  for (let index = 0; index < Math.min(end, bytes.length); index++) if ((bytes[index]! & 0xc0) !== 0x80) count++;
  return count;
}

/** The list's members; what is no object keeps its place as null, or is left out. */
function objects(value: Json | undefined, dense: boolean): (JsonObject | null)[] {
  if (!Array.isArray(value)) return [];
  const list = (value as readonly Json[]).map((item) => (isObject(item) ? item : null));
  return dense ? list.filter((item) => item !== null) : list;
}
