// Endpoints for raw prompts that are no providers of their own: only requests that are raw prompts go there. Each names the
// provider whose models take them, and the vendor's page that says so.
import { azureCompletions, azureModel, DEPLOYMENT_PLACE } from "../openai-compatible/rows/azure.ts";
import { openaiForm } from "./openai-form.ts";
import type { PromptEndpoint, PromptsOf, CompletionForm } from "./row.ts";
import { mapped, UNSUPPORTED, same } from "../../core/capability.ts";

/** Mistral's completions of code between a prompt and a suffix, whose answers have the form of its chat completions. */
const fimForm: CompletionForm = {
  ...openaiForm,
  cells: {
    ...openaiForm.cells,
    seed: mapped("random_seed"),
    ...same(
      UNSUPPORTED,
      "n",
      "presence_penalty",
      "frequency_penalty",
      "logit_bias",
      "logprobs",
      "top_logprobs",
      "user",
    ),
  },
  encode(row, request, target, prompt) {
    const { body, memo } = openaiForm.encode(row, request, target, prompt);
    // its streams always end with the usage, and it refuses members that it does not know
    const { seed, stream_options: _options, user: _user, ...rest } = body;
    return {
      url: `${target.baseUrl}/fim/completions`,
      body: { ...rest, ...(seed !== undefined && { random_seed: seed }) },
      memo,
    };
  },
};

type OtherEndpoint = readonly [PromptsOf, PromptEndpoint];

/** It names models by the deployments of the user, which often have the name of the model. */
const azure: OtherEndpoint = [
  { id: "azure", models: /(gpt-?3[.-]?5-turbo-instruct|davinci-002|babbage-002)/i, alone: true },
  {
    docs: "https://learn.microsoft.com/en-us/azure/ai-services/openai/reference",
    form: openaiForm,
    address: azureCompletions,
    model: azureModel,
    cells: { deployment_id: mapped(DEPLOYMENT_PLACE) },
    prompts: { several: true, tokens: true, takes: ["echo", "suffix", "best_of"] },
  },
];

const mistral: OtherEndpoint = [
  { id: "mistral", models: /codestral/i },
  {
    docs: "https://docs.mistral.ai/api/endpoint/fim",
    form: fimForm,
    prompts: { takes: ["suffix"] },
  },
];

const deepinfra: OtherEndpoint = [
  { id: "deepinfra" },
  {
    docs: "https://deepinfra.com/docs/openai_api",
    form: openaiForm,
    prompts: { takes: ["echo"] },
  },
];

const sandbox: OtherEndpoint = [
  { id: "sandbox", models: /^(echo|assistant|words-|slow-|fail-|stall|cut|garbage)/ },
  {
    docs: "https://platform.openai.com/docs/api-reference/completions",
    form: openaiForm,
    prompts: { several: true, tokens: true, takes: ["echo", "suffix", "best_of"] },
    lacks: ["logit_bias"],
  },
];

export const OTHER_ENDPOINTS: readonly OtherEndpoint[] = [azure, mistral, deepinfra, sandbox];
