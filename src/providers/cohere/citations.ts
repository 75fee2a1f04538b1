// Citations as OpenAI's `url_citation`: https://docs.cohere.com/v2/docs/rag-citations. Sources without an address (a
// tool's output, a document of the user) do not fit into that form: the vendor's own list stands beside it as
// `citations` and is sent back with the message.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { isWebAddress } from "../../core/text/web-address.ts";
import { urlCitation } from "../answers/citations.ts";

/** The index of the content block that is cited. */
export function citedBlock({ content_index: index }: JsonObject): number {
  return typeof index === "number" ? index : 0;
}

/** `base` is where the cited block begins in the content, in characters. */
export function annotationsOf(citation: JsonObject, base: number): JsonObject[] {
  const { type, start, end, sources } = citation;
  if (
    type === "THINKING_CONTENT" ||
    type === "PLAN" ||
    typeof start !== "number" ||
    typeof end !== "number" ||
    !Array.isArray(sources)
  )
    return [];
  return (sources as readonly Json[]).flatMap((source) => {
    const cited = isObject(source) ? (source["document"] ?? source["tool_output"]) : undefined;
    const url = isObject(cited) ? cited["url"] : undefined;
    if (!isObject(cited) || !isWebAddress(url)) return [];
    return [urlCitation([base + start, base + end], url, cited["title"])];
  });
}
