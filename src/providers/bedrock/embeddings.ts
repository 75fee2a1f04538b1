// Embeddings on Amazon Bedrock, which models take by InvokeModel in forms of their own:
// https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import {
  BOTH,
  DIMENSIONS,
  dimensionsIn,
  INPUT_TYPE,
  inputTypeIn,
  type InputTypeWords,
  NEITHER,
} from "../tasks/embedding-parameters.ts";
import type { TaskForm } from "../task-form.ts";
import { MalformedAnswer } from "../upstream-failure.ts";
import type { Vector } from "../tasks/task-values.ts";
import { requireSentObject } from "../answers/sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../tasks/task.ts";
import { orderedVectors } from "../tasks/vector.ts";
import { modelUrl } from "./address.ts";

const LABEL = "Amazon Bedrock";
/** Where InvokeModel reports tokens for models whose answers do not: the page above. */
const TOKEN_HEADER = "x-amzn-bedrock-input-token-count";

function titan(takes: ReadonlySet<string>): TaskForm<Vector> {
  return {
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html",
    mostInputs: 1,
    takes,
    tokenHeader: TOKEN_HEADER,
    encode(request: ChatRequest, target: Target) {
      const [inputText = ""] = textInputs(request, LABEL);
      const dimensions = dimensionsIn(request);
      const body = { inputText, ...(dimensions !== undefined && { dimensions }) };
      return { request: taskRequest(modelUrl(target, "invoke"), body, request, target, BOTH), memo: { inputs: 1 } };
    },
    decode(body) {
      const { embedding, inputTextTokenCount: tokens } = requireSentObject(parseNumbers(body), "answer");
      return { values: orderedVectors([embedding], 1), tokens: toldTokens(tokens), model: null };
    },
  };
}

const COHERE_WORDS: InputTypeWords = {
  search_document: "search_document",
  search_query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

function cohere(takes: ReadonlySet<string>): TaskForm<Vector> {
  return {
    docs: "https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html",
    mostInputs: 96,
    takes,
    tokenHeader: TOKEN_HEADER,
    encode(request: ChatRequest, target: Target) {
      const texts = textInputs(request, LABEL);
      const dimensions = dimensionsIn(request);
      const body: JsonObject = {
        texts,
        input_type: inputTypeIn(COHERE_WORDS, request, LABEL) ?? "search_document",
        ...(dimensions !== undefined && { output_dimension: dimensions }),
        ...(takes === BOTH && { embedding_types: ["float"] }),
      };
      return {
        request: taskRequest(modelUrl(target, "invoke"), body, request, target, BOTH),
        memo: { inputs: texts.length },
      };
    },
    decode(body, context) {
      const { embeddings: all } = requireSentObject(parseNumbers(body), "answer");
      const floats = isObject(all) ? all["float"] : all;
      if (!Array.isArray(floats)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
      return { values: orderedVectors(floats as readonly Json[], inputCount(context)), tokens: null, model: null };
    },
  };
}

const NOVA_PURPOSES: InputTypeWords = {
  search_document: "GENERIC_INDEX",
  search_query: "GENERIC_RETRIEVAL",
  classification: "CLASSIFICATION",
  clustering: "CLUSTERING",
};

const nova: TaskForm<Vector> = {
  docs: "https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html",
  mostInputs: 1,
  takes: BOTH,
  tokenHeader: TOKEN_HEADER,
  encode(request: ChatRequest, target: Target) {
    const [value = ""] = textInputs(request, LABEL);
    const dimensions = dimensionsIn(request);
    const body: JsonObject = {
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: {
        embeddingPurpose: inputTypeIn(NOVA_PURPOSES, request, LABEL) ?? "GENERIC_INDEX",
        ...(dimensions !== undefined && { embeddingDimension: dimensions }),
        text: { truncationMode: "NONE", value },
      },
    };
    return { request: taskRequest(modelUrl(target, "invoke"), body, request, target, BOTH), memo: { inputs: 1 } };
  },
  decode(body) {
    const { embeddings: list, inputTokenCount: tokens } = requireSentObject(parseNumbers(body), "answer");
    const [first] = Array.isArray(list) ? (list as readonly Json[]) : [];
    return {
      values: orderedVectors([isObject(first) ? first["embedding"] : undefined], 1),
      tokens: toldTokens(tokens),
      model: null,
    };
  },
};

const TITAN_1 = titan(NEITHER);
const TITAN_2 = titan(DIMENSIONS);
const COHERE_3 = cohere(INPUT_TYPE);
const COHERE_4 = cohere(BOTH);

/** Profiles of several regions have a prefix, such as `us.cohere.embed-v4:0`. */
export function embeddings(model: string): TaskForm<Vector> | null {
  if (/amazon\.titan-embed-text-v2/.test(model)) return TITAN_2;
  if (/amazon\.titan-embed-(?:g1-)?text/.test(model)) return TITAN_1;
  if (/amazon\.nova.*embed/.test(model)) return nova;
  if (/cohere\.embed-v4/.test(model)) return COHERE_4;
  return /cohere\.embed/.test(model) ? COHERE_3 : null;
}
