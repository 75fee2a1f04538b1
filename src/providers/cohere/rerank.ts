// Cohere's rerank, version 2: https://docs.cohere.com/reference/rerank
import type { ChatRequest } from "../../core/chat.ts";
import { isObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { TaskForm } from "../task-form.ts";
import { StreamError } from "../upstream-failure.ts";
import type { RankedDocument } from "../tasks/task-values.ts";
import { rankedDocuments, rerankInputs, RERANK_PARAMETERS, searchUnits } from "../tasks/ranking.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { inputCount, parseNumbers, taskRequest, toldTokens } from "../tasks/task.ts";
import { versionedPath } from "./address.ts";
import { classifyError } from "./errors.ts";

export const rerank: TaskForm<RankedDocument> = {
  docs: "https://docs.cohere.com/reference/rerank",
  mostInputs: Number.POSITIVE_INFINITY,
  takes: RERANK_PARAMETERS,
  // https://cohere.com/pricing: a search unit is one query with up to 100 documents
  searchUnits,
  encode(request: ChatRequest, target: Target) {
    const { query, documents, topN } = rerankInputs(request);
    const body = { model: target.model, query, documents, ...(topN !== null && { top_n: topN }) };
    const url = versionedPath(target.baseUrl, "rerank");
    return { request: taskRequest(url, body, request, target, new Set()), memo: { inputs: documents.length } };
  },
  decode(body, context) {
    const answer = requireSentObject(parseNumbers(body), "answer");
    const { results, meta } = answer;
    if (results === undefined && typeof answer["message"] === "string")
      throw new StreamError(classifyError({ status: 200, body }));
    const billed = isObject(meta) && isObject(meta["billed_units"]) ? meta["billed_units"] : {};
    const units = toldTokens(billed["search_units"]);
    return {
      values: rankedDocuments(results, "relevance_score", inputCount(context)),
      tokens: toldTokens(billed["input_tokens"]),
      model: null,
      ...(units !== null && { searchUnits: units }),
    };
  },
};
