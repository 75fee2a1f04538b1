// Embeddings on Vertex AI: most models by `predict`, the newest by `embedContent`.
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { BOTH } from "../tasks/embedding-parameters.ts";
import { TASK_TYPES } from "../gemini/embeddings.ts";
import type { TaskForm } from "../interface/task-form.ts";
import type { Vector } from "../tasks/task-values.ts";
import { toldTokens } from "../tasks/task.ts";
import { membersOf, textEmbeddings } from "../tasks/text-embeddings.ts";
import { pathStep, vertexAddress } from "./address.ts";
import { classifyError } from "./errors.ts";
import { ownName, wireFormOf } from "./models.ts";

const DOCS = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api";

function addressOf(target: Target, method: string): string {
  const path = `publishers/google/models/${pathStep(ownName(target.model))}:${method}`;
  return vertexAddress(target, { path, version: "v1beta1", express: true });
}

const FAILURE = { isIn: ({ error }: JsonObject) => isObject(error), classify: classifyError };

/** `mostInputs`: most models of this form take 250 texts of a request. */
function predicted(mostInputs: number): TaskForm<Vector> {
  return textEmbeddings({
    docs: DOCS,
    label: "Google Vertex AI",
    mostInputs,
    takes: BOTH,
    inputTypes: TASK_TYPES,
    write: ({ texts, dimensions, inputType }, target) => ({
      url: addressOf(target, "predict"),
      body: {
        instances: texts.map((content) => ({ content, ...(inputType !== undefined && { task_type: inputType }) })),
        ...(dimensions !== undefined && { parameters: { outputDimensionality: dimensions } }),
      },
    }),
    read({ predictions }) {
      const made = membersOf(predictions, "embeddings");
      if (!Array.isArray(made)) return { vectors: made, tokens: undefined };
      const found = (made as readonly (Json | undefined)[]).map((one) => (isObject(one) ? one : {}));
      const counts = found.map(({ statistics }) =>
        toldTokens(isObject(statistics) ? statistics["token_count"] : undefined),
      );
      return {
        vectors: found.map(({ values }) => values),
        tokens: counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + count!, 0),
      };
    },
    failure: FAILURE,
  });
}

const MANY = predicted(250);
/** The model takes one text of a request: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings */
const ONE = predicted(1);

const embedded = textEmbeddings({
  docs: DOCS,
  label: "Google Vertex AI",
  mostInputs: 1,
  takes: BOTH,
  inputTypes: TASK_TYPES,
  write({ texts, dimensions, inputType }, target) {
    const settings: JsonObject = {
      ...(inputType !== undefined && { taskType: inputType }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    };
    const body: JsonObject = {
      content: { parts: [{ text: texts[0] ?? "" }] },
      ...(Object.keys(settings).length > 0 && { embedContentConfig: settings }),
    };
    return { url: addressOf(target, "embedContent"), body };
  },
  read: ({ embedding, usageMetadata: usage }) => ({
    vectors: [isObject(embedding) ? embedding["values"] : undefined],
    tokens: isObject(usage) ? usage["promptTokenCount"] : undefined,
  }),
  failure: FAILURE,
});

export function embeddings(model: string): TaskForm<Vector> | null {
  if (wireFormOf(model) !== "gemini" || ownName(model).startsWith("endpoints/")) return null;
  const name = ownName(model);
  if (name.startsWith("gemini-embedding-2")) return embedded;
  return name.startsWith("gemini-embedding") ? ONE : MANY;
}
