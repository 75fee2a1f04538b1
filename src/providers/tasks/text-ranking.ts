// Rerank of vendors that take a query with documents, and answer with a list of places and scores. Each says how a request
// is written, and where the list and the figures stand in an answer.
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import type { DecodeContext } from "../interface/encoded-request.ts";
import type { TaskForm } from "../interface/task-form.ts";
import { StreamError, type UpstreamFailure } from "../interface/upstream-failure.ts";
import { rankedDocuments, type RerankInputs, rerankInputs } from "./ranking.ts";
import { answerWith, inputCount, parseNumbers, taskRequest, toldTokens } from "./task.ts";
import type { RankedDocument } from "./task-values.ts";

export interface TextRanking extends Pick<TaskForm<RankedDocument>, "docs" | "searchUnits"> {
  /** The parameters beside those of every rerank; none when absent. */
  readonly takes?: ReadonlySet<string>;
  write(asked: RerankInputs, target: Target): { readonly url: string; readonly body: JsonObject };
  /** Throws MalformedAnswer for what is no answer. */
  read(answer: Json): {
    readonly ranked: Json | undefined;
    /** The member of each with its score; `relevance_score` when absent. */
    readonly score?: string;
    readonly tokens?: Json | undefined;
    readonly searchUnits?: Json | undefined;
    readonly model?: Json | undefined;
  };
  /** The error that came inside a 200; `null` for an answer. Absent where none comes so. */
  failureIn?(answer: Json, body: string): UpstreamFailure | null;
}

export function textRanking(form: TextRanking): TaskForm<RankedDocument> {
  const { docs, takes = new Set(), searchUnits } = form;
  return {
    docs,
    mostInputs: Number.POSITIVE_INFINITY,
    takes,
    ...(searchUnits !== undefined && { searchUnits }),
    encode(request, target) {
      const asked = rerankInputs(request);
      const { url, body } = form.write(asked, target);
      return {
        request: taskRequest(url, body, request, target, new Set()),
        memo: {
          inputs: asked.documents.length,
          asked: Math.min(asked.topN ?? Number.POSITIVE_INFINITY, asked.documents.length),
        },
      };
    },
    decode(body, context) {
      const value = parseNumbers(body);
      const failure = form.failureIn?.(value, body) ?? null;
      if (failure !== null) throw new StreamError(failure);
      const { ranked, score = "relevance_score", tokens, searchUnits: told, model = null } = form.read(value);
      const units = toldTokens(told);
      const counted = { tokens: toldTokens(tokens), ...(units !== null && { searchUnits: units }), model };
      return answerWith(counted, () => rankedDocuments(ranked, score, inputCount(context), askedCount(context)));
    },
  };
}

/** Returns how many documents a request asked for. */
function askedCount({ memo }: DecodeContext): number {
  return isObject(memo) && typeof memo["asked"] === "number" ? memo["asked"] : 0;
}
