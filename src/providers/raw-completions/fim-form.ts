// Mistral's completions of code between a prompt and a suffix, whose answers have the form of its chat completions:
// https://docs.mistral.ai/api/endpoint/fim
import { mapped, UNSUPPORTED } from "../../core/capability.ts";
import { openaiForm } from "./openai-form.ts";
import type { CompletionForm } from "./row.ts";

export const fimForm: CompletionForm = {
  ...openaiForm,
  cells: {
    ...openaiForm.cells,
    seed: mapped("random_seed"),
    n: UNSUPPORTED,
    presence_penalty: UNSUPPORTED,
    frequency_penalty: UNSUPPORTED,
    logit_bias: UNSUPPORTED,
    logprobs: UNSUPPORTED,
    top_logprobs: UNSUPPORTED,
    user: UNSUPPORTED,
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
