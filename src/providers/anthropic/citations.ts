// Citations as OpenAI's `url_citation`: https://platform.claude.com/docs/en/build-with-claude/citations. The vendor
// puts a cited statement into a text block of its own, so the annotation spans that block. A citation of a document
// without an address cannot be expressed and is left out.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";

/** `start` and `end` give the position of the block's text in the content, in UTF-16 units. */
export function annotationsOf(citations: Json | undefined, start: number, end: number): JsonObject[] {
  if (!Array.isArray(citations) || end === start) return [];
  return citations.filter(isObject).flatMap((citation) => {
    const url = addressOf(citation);
    const title = citation["title"];
    return url === null
      ? []
      : [
          {
            type: "url_citation",
            url_citation: { start_index: start, end_index: end, url, title: typeof title === "string" ? title : url },
          },
        ];
  });
}

function addressOf({ url, source }: JsonObject): string | null {
  const address = url ?? source;
  return typeof address === "string" && /^https?:\/\//i.test(address) ? address : null;
}
