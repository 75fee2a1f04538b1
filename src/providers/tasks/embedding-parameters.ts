// The parameters of embeddings in vendors' words: what a text is for, and the length of its vector.
import type { ChatRequest } from "../../core/chat.ts";
import { unsupportedValue } from "../../core/refusals.ts";

/** What a text is for. The words are those of Cohere, which most clients know: https://docs.cohere.com/reference/embed */
export const INPUT_TYPES = [
  "search_document",
  "search_query",
  "classification",
  "clustering",
  "semantic_similarity",
] as const;
export type InputType = (typeof INPUT_TYPES)[number];

/** Other words for the same. */
const SYNONYMS: Readonly<Record<string, InputType>> = {
  document: "search_document",
  passage: "search_document",
  query: "search_query",
};

/** A vendor's words for what a text is for; those that are absent are refused. */
export type InputTypeWords = Readonly<Partial<Record<InputType, string>>>;

/** Those of Cohere's models, wherever they are served. */
export const COHERE_INPUT_TYPES: InputTypeWords = {
  search_document: "search_document",
  search_query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

/**
 * Returns the vendor's word for `input_type`; undefined when the request does not say. A word of the vendor's own is
 * taken as well. Throws `unsupported_value`.
 */
export function inputTypeIn(words: InputTypeWords, { extra }: ChatRequest, label: string): string | undefined {
  const asked = extra["input_type"];
  if (asked === undefined || asked === null) return undefined;
  if (typeof asked === "string") {
    const word = words[(SYNONYMS[asked] ?? asked) as InputType];
    if (word !== undefined) return word;
    if (Object.values(words).includes(asked)) return asked;
  }
  const known = Object.keys(words).map((word) => JSON.stringify(word));
  throw unsupportedValue(
    "input_type",
    `input_type of ${label} takes ${known.join(", ")}; got ${JSON.stringify(asked)}.`,
  );
}

/** Undefined when the request does not say. The form of the operation has checked that it is a whole number. */
export function dimensionsIn({ extra }: ChatRequest): number | undefined {
  return (extra["dimensions"] as number | null | undefined) ?? undefined;
}

export const NEITHER: ReadonlySet<string> = new Set();
export const DIMENSIONS: ReadonlySet<string> = new Set(["dimensions"]);
export const INPUT_TYPE: ReadonlySet<string> = new Set(["input_type"]);
export const BOTH: ReadonlySet<string> = new Set(["dimensions", "input_type"]);
