// Cohere's embeddings, version 2: https://docs.cohere.com/reference/embed
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { BOTH, dimensionsIn, inputTypeIn, type InputTypeWords } from "../embedding-parameters.ts";
import { MalformedAnswer, StreamError, type TaskForm, type Vector } from "../provider.ts";
import { requireSentObject } from "../sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../task.ts";
import { orderedVectors } from "../vector.ts";
import { versionedPath } from "./address.ts";
import { classifyError } from "./errors.ts";

const WORDS: InputTypeWords = {
  search_document: "search_document",
  search_query: "search_query",
  classification: "classification",
  clustering: "clustering",
};

export const embeddings: TaskForm<Vector> = {
  docs: "https://docs.cohere.com/reference/embed",
  mostInputs: 96,
  takes: BOTH,
  encode(request: ChatRequest, target: Target) {
    const texts = textInputs(request, "Cohere");
    const dimensions = dimensionsIn(request);
    const body = {
      model: target.model,
      texts,
      // the vendor requires it; clients of OpenAI's form mostly embed what is searched later
      input_type: inputTypeIn(WORDS, request, "Cohere") ?? "search_document",
      embedding_types: ["float"],
      ...(dimensions !== undefined && { output_dimension: dimensions }),
    };
    const url = versionedPath(target.baseUrl, "embed");
    return { request: taskRequest(url, body, request, target, BOTH), memo: { inputs: texts.length } };
  },
  decode(body, context) {
    const answer = requireSentObject(parseNumbers(body), "answer");
    const { embeddings: all, meta } = answer;
    if (all === undefined && typeof answer["message"] === "string")
      throw new StreamError(classifyError({ status: 200, body }));
    const floats = isObject(all) ? all["float"] : all;
    if (!Array.isArray(floats)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
    const billed = isObject(meta) && isObject(meta["billed_units"]) ? meta["billed_units"]["input_tokens"] : undefined;
    return {
      values: orderedVectors(floats as readonly Json[], inputCount(context)),
      tokens: toldTokens(billed),
      model: null,
    };
  },
};
