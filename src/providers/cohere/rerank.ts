// Cohere's rerank, version 2: https://docs.cohere.com/reference/rerank
import { isObject } from "../../core/json.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { RERANK_PARAMETERS, searchUnits } from "../tasks/ranking.ts";
import { textRanking } from "../tasks/text-ranking.ts";
import { versionedPath } from "./address.ts";
import { classifyError } from "./errors.ts";

export const rerank = textRanking({
  docs: "https://docs.cohere.com/reference/rerank",
  takes: RERANK_PARAMETERS,
  // https://cohere.com/pricing: a search unit is one query with up to 100 documents
  searchUnits,
  write: ({ query, documents, topN }, { model, baseUrl }) => ({
    url: versionedPath(baseUrl, "rerank"),
    body: { model, query, documents, ...(topN !== null && { top_n: topN }) },
  }),
  read(answer) {
    const { results, meta } = requireSentObject(answer, "answer");
    const billed = isObject(meta) && isObject(meta["billed_units"]) ? meta["billed_units"] : {};
    return { ranked: results, tokens: billed["input_tokens"], searchUnits: billed["search_units"] };
  },
  failureIn: (answer, body) =>
    isObject(answer) && answer["results"] === undefined && typeof answer["message"] === "string"
      ? classifyError({ status: 200, body })
      : null,
});
