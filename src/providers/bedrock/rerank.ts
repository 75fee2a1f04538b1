// Rerank on Amazon Bedrock, by InvokeModel in the forms of the models' makers:
// https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
import type { ChatRequest } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { TaskForm } from "../task-form.ts";
import type { RankedDocument } from "../tasks/task-values.ts";
import { rankedDocuments, rerankInputs, searchUnits } from "../tasks/ranking.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { inputCount, parseNumbers, taskRequest } from "../tasks/task.ts";
import { modelUrl } from "./address.ts";

function invoked(fixed: JsonObject): TaskForm<RankedDocument> {
  return {
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html",
    mostInputs: Number.POSITIVE_INFINITY,
    takes: new Set(),
    // https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html
    searchUnits,
    encode(request: ChatRequest, target: Target) {
      const { query, documents, topN } = rerankInputs(request);
      const body: JsonObject = { query, documents, ...fixed, ...(topN !== null && { top_n: topN }) };
      return {
        request: taskRequest(modelUrl(target, "invoke"), body, request, target, new Set()),
        memo: { inputs: documents.length },
      };
    },
    decode(body, context) {
      const { results } = requireSentObject(parseNumbers(body), "answer");
      return {
        values: rankedDocuments(results, "relevance_score", inputCount(context)),
        tokens: null,
        model: null,
      };
    },
  };
}

const COHERE = invoked({ api_version: 2 });
const AMAZON = invoked({});

export function rerank(model: string): TaskForm<RankedDocument> | null {
  if (/cohere\.rerank/.test(model)) return COHERE;
  return /amazon\.rerank/.test(model) ? AMAZON : null;
}
