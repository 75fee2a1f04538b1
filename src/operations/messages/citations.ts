// Citations of pages on the web: https://platform.claude.com/docs/en/build-with-claude/citations. A provider of another
// form says the address and the title; the vendor's own index of a search result is empty then.
import { isObject, type Json, type JsonObject, objectsIn, textOrEmpty } from "../../core/json.ts";
import type { JsonEdit } from "../../core/request/json-edit.ts";

const TYPE = "web_search_result_location";

/** Returns the citations in the annotations of a chat completion that name an address. */
export function webCitations(annotations: Json | undefined): readonly JsonObject[] {
  return objectsIn(annotations).flatMap(({ url_citation: cited }) => {
    if (!isObject(cited) || textOrEmpty(cited["url"]) === "") return [];
    const { url, title, content } = cited;
    return [
      {
        type: TYPE,
        url,
        title: typeof title === "string" ? title : null,
        cited_text: textOrEmpty(content),
        encrypted_index: "",
      },
    ];
  });
}

/** Returns the citations without those that the gateway has made, which say nothing to a vendor. */
export function vendorCitations(citations: readonly Json[]): readonly Json[] {
  return citations.filter(isVendors);
}

function isVendors(citation: Json): boolean {
  return !isObject(citation) || citation["type"] !== TYPE || citation["encrypted_index"] !== "";
}

/** Returns the changes that remove those that the gateway has made from what is sent as the client wrote it. */
export function citationEdits({ messages }: JsonObject): readonly JsonEdit[] {
  if (!Array.isArray(messages)) return [];
  return (messages as readonly Json[]).flatMap((message, at) => {
    const content = isObject(message) ? message["content"] : undefined;
    if (!Array.isArray(content)) return [];
    return (content as readonly Json[]).flatMap((block, index): readonly JsonEdit[] => {
      const citations = isObject(block) ? block["citations"] : undefined;
      if (!Array.isArray(citations)) return [];
      const list = citations as readonly Json[];
      const made = list.flatMap((one, place) => (isVendors(one) ? [] : [place]));
      const path = ["messages", at, "content", index, "citations"];
      if (made.length === list.length && made.length > 0) return [{ path, value: undefined }];
      // one that is removed moves those behind it
      return made.toReversed().map((place) => ({ path: [...path, place], value: undefined }));
    });
  });
}
