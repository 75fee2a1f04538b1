// Citations as OpenAI's `url_citation`:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Citation.html. A cited statement is a block of
// its own, so the annotation spans that block. A citation of a document without an address cannot be expressed and is
// left out.
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

function addressOf({ location, source }: JsonObject): string | null {
  const web = isObject(location) ? location["web"] : undefined;
  const address = isObject(web) ? web["url"] : source;
  return typeof address === "string" && /^https?:\/\//i.test(address) ? address : null;
}
