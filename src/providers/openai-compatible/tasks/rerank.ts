// Rerank in Cohere's form, which most vendors share, with what differs as data of a row:
// https://docs.cohere.com/reference/rerank
import { isObject, type JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import type { Tasks } from "../../interface/task-form.ts";
import { requireSentObject } from "../../answers/sent-json.ts";
import { RERANK_PARAMETERS } from "../../tasks/ranking.ts";
import { toldTokens } from "../../tasks/task.ts";
import { textRanking } from "../../tasks/text-ranking.ts";
import type { ErrorClassifier } from "../errors.ts";
import type { RerankRow } from "./task-rows.ts";

interface RerankProvider {
  readonly row: RerankRow;
  readonly base: (target: Target) => string;
  readonly errors: ErrorClassifier;
}

export function compatibleRerank({ row, base, errors }: RerankProvider): NonNullable<Tasks["rerank"]> {
  const [list, score] = row.results ?? ["results", "relevance_score"];
  const form = textRanking({
    docs: row.docs,
    takes: RERANK_PARAMETERS,
    write({ query, documents, topN }, target) {
      const bound = row.topN ?? "top_n";
      return {
        url: row.address?.(target) ?? base(target) + (row.path ?? "/rerank"),
        body: {
          model: target.model,
          ...(row.asPassages === true
            ? { query: { text: query }, passages: documents.map((text) => ({ text })) }
            : { query, [row.documents ?? "documents"]: documents }),
          ...(topN !== null && bound !== "none" && { [bound]: topN }),
        },
      };
    },
    failureIn: (answer, body) => (errors.isError(answer) ? errors.classifyParsed(200, answer, body) : null),
    read(value) {
      const answer: JsonObject =
        row.isBare === true && Array.isArray(value) ? { [list]: value } : requireSentObject(value, "answer");
      const { output, usage, model } = answer;
      const { total_tokens: total, prompt_tokens: prompt, search_units: units } = isObject(usage) ? usage : {};
      return {
        ranked: answer[list] ?? (isObject(output) ? output[list] : undefined),
        score,
        tokens: toldTokens(prompt) ?? total,
        searchUnits: units,
        model,
      };
    },
  });
  return () => form;
}
