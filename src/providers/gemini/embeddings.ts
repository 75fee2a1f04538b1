// Gemini's embeddings, many texts in one request: https://ai.google.dev/api/embeddings
import type { ChatRequest } from "../../core/chat.ts";
import type { Json } from "../../core/json.ts";
import { isObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { BOTH, dimensionsIn, inputTypeIn, type InputTypeWords } from "../embedding-parameters.ts";
import { MalformedAnswer, StreamError, type TaskForm, type Vector } from "../provider.ts";
import { requireSentObject } from "../sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../task.ts";
import { orderedVectors } from "../vector.ts";
import { versionedBase } from "./address.ts";
import { classifyError } from "./errors.ts";

/** https://ai.google.dev/api/embeddings#v1beta.TaskType */
export const TASK_TYPES: InputTypeWords = {
  search_document: "RETRIEVAL_DOCUMENT",
  search_query: "RETRIEVAL_QUERY",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
  semantic_similarity: "SEMANTIC_SIMILARITY",
};

export const embeddings: TaskForm<Vector> = {
  docs: "https://ai.google.dev/api/embeddings",
  mostInputs: 100,
  takes: BOTH,
  encode(request: ChatRequest, target: Target) {
    const texts = textInputs(request, "Google Gemini");
    const model = /^(models|tunedModels)\//.test(target.model) ? target.model : `models/${target.model}`;
    const taskType = inputTypeIn(TASK_TYPES, request, "Google Gemini");
    const dimensions = dimensionsIn(request);
    const requests = texts.map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(taskType !== undefined && { taskType }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    }));
    const url = `${versionedBase(target, "v1beta")}/${model.split("/").map(encodeURIComponent).join("/")}:batchEmbedContents`;
    return { request: taskRequest(url, { requests }, request, target, BOTH), memo: { inputs: texts.length } };
  },
  decode(body, context) {
    const { embeddings: list, usageMetadata: usage, error } = requireSentObject(parseNumbers(body), "answer");
    if (isObject(error)) throw new StreamError(classifyError({ status: 200, body }));
    if (!Array.isArray(list)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
    const vectors = (list as readonly Json[]).map((one) => (isObject(one) ? one["values"] : undefined));
    return {
      values: orderedVectors(vectors, inputCount(context)),
      tokens: toldTokens(isObject(usage) ? usage["promptTokenCount"] : undefined),
      model: null,
    };
  },
};
