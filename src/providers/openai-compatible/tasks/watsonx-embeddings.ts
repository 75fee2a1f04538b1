// Embeddings of IBM watsonx.ai, in a form of its own: https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings
import type { ChatRequest } from "../../../core/chat.ts";
import type { JsonObject } from "../../../core/json.ts";
import type { Target } from "../../../core/target.ts";
import { NEITHER } from "../../tasks/embedding-parameters.ts";
import type { Tasks } from "../../interface/task-form.ts";
import { membersOf, textEmbeddings } from "../../tasks/text-embeddings.ts";

/** `modelOf` returns the members that name the model and who pays; `version` is the version of the API by default. */
export function watsonxEmbeddings(
  modelOf: (target: Target, request: ChatRequest) => JsonObject,
  version: string,
): NonNullable<Tasks["embeddings"]> {
  const form = textEmbeddings({
    docs: "https://cloud.ibm.com/apidocs/watsonx-ai#text-embeddings",
    label: "IBM watsonx.ai",
    mostInputs: 1000,
    takes: NEITHER,
    write: ({ texts, request }, target) => ({
      url: `${target.baseUrl}/ml/v1/text/embeddings?version=${target.settings["api_version"] ?? version}`,
      body: { ...modelOf(target, request), inputs: texts },
    }),
    read: ({ results, input_token_count: tokens, model_id: model }) => ({
      vectors: membersOf(results, "embedding"),
      tokens,
      model,
    }),
  });
  return () => form;
}
