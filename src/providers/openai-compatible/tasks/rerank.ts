// Rerank in Cohere's form, which most vendors share, with what differs as data of a row:
// https://docs.cohere.com/reference/rerank
import type { ChatRequest } from "../../../core/chat.ts";
import { isObject, type JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import type { TaskForm, Tasks } from "../../task-form.ts";
import { StreamError } from "../../upstream-failure.ts";
import type { RankedDocument } from "../../tasks/task-values.ts";
import { rankedDocuments, rerankInputs, RERANK_PARAMETERS } from "../../tasks/ranking.ts";
import { requireSentObject } from "../../answers/sent-json.ts";
import { inputCount, parseNumbers, taskRequest, toldTokens } from "../../tasks/task.ts";
import type { ErrorClassifier } from "../errors.ts";
import type { RerankRow } from "./task-rows.ts";

interface RerankProvider {
  readonly row: RerankRow;
  readonly base: (target: Target) => string;
  readonly errors: ErrorClassifier;
}

export function compatibleRerank({ row, base, errors }: RerankProvider): NonNullable<Tasks["rerank"]> {
  const [list, score] = row.results ?? ["results", "relevance_score"];
  const form: TaskForm<RankedDocument> = {
    docs: row.docs,
    mostInputs: Number.POSITIVE_INFINITY,
    takes: RERANK_PARAMETERS,
    encode(request: ChatRequest, target: Target) {
      const { query, documents, topN } = rerankInputs(request);
      const bound = row.topN ?? "top_n";
      const body: JsonObject = {
        model: target.model,
        ...(row.asPassages === true
          ? { query: { text: query }, passages: documents.map((text) => ({ text })) }
          : { query, [row.documents ?? "documents"]: documents }),
        ...(topN !== null && bound !== "none" && { [bound]: topN }),
      };
      const url = row.address?.(target) ?? base(target) + (row.path ?? "/rerank");
      return {
        request: taskRequest(url, body, request, target, new Set()),
        memo: { inputs: documents.length },
      };
    },
    decode(body, context) {
      const value = parseNumbers(body);
      if (errors.isError(value)) throw new StreamError(errors.classifyParsed(200, value, body));
      const answer: JsonObject =
        row.isBare === true && Array.isArray(value) ? { [list]: value } : requireSentObject(value, "answer");
      const { output, usage, model } = answer;
      const results = answer[list] ?? (isObject(output) ? output[list] : undefined);
      const { total_tokens: total, prompt_tokens: prompt, search_units: told } = isObject(usage) ? usage : {};
      const units = toldTokens(told);
      return {
        values: rankedDocuments(results, score, inputCount(context)),
        tokens: toldTokens(prompt) ?? toldTokens(total),
        ...(units !== null && { searchUnits: units }),
        model,
      };
    },
  };
  return () => form;
}
