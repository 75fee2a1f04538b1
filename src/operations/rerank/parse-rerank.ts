// Requests for rerank, in Cohere's form of both versions: the query becomes the first message, and each document one.
// https://docs.cohere.com/reference/rerank, https://docs.cohere.com/v1/reference/rerank
import type { ChatRequest } from "../../core/chat.ts";
import { invalid, invalidRequest } from "../../core/refusals.ts";
import { translatedForm, type Translation } from "../../engine/request/translated-form.ts";
import { isObject, isSet, isWholeNumber, type Json, type JsonObject, listIn } from "../../core/json.ts";
import type { RerankMemo as EncodedMemo } from "../../providers/tasks/ranking.ts";
import { listedTranslation, type OwnWords, placesIn } from "../listed-request.ts";

export interface RerankMemo extends EncodedMemo, OwnWords {
  /** The documents as the client sent them, where the answer repeats them. */
  readonly documents: readonly Json[] | null;
}

const MAX_DOCUMENTS = 9_999;

const KNOWN: ReadonlySet<string> = new Set([
  "model",
  "query",
  "documents",
  "top_n",
  "return_documents",
  "rank_fields",
  "max_tokens_per_doc",
  "metadata",
]);

export const RERANK_FORM = translatedForm({
  translate,
  checkOwn,
  names: { messages: "documents" },
  task: {
    name: "rerank",
    parameters: new Set(["max_tokens_per_doc"]),
    reserved: new Set(["model", "query", "documents", "top_n", "top_k", "return_documents", "rank_fields"]),
  },
});

function translate(body: JsonObject): Translation {
  const { query, documents, top_n: topN, return_documents: returns, rank_fields: fields } = body;
  if (typeof query !== "string" || query === "") throw invalid("query", "a text that is not empty", query);
  if (!Array.isArray(documents) || documents.length === 0)
    throw invalid("documents", "a list of texts or objects that is not empty", documents);
  if (documents.length > MAX_DOCUMENTS)
    throw invalidRequest("documents", `documents may have at most ${MAX_DOCUMENTS} entries; got ${documents.length}.`);
  if (isSet(topN) && !isWholeNumber(topN, 1)) throw invalid("top_n", "a whole number above 0", topN);
  if (isSet(returns) && typeof returns !== "boolean") throw invalid("return_documents", "true or false", returns);
  const named = namedFields(fields);
  const texts = (documents as readonly Json[]).map((one, index) => textOf(one, named, `documents[${index}]`));
  return listedTranslation<RerankMemo>(body, {
    contents: [query, ...texts],
    places: ["query", ...placesIn("documents", texts, false)],
    members: { max_tokens_per_doc: body["max_tokens_per_doc"] },
    known: KNOWN,
    memo: {
      topN: isSet(topN) ? topN : null,
      documents: returns === true ? (documents as readonly Json[]) : null,
    },
  });
}

function checkOwn({ extra: { max_tokens_per_doc: perDocument } }: ChatRequest): void {
  if (isSet(perDocument) && !isWholeNumber(perDocument, 1))
    throw invalid("max_tokens_per_doc", "a whole number above 0", perDocument);
}

function namedFields(fields: Json | undefined): readonly string[] | null {
  if (!isSet(fields)) return null;
  const names = listIn(fields);
  if (names.length === 0 || !names.every((name) => typeof name === "string"))
    throw invalid("rank_fields", "a list of names", fields);
  return names;
}

/** Named fields of an object become lines, as Cohere advises for its version 2. */
function textOf(document: Json, fields: readonly string[] | null, path: string): string {
  if (typeof document === "string") return filled(document, path);
  if (!isObject(document)) throw invalid(path, "a text, or an object with a text", document);
  if (fields === null) {
    if (typeof document["text"] !== "string")
      throw invalidRequest(path, `${path} needs a text in \`text\`, or fields that rank_fields names.`);
    return filled(document["text"], `${path}.text`);
  }
  const lines = fields
    .filter((name) => isSet(document[name]))
    .map((name) => {
      const value = document[name]!;
      return `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`;
    });
  return filled(lines.join("\n"), path);
}

function filled(text: string, path: string): string {
  if (text === "") throw invalidRequest(path, `${path} must not be empty.`);
  return text;
}
