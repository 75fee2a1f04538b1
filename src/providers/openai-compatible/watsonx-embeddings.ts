// Embeddings of IBM watsonx.ai, in a form of its own: https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings
import type { ChatRequest } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import type { Target } from "../../core/target.ts";
import { NEITHER } from "../embedding-parameters.ts";
import { MalformedAnswer, type TaskForm, type Tasks, type Vector } from "../provider.ts";
import { requireSentObject } from "../sent-json.ts";
import { inputCount, parseNumbers, taskRequest, textInputs, toldTokens } from "../task.ts";
import { orderedVectors } from "../vector.ts";

/** `modelOf` returns the members that name the model and who pays; `version` is the version of the API by default. */
export function watsonxEmbeddings(
  modelOf: (target: Target, request: ChatRequest) => JsonObject,
  version: string,
): NonNullable<Tasks["embeddings"]> {
  const form: TaskForm<Vector> = {
    docs: "https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings",
    mostInputs: 1000,
    takes: NEITHER,
    encode(request, target) {
      const inputs = textInputs(request, "IBM watsonx.ai");
      const url = `${target.baseUrl}/ml/v1/text/embeddings?version=${target.settings["api_version"] ?? version}`;
      const body: JsonObject = { ...modelOf(target, request), inputs };
      return { request: taskRequest(url, body, request, target, NEITHER), memo: { inputs: inputs.length } };
    },
    decode(body, context) {
      const { results, input_token_count: tokens, model_id: model } = requireSentObject(parseNumbers(body), "answer");
      if (!Array.isArray(results)) throw new MalformedAnswer("The provider's answer has no list of vectors.");
      const vectors = (results as readonly Json[]).map((one) => (isObject(one) ? one["embedding"] : undefined));
      return { values: orderedVectors(vectors, inputCount(context)), tokens: toldTokens(tokens), model };
    },
  };
  return () => form;
}
