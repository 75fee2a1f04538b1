// Open models as a service and Mistral's models on Vertex AI. Both use OpenAI's API, at addresses of two kinds.
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis,
// https://docs.mistral.ai/deployment/cloud/vertex/
import type { Target } from "../../core/target.ts";
import { likeVllm } from "../openai-compatible/conversation.ts";
import { openAICompatibleProvider } from "../openai-compatible/provider.ts";
import type { OpenAICompatibleRow } from "../openai-compatible/row.ts";
import { mistral as mistralRow, MISTRAL_CALL_IDS } from "../openai-compatible/rows/mistral.ts";
import type { Provider } from "../interface/provider.ts";
import { GLOBAL_ADDRESS, pathStep, vertexAddress } from "./address.ts";
import { ownName } from "./models.ts";
import { BEYOND_IMAGES, OPENAI_ONLY } from "../openai-compatible/features.ts";

const DEFAULT_VERSION = "v1";

const COMMON = {
  id: "vertex",
  vendor: "gcp.vertex_ai",
  label: "Google Vertex AI",
  docs: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/maas/call-open-model-apis",
  baseUrl: GLOBAL_ADDRESS,
  keyVariables: [],
  conversation: likeVllm(),
  lacks: [...OPENAI_ONLY, ...BEYOND_IMAGES],
} as const satisfies OpenAICompatibleRow;

export const openModels: Provider = openAICompatibleProvider({
  ...COMMON,
  takesDeveloper: true,
  hooks: {
    address: (target) =>
      vertexAddress(target, { path: "endpoints/openapi/chat/completions", version: DEFAULT_VERSION, express: false }),
  },
});

const mistral = openAICompatibleProvider({
  ...COMMON,
  docs: "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/mistral",
  conversation: mistralRow.conversation,
  callIds: MISTRAL_CALL_IDS,
  renames: { seed: "random_seed", max_completion_tokens: "max_tokens" },
  lacks: [...COMMON.lacks, "stream_options", "logit_bias", "logprobs", "top_logprobs", "user"],
  reserved: ["random_seed"],
  hooks: {
    address: (target, { params }) =>
      vertexAddress(target, {
        path: `publishers/mistralai/models/${pathStep(target.model)}:${params.stream === true ? "streamRawPredict" : "rawPredict"}`,
        version: DEFAULT_VERSION,
        express: false,
      }),
  },
});

/** Body and address name the model without its maker. */
export const mistralModels: Provider = {
  ...mistral,
  encodeRequest: (request, target: Target) =>
    mistral.encodeRequest(request, { ...target, model: ownName(target.model) }),
};
