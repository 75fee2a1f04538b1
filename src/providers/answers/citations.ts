// Citations as annotations of OpenAI's form.
import type { Json, JsonObject } from "../../core/json.ts";

/** A citation of the text between two positions. A source without a title has its address as title. */
export function urlCitation(
  [start, end]: readonly [number, number],
  url: string,
  title: Json | undefined = url,
): JsonObject {
  return {
    type: "url_citation",
    url_citation: { start_index: start, end_index: end, url, title: typeof title === "string" ? title : url },
  };
}
