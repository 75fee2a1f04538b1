// All raw prompt endpoints. An endpoint that its vendor serves beside chat has the id `<id>-generate` and uses the same
// key.
import { mapped, native } from "../../core/capability.ts";
import { baseOf } from "../openai-compatible/encode-request.ts";
import type { OpenAICompatibleRow } from "../openai-compatible/row.ts";
import type { Provider, RawPrompts } from "../interface/provider.ts";
import { AS_MANY_CALLS } from "./cells.ts";
import { ollamaForm } from "./ollama-form.ts";
import { openaiForm } from "./openai-form.ts";
import { completionProvider } from "./provider.ts";
import { OTHER_ENDPOINTS } from "./other-endpoints.ts";
import { rawPromptsAt } from "./raw-prompts.ts";
import type { CompletionForm, CompletionRow, PromptEndpoint, PromptsOf } from "./row.ts";
import { endpointForm, tgiForm } from "./tgi-form.ts";

const DATE = "2026-11-20";

interface Row extends Omit<CompletionRow, "id" | "form" | "keyVariables" | "verified" | "chat"> {
  /** OpenAI's when absent. */
  readonly form?: CompletionForm;
  /** None when absent. */
  readonly keyVariables?: CompletionRow["keyVariables"];
  /** The page against which the row was checked. */
  readonly source: string;
  /** What differs from all models of the vendor's chat row; `null` when its models take no raw prompts there. */
  readonly chat?: Omit<PromptsOf, "id"> | null;
}

/** `of` is the id of the vendor's chat row. */
function rowOf(of: string, { form = openaiForm, keyVariables = [], source, chat = {}, ...row }: Row): CompletionRow {
  return {
    ...row,
    id: `${of}-generate`,
    form,
    keyVariables,
    verified: { source, date: DATE },
    ...(chat !== null && { chat: { ...chat, id: of } }),
  };
}

/** The models of the vendor that take raw prompts, and what was fine-tuned of them. */
const OPENAI_MODELS = /^(ft:)?(gpt-3[.]?5-turbo-instruct|davinci-002|babbage-002)/;

const openai = rowOf("openai", {
  vendor: "openai",
  label: "OpenAI completions",
  docs: "https://platform.openai.com/docs/api-reference/completions/create",
  baseUrl: "https://api.openai.com/v1",
  keyVariables: ["OPENAI_API_KEY"],
  source: "https://developers.openai.com/api/reference/go/resources/completions/methods/create",
  cells: { stop: mapped("sent as an array, up to 4") },
  prompts: { several: true, tokens: true, takes: ["echo", "suffix", "best_of"] },
  chat: { models: OPENAI_MODELS, alone: true },
});

/** At most 4K tokens: https://api-docs.deepseek.com/guides/fim_completion */
const deepseek = rowOf("deepseek", {
  vendor: "deepseek",
  label: "DeepSeek completions (beta)",
  docs: "https://api-docs.deepseek.com/api/create-completion",
  baseUrl: "https://api.deepseek.com/beta",
  keyVariables: ["DEEPSEEK_API_KEY"],
  source: "https://api-docs.deepseek.com/api/create-completion",
  lacks: ["logit_bias", "seed", "user"],
  cells: { n: AS_MANY_CALLS },
  prompts: { takes: ["echo", "suffix"] },
  chat: {
    models: /^(?!.*reasoner)/,
    address: ({ baseUrl }) => `${baseUrl.replace(/\/(v1|beta)$/, "")}/beta/completions`,
  },
});

const together = rowOf("together", {
  label: "Together AI completions",
  docs: "https://docs.together.ai/reference/completions",
  baseUrl: "https://api.together.xyz/v1",
  keyVariables: ["TOGETHER_API_KEY", "TOGETHER_AI_API_KEY", "TOGETHERAI_API_KEY"],
  source: "https://github.com/togethercomputer/openapi/blob/main/openapi.yaml",
  lacks: ["user"],
  fewestLogprobs: 1,
  bosInPrompt: true,
  prompts: { takes: ["echo"] },
});

const fireworks = rowOf("fireworks", {
  label: "Fireworks AI completions",
  docs: "https://docs.fireworks.ai/api-reference/post-completions",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  keyVariables: ["FIREWORKS_API_KEY"],
  source: "https://docs.fireworks.ai/api-reference/post-completions",
  jsonOutput: "response_format",
  prompts: { several: true, tokens: true, takes: ["echo"] },
});

const vllm = rowOf("vllm", {
  label: "vLLM completions",
  docs: "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
  baseUrl: "http://localhost:8000/v1",
  source: "https://github.com/vllm-project/vllm/blob/main/vllm/entrypoints/openai/completion/protocol.py",
  jsonOutput: "response_format",
  prompts: { several: true, tokens: true, takes: ["echo"] },
});

