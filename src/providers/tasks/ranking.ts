// Rerank at providers: the first message of the request is the query, and each other one a document.
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, isWholeNumber, type Json } from "../../core/json.ts";
import { MalformedAnswer } from "../interface/upstream-failure.ts";
import type { RankedDocument } from "./task-values.ts";
import { textOf } from "./task.ts";

/** What the operation rerank remembers for encoders. */
export interface RerankMemo {
  /** `null` for all documents. */
  readonly topN: number | null;
}

export const RERANK_PARAMETERS: ReadonlySet<string> = new Set(["max_tokens_per_doc"]);

export interface RerankInputs extends RerankMemo {
  readonly query: string;
  readonly documents: readonly string[];
}

export function rerankInputs({ messages, written }: ChatRequest): RerankInputs {
  const [query, ...documents] = messages.map(textOf);
  return { query: query ?? "", documents, topN: (written!.memo as RerankMemo).topN };
}

/** Documents of one search unit, at vendors that bill those. A long document counts as several. */
const UNIT_DOCUMENTS = 100;

/** Estimates the search units of a query and its documents. */
export function searchUnits(inputs: number): number {
  return Math.max(1, Math.ceil((inputs - 1) / UNIT_DOCUMENTS));
}

/**
 * Returns the documents of a provider's list with the provider's own scores, the highest first. Throws MalformedAnswer
 * for an index that no document has, for one that comes twice, for a score that is no finite number, and for fewer than
 * `least` documents: a client takes those that are missing for the worst.
 */
export function rankedDocuments(
  list: Json | undefined,
  score: string,
  count: number,
  least: number,
): readonly RankedDocument[] {
  if (!Array.isArray(list)) throw new MalformedAnswer("The provider's answer has no list of ranked documents.");
  const seen = new Set<number>();
  const ranked = (list as readonly Json[]).map((entry): RankedDocument => {
    const { index, [score]: value } = isObject(entry) ? entry : {};
    if (!isWholeNumber(index, 0, count - 1) || seen.has(index))
      throw new MalformedAnswer("The provider's answer ranks a document that there is not, or one of them twice.");
    if (typeof value !== "number" || !Number.isFinite(value))
      throw new MalformedAnswer("The provider's answer has a score that is no finite number.");
    seen.add(index);
    return { index, score: value };
  });
  if (ranked.length < least)
    throw new MalformedAnswer(`The provider's answer ranks ${ranked.length} of ${least} documents.`);
  return ranked.toSorted((one, other) => other.score - one.score);
}
