// Rerank and moderations of an OpenAI-compatible provider as data.
import type { Target } from "../../../core/target.ts";

/** How a row's rerank differs from Cohere's. */
export interface RerankRow {
  /** The vendor's page. */
  readonly docs: string;
  /** Appended to the base address. `/rerank` when absent. */
  readonly path?: string;
  /** Returns the complete address, when it is more than base and path. */
  readonly address?: (target: Target) => string;
  /** What bounds the number of results. `top_n` when absent. */
  readonly topN?: "top_n" | "top_k" | "none";
  /** The name of the documents. `documents` when absent. */
  readonly documents?: "texts";
  /** Set where the answer is the list of results itself. */
  readonly isBare?: true;
  /** Query and documents as objects with a text: `query` and `passages`. */
  readonly asPassages?: true;
  /** The list of results and the score in each. `results` and `relevance_score` when absent. */
  readonly results?: readonly [list: string, score: string];
}

export interface ModerationRow {
  /** The vendor's page. */
  readonly docs: string;
}
