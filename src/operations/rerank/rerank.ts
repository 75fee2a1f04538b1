// The operation rerank: `POST /api/v1/rerank`, in Cohere's form. https://docs.cohere.com/reference/rerank
import type { ErrorForm } from "../../engine/call/called-operation.ts";
import type { Operation } from "../../engine/operation.ts";
import { type AnsweredTask, replyTask } from "../../engine/tasks/reply-task.ts";
import type { RankedDocument } from "../../providers/tasks/task-values.ts";
import { RERANK_FORM, type RerankMemo } from "./parse-rerank.ts";

/** Cohere's envelope: https://docs.cohere.com/reference/errors */
const RERANK_ERRORS: ErrorForm = { body: ({ message }, traceId) => ({ id: traceId, message }) };

export const RERANK: Operation = {
  name: "rerank",
  errors: RERANK_ERRORS,
  form: RERANK_FORM,
  reply: (ready) => replyTask(ready, writtenRanking),
};

/** Scores are the provider's own, on its own scale. */
function* writtenRanking({ values, request, traceId, searchUnits }: AnsweredTask): Generator<string> {
  const { topN, documents } = request.written!.memo as RerankMemo;
  const ranked = values as readonly RankedDocument[];
  yield `{"id":${JSON.stringify(traceId)},"results":[`;
  for (const [place, { index, score }] of ranked.slice(0, topN ?? ranked.length).entries()) {
    const document = documents?.[index];
    const shown = typeof document === "string" ? { text: document } : document;
    yield `${place === 0 ? "" : ","}${JSON.stringify({
      index,
      relevance_score: score,
      ...(shown !== undefined && { document: shown }),
    })}`;
  }
  const billed = searchUnits === null ? {} : { billed_units: { search_units: searchUnits } };
  yield `],"meta":${JSON.stringify({ api_version: { version: "2" }, ...billed })}}`;
}
