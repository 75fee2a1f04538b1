// Gemini's embeddings, many texts in one request: https://ai.google.dev/api/embeddings
import { isObject } from "../../core/json.ts";
import { BOTH, type InputTypeWords } from "../tasks/embedding-parameters.ts";
import { membersOf, textEmbeddings } from "../tasks/text-embeddings.ts";
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

export const embeddings = textEmbeddings({
  docs: "https://ai.google.dev/api/embeddings",
  label: "Google Gemini",
  mostInputs: 100,
  takes: BOTH,
  inputTypes: TASK_TYPES,
  write({ texts, dimensions, inputType }, target) {
    const model = /^(models|tunedModels)\//.test(target.model) ? target.model : `models/${target.model}`;
    const requests = texts.map((text) => ({
      model,
      content: { parts: [{ text }] },
      ...(inputType !== undefined && { taskType: inputType }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    }));
    const path = model.split("/").map(encodeURIComponent).join("/");
    return { url: `${versionedBase(target, "v1beta")}/${path}:batchEmbedContents`, body: { requests } };
  },
  read: ({ embeddings: list, usageMetadata: usage }) => ({
    vectors: membersOf(list, "values"),
    tokens: isObject(usage) ? usage["promptTokenCount"] : undefined,
  }),
  failure: { isIn: ({ error }) => isObject(error), classify: classifyError },
});
