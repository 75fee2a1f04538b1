// Embeddings on Vertex AI: most models by `predict`, the newest by `embedContent`.
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings,
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { BOTH, dimensionsIn, inputTypeIn } from "../embedding-parameters.ts";
import { TASK_TYPES } from "../gemini/embeddings.ts";
import { MalformedAnswer, StreamError, type TaskForm, type Vector } from "../provider.ts";
import { requireSentObject } from "../sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../task.ts";
import { orderedVectors } from "../vector.ts";
import { pathStep, vertexAddress } from "./address.ts";
import { classifyError } from "./errors.ts";
import { ownName, wireFormOf } from "./models.ts";

const DOCS = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api";

function addressOf(target: Target, method: string): string {
  const path = `publishers/google/models/${pathStep(ownName(target.model))}:${method}`;
  return vertexAddress(target, { path, version: "v1beta1", express: true });
}

/** Models of this form take 250 texts of a request. */
const predicted: TaskForm<Vector> = {
  docs: DOCS,
  mostInputs: 250,
  takes: BOTH,
  encode(request: ChatRequest, target: Target) {
    const texts = textInputs(request, "Google Vertex AI");
    const taskType = inputTypeIn(TASK_TYPES, request, "Google Vertex AI");
    const dimensions = dimensionsIn(request);
    const body: JsonObject = {
      instances: texts.map((content) => ({ content, ...(taskType !== undefined && { task_type: taskType }) })),
      ...(dimensions !== undefined && { parameters: { outputDimensionality: dimensions } }),
    };
    return {
      request: taskRequest(addressOf(target, "predict"), body, request, target, BOTH),
      memo: { inputs: texts.length },
    };
  },
  decode(body, context) {
    const { predictions, error } = requireSentObject(parseNumbers(body), "answer");
    if (isObject(error)) throw new StreamError(classifyError({ status: 200, body }));
    if (!Array.isArray(predictions)) throw new MalformedAnswer("The provider's answer has no list of predictions.");
    const found = (predictions as readonly Json[]).map((one) =>
      isObject(one) && isObject(one["embeddings"]) ? one["embeddings"] : {},
    );
    const counts = found.map(({ statistics }) =>
      toldTokens(isObject(statistics) ? statistics["token_count"] : undefined),
    );
    return {
      values: orderedVectors(
        found.map(({ values }) => values),
        inputCount(context),
      ),
      tokens: counts.includes(null) ? null : counts.reduce<number>((sum, count) => sum + count!, 0),
      model: null,
    };
  },
};

/** The model takes one text of a request: https://docs.cloud.google.com/vertex-ai/generative-ai/docs/embeddings/get-text-embeddings */
const predictedOne: TaskForm<Vector> = { ...predicted, mostInputs: 1 };

const embedded: TaskForm<Vector> = {
  docs: DOCS,
  mostInputs: 1,
  takes: BOTH,
  encode(request: ChatRequest, target: Target) {
    const [text = ""] = textInputs(request, "Google Vertex AI");
    const taskType = inputTypeIn(TASK_TYPES, request, "Google Vertex AI");
    const dimensions = dimensionsIn(request);
    const settings: JsonObject = {
      ...(taskType !== undefined && { taskType }),
      ...(dimensions !== undefined && { outputDimensionality: dimensions }),
    };
    const body: JsonObject = {
      content: { parts: [{ text }] },
      ...(Object.keys(settings).length > 0 && { embedContentConfig: settings }),
    };
    return {
      request: taskRequest(addressOf(target, "embedContent"), body, request, target, BOTH),
      memo: { inputs: 1 },
    };
  },
  decode(body) {
    const { embedding, usageMetadata: usage, error } = requireSentObject(parseNumbers(body), "answer");
    if (isObject(error)) throw new StreamError(classifyError({ status: 200, body }));
    return {
      values: orderedVectors([isObject(embedding) ? embedding["values"] : undefined], 1),
      tokens: toldTokens(isObject(usage) ? usage["promptTokenCount"] : undefined),
      model: null,
    };
  },
};

export function embeddings(model: string): TaskForm<Vector> | null {
  if (wireFormOf(model) !== "gemini" || ownName(model).startsWith("endpoints/")) return null;
  const name = ownName(model);
  if (name.startsWith("gemini-embedding-2")) return embedded;
  return name.startsWith("gemini-embedding") ? predictedOne : predicted;
}
