// Citations as OpenAI's `url_citation`. APIs of content blocks put a cited statement into a block of its own, so the
// annotation spans that block. A citation of a document without an address cannot be expressed and is left out.
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import { isWebAddress } from "../../core/text/web-address.ts";
import { urlCitation } from "../answers/citations.ts";

/** Returns the member of a citation that may hold its address. */
export type CitedAddress = (citation: JsonObject) => Json | undefined;

/** `place` is the position of the block's text in the content, in UTF-16 units. */
export function urlCitations(
  citations: Json | undefined,
  addressOf: CitedAddress,
  place: readonly [start: number, end: number],
): JsonObject[] {
  if (place[0] === place[1]) return [];
  return objectsIn(citations).flatMap((citation) => {
    const url = addressOf(citation);
    return isWebAddress(url) ? [urlCitation(place, url, citation["title"])] : [];
  });
}

/**
 * Whether a message cannot express one of the citations: it has no address, or members beside those that an annotation
 * has, such as the places in a search result.
 */
export function hasCitationBeyondAnnotation(
  citations: Json | undefined,
  addressOf: CitedAddress,
  expressed: ReadonlySet<string>,
): boolean {
  return (
    Array.isArray(citations) &&
    (citations as readonly Json[]).some(
      (citation) =>
        !isObject(citation) ||
        !isWebAddress(addressOf(citation)) ||
        Object.keys(citation).some((name) => !expressed.has(name)),
    )
  );
}