const sglang = rowOf("sglang", {
  label: "SGLang completions",
  docs: "https://docs.sglang.io/basic_usage/openai_api_completions.html",
  baseUrl: "http://localhost:30000/v1",
  source: "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/entrypoints/openai/protocol.py",
  jsonOutput: "response_format",
  prompts: { several: true, tokens: true, takes: ["echo"] },
});

/** The server has no `echo` and no `suffix`, and 0 requests no log probabilities at all. */
const llamacpp = rowOf("llamacpp", {
  label: "llama.cpp completions",
  docs: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
  baseUrl: "http://localhost:8080/v1",
  source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/server-common.cpp",
  lacks: ["user"],
  cells: { n: native("recent servers only; requires as many parallel slots") },
  jsonOutput: "json_schema",
  fewestLogprobs: 1,
  prompts: { tokens: true },
});

const lmstudio = rowOf("lmstudio", {
  label: "LM Studio completions",
  docs: "https://lmstudio.ai/docs/developer/openai-compat/completions",
  baseUrl: "http://localhost:1234/v1",
  source: "https://lmstudio.ai/docs/developer/openai-compat/chat-completions",
  lacks: ["user", "logprobs", "top_logprobs"],
  cells: { n: AS_MANY_CALLS },
  prompts: {},
});

const tgi = rowOf("tgi", {
  label: "Text Generation Inference (generate)",
  docs: "https://huggingface.co/docs/text-generation-inference",
  form: tgiForm,
  baseUrl: "http://localhost:8080",
  source: "https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json",
  prompts: {},
  chat: {
    // its chat completions are below a version
    address: ({ baseUrl }, { params }) =>
      `${baseUrl.replace(/\/v1$/, "")}/${params.stream === true ? "generate_stream" : "generate"}`,
  },
});

/**
 * A dedicated endpoint, because the serverless API has had no text generation since July 2025
 * (https://docs.haystack.deepset.ai/docs/huggingfaceapigenerator).
 */
const huggingface = rowOf("huggingface", {
  label: "Hugging Face Inference Endpoints (text generation)",
  docs: "https://huggingface.co/docs/inference-endpoints",
  form: endpointForm,
  baseUrl: null,
  keyVariables: ["HF_TOKEN"],
  source: "https://github.com/huggingface/text-generation-inference/blob/main/docs/openapi.json",
  prompts: {},
  chat: null,
});

const ollama = rowOf("ollama", {
  label: "Ollama (generate)",
  docs: "https://docs.ollama.com/api/generate",
  form: ollamaForm,
  baseUrl: "http://localhost:11434",
  source: "https://github.com/ollama/ollama/blob/main/api/types.go",
  prompts: { takes: ["suffix"] },
});

export const completionRows: readonly CompletionRow[] = [
  openai,
  deepseek,
  together,
  fireworks,
  vllm,
  sglang,
  llamacpp,
  lmstudio,
  tgi,
  huggingface,
  ollama,
];

export const completionProviders: readonly Provider[] = completionRows.map(completionProvider);

/** Endpoints with the models of another provider whose raw prompts they take. */
const ENDPOINTS: readonly (readonly [PromptsOf, PromptEndpoint])[] = [
  ...completionRows.flatMap((row) => (row.chat === undefined ? [] : [[row.chat, row] as const])),
  ...OTHER_ENDPOINTS,
];

const BY_PROVIDER: ReadonlyMap<string, PromptsOf & { readonly prompts: RawPrompts }> = new Map(
  ENDPOINTS.map(([of, endpoint]) => [of.id, { ...of, prompts: rawPromptsAt(endpoint, of) }]),
);
const COMPATIBLE: PromptEndpoint = {
  docs: openai.docs,
  form: openaiForm,
  prompts: { several: true, tokens: true, takes: ["echo", "suffix", "best_of"] },
};
const COMPATIBLE_PROMPTS: RawPrompts = rawPromptsAt(COMPATIBLE);

/** What the servers of a row have where the operator says that they take raw prompts. */
export function compatiblePrompts(row: Pick<OpenAICompatibleRow, "barePath">): RawPrompts {
  return row.barePath === undefined
    ? COMPATIBLE_PROMPTS
    : rawPromptsAt({ ...COMPATIBLE, address: (target) => `${baseOf(row, target)}/completions` });
}

/**
 * Returns the provider with what is known of raw prompts to its models. `otherwise` is what it has where only the operator
 * says that a model takes them.
 */
export function withRawPrompts(provider: Provider, otherwise: RawPrompts | null): Provider {
  const known = BY_PROVIDER.get(provider.id);
  if (known === undefined && otherwise === null) return provider;
  return {
    ...provider,
    rawPrompts(model, isSet) {
      if (known !== undefined && (isSet || known.models?.test(model) !== false)) return known.prompts;
      return isSet ? otherwise : null;
    },
  };
}
