// Rerank on Amazon Bedrock, by InvokeModel in the forms of the models' makers:
// https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html
import type { JsonObject } from "../../core/json.ts";
import type { TaskForm } from "../interface/task-form.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { searchUnits } from "../tasks/ranking.ts";
import type { RankedDocument } from "../tasks/task-values.ts";
import { textRanking } from "../tasks/text-ranking.ts";
import { modelUrl } from "./address.ts";

function invoked(fixed: JsonObject): TaskForm<RankedDocument> {
  return textRanking({
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-supported.html",
    // https://docs.aws.amazon.com/bedrock/latest/userguide/rerank-pricing.html
    searchUnits,
    write: ({ query, documents, topN }, target) => ({
      url: modelUrl(target, "invoke"),
      body: { query, documents, ...fixed, ...(topN !== null && { top_n: topN }) },
    }),
    read: (answer) => ({ ranked: requireSentObject(answer, "answer")["results"] }),
  });
}

const COHERE = invoked({ api_version: 2 });
const AMAZON = invoked({});

export function rerank(model: string): TaskForm<RankedDocument> | null {
  if (/cohere\.rerank/.test(model)) return COHERE;
  return /amazon\.rerank/.test(model) ? AMAZON : null;
}
