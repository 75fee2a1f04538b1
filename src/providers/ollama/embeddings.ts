// Ollama's embeddings: https://docs.ollama.com/api/embed
import type { ChatRequest } from "../../core/chat.ts";
import type { Json } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { DIMENSIONS, dimensionsIn } from "../embedding-parameters.ts";
import { MalformedAnswer, StreamError, type TaskForm, type Vector } from "../provider.ts";
import { requireSentObject } from "../sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../task.ts";
import { orderedVectors } from "../vector.ts";
import { classifyError } from "./errors.ts";

export const embeddings: TaskForm<Vector> = {
  docs: "https://docs.ollama.com/api/embed",
  mostInputs: 2048,
  takes: DIMENSIONS,
  encode(request: ChatRequest, target: Target) {
    const input = textInputs(request, "Ollama");
    const dimensions = dimensionsIn(request);
    const body = { model: target.model, input, ...(dimensions !== undefined && { dimensions }) };
    const { baseUrl } = target;
    const url = baseUrl.endsWith("/api") ? `${baseUrl}/embed` : `${baseUrl}/api/embed`;
    return { request: taskRequest(url, body, request, target, DIMENSIONS), memo: { inputs: input.length } };
  },
  decode(body, context) {
    const {
      embeddings: list,
      prompt_eval_count: tokens,
      model,
      error,
    } = requireSentObject(parseNumbers(body), "answer");
    if (typeof error === "string") throw new StreamError(classifyError({ status: 200, body }));
    if (!Array.isArray(list)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
    return {
      values: orderedVectors(list as readonly Json[], inputCount(context)),
      tokens: toldTokens(tokens),
      model,
    };
  },
};
