// What LiteLLM calls the providers: the part of a model's name before the first slash.
// https://docs.litellm.ai/docs/providers

export interface ProviderName {
  /** Of this gateway. */
  readonly family: string;
  /** The environment variable that LiteLLM reads where a deployment has no key. */
  readonly keyVariable?: string;
  /** Of the family `custom`: the address that LiteLLM calls where a deployment has none. */
  readonly address?: string;
}

/** A vendor that speaks OpenAI's API, and that has no row of its own here. */
const speaker = (address: string, keyVariable: string): ProviderName => ({ family: "custom", address, keyVariable });

const NAMES: Readonly<Record<string, ProviderName>> = {
  abliteration: speaker("https://api.abliteration.ai/v1", "ABLITERATION_API_KEY"),
  ai21: { family: "ai21", keyVariable: "AI21_API_KEY" },
  ai21_chat: { family: "ai21", keyVariable: "AI21_API_KEY" },
  aiml: speaker("https://api.aimlapi.com/v1", "AIML_API_KEY"),
  amazon_nova: speaker("https://api.nova.amazon.com/v1", "AMAZON_NOVA_API_KEY"),
  anthropic: { family: "anthropic", keyVariable: "ANTHROPIC_API_KEY" },
  anthropic_text: { family: "anthropic", keyVariable: "ANTHROPIC_API_KEY" },
  apertis: speaker("https://api.stima.tech/v1", "STIMA_API_KEY"),
  azure: { family: "azure", keyVariable: "AZURE_API_KEY" },
  azure_text: { family: "azure", keyVariable: "AZURE_API_KEY" },
  azure_ai: { family: "azure_ai", keyVariable: "AZURE_AI_API_KEY" },
  baseten: { family: "baseten", keyVariable: "BASETEN_API_KEY" },
  bedrock: { family: "bedrock" },
  bedrock_converse: { family: "bedrock" },
  bedrock_mantle: { family: "bedrock-mantle", keyVariable: "BEDROCK_MANTLE_API_KEY" },
  cerebras: { family: "cerebras", keyVariable: "CEREBRAS_API_KEY" },
  chutes: { family: "chutes", keyVariable: "CHUTES_API_KEY" },
  cloudflare: { family: "cloudflare", keyVariable: "CLOUDFLARE_API_KEY" },
  codestral: { family: "mistral", keyVariable: "CODESTRAL_API_KEY" },
  cohere: { family: "cohere", keyVariable: "COHERE_API_KEY" },
  cohere_chat: { family: "cohere", keyVariable: "COHERE_API_KEY" },
  compactifai: speaker("https://api.compactif.ai/v1", "COMPACTIFAI_API_KEY"),
  custom_openai: { family: "custom" },
  dashscope: { family: "dashscope", keyVariable: "DASHSCOPE_API_KEY" },
  databricks: { family: "databricks", keyVariable: "DATABRICKS_API_KEY" },
  deepinfra: { family: "deepinfra", keyVariable: "DEEPINFRA_API_KEY" },
  deepseek: { family: "deepseek", keyVariable: "DEEPSEEK_API_KEY" },
  docker_model_runner: speaker("http://localhost:22088/engines/llama.cpp/v1", "DOCKER_MODEL_RUNNER_API_KEY"),
  empower: speaker("https://app.empower.dev/api/v1", "EMPOWER_API_KEY"),
  featherless_ai: { family: "featherless", keyVariable: "FEATHERLESS_AI_API_KEY" },
  fireworks_ai: { family: "fireworks", keyVariable: "FIREWORKS_API_KEY" },
  friendliai: { family: "friendli", keyVariable: "FRIENDLI_TOKEN" },
  galadriel: speaker("https://api.galadriel.com/v1", "GALADRIEL_API_KEY"),
  gemini: { family: "gemini", keyVariable: "GEMINI_API_KEY" },
  github: speaker("https://models.inference.ai.azure.com", "GITHUB_API_KEY"),
  github_copilot: { family: "copilot", keyVariable: "GITHUB_COPILOT_API_KEY" },
  gmi: { family: "gmi", keyVariable: "GMI_API_KEY" },
  gradient_ai: { family: "digitalocean", keyVariable: "GRADIENT_AI_API_KEY" },
  groq: { family: "groq", keyVariable: "GROQ_API_KEY" },
  helicone: speaker("https://ai-gateway.helicone.ai", "HELICONE_API_KEY"),
  heroku: { family: "heroku", keyVariable: "HEROKU_API_KEY" },
  hosted_vllm: { family: "vllm", keyVariable: "HOSTED_VLLM_API_KEY" },
  huggingface: { family: "huggingface", keyVariable: "HF_TOKEN" },
  hyperbolic: { family: "hyperbolic", keyVariable: "HYPERBOLIC_API_KEY" },
  jina_ai: { family: "jina", keyVariable: "JINA_AI_API_KEY" },
  lambda_ai: speaker("https://api.lambda.ai/v1", "LAMBDA_API_KEY"),
  litellm_proxy: { family: "litellm", keyVariable: "LITELLM_PROXY_API_KEY" },
  llamafile: { family: "custom" },
  llamagate: speaker("https://api.llamagate.dev/v1", "LLAMAGATE_API_KEY"),
  lm_studio: { family: "lmstudio", keyVariable: "LM_STUDIO_API_KEY" },
  meta_llama: speaker("https://api.llama.com/compat/v1", "LLAMA_API_KEY"),
  minimax: { family: "minimax", keyVariable: "MINIMAX_API_KEY" },
  mistral: { family: "mistral", keyVariable: "MISTRAL_API_KEY" },
  moonshot: { family: "moonshot", keyVariable: "MOONSHOT_API_KEY" },
  morph: { family: "morph", keyVariable: "MORPH_API_KEY" },
  "nano-gpt": { family: "nanogpt", keyVariable: "NANOGPT_API_KEY" },
  nebius: { family: "nebius", keyVariable: "NEBIUS_API_KEY" },
  novita: { family: "novita", keyVariable: "NOVITA_API_KEY" },
  nscale: { family: "nscale", keyVariable: "NSCALE_API_KEY" },
  nvidia_nim: { family: "nvidia", keyVariable: "NVIDIA_NIM_API_KEY" },
  ollama: { family: "ollama", keyVariable: "OLLAMA_API_KEY" },
  ollama_chat: { family: "ollama", keyVariable: "OLLAMA_API_KEY" },
  openai: { family: "openai", keyVariable: "OPENAI_API_KEY" },
  openai_like: { family: "custom" },
  openrouter: { family: "openrouter", keyVariable: "OPENROUTER_API_KEY" },
  ovhcloud: { family: "ovhcloud", keyVariable: "OVHCLOUD_API_KEY" },
  perplexity: { family: "perplexity", keyVariable: "PERPLEXITYAI_API_KEY" },
  poe: speaker("https://api.poe.com/v1", "POE_API_KEY"),
  publicai: speaker("https://api.publicai.co/v1", "PUBLICAI_API_KEY"),
  replicate: { family: "replicate", keyVariable: "REPLICATE_API_KEY" },
  sagemaker: { family: "sagemaker" },
  sagemaker_chat: { family: "sagemaker" },
  sambanova: { family: "sambanova", keyVariable: "SAMBANOVA_API_KEY" },
  scaleway: { family: "scaleway", keyVariable: "SCW_SECRET_KEY" },
  snowflake: { family: "snowflake", keyVariable: "SNOWFLAKE_JWT" },
  synthetic: speaker("https://api.synthetic.new/openai/v1", "SYNTHETIC_API_KEY"),
  "text-completion-openai": { family: "openai-generate", keyVariable: "OPENAI_API_KEY" },
  together_ai: { family: "together", keyVariable: "TOGETHERAI_API_KEY" },
  v0: { family: "v0", keyVariable: "V0_API_KEY" },
  veniceai: { family: "venice", keyVariable: "VENICE_AI_API_KEY" },
  vercel_ai_gateway: { family: "vercel", keyVariable: "VERCEL_AI_GATEWAY_API_KEY" },
  vertex_ai: { family: "vertex" },
  vertex_ai_beta: { family: "vertex" },
  vllm: { family: "vllm", keyVariable: "HOSTED_VLLM_API_KEY" },
  volcengine: { family: "volcengine", keyVariable: "VOLCENGINE_API_KEY" },
  voyage: { family: "voyage", keyVariable: "VOYAGE_API_KEY" },
  wandb: speaker("https://api.inference.wandb.ai/v1", "WANDB_API_KEY"),
  watsonx: { family: "watsonx", keyVariable: "WATSONX_APIKEY" },
  xai: { family: "xai", keyVariable: "XAI_API_KEY" },
  xiaomi_mimo: speaker("https://api.xiaomimimo.com/v1", "XIAOMI_MIMO_API_KEY"),
  xinference: { family: "xinference", keyVariable: "XINFERENCE_API_KEY" },
  zai: { family: "zai", keyVariable: "ZAI_API_KEY" },
};

/** Names of models from which LiteLLM infers the provider. */
const INFERRED: readonly (readonly [RegExp, string])[] = [
  [
    /^(gpt-|o\d|chatgpt-|ft:|text-embedding-|text-moderation-|omni-moderation|dall-e|whisper|tts-|babbage|davinci)/,
    "openai",
  ],
  [/^claude-/, "anthropic"],
  [/^(gemini-|text-bison|chat-bison)/, "vertex_ai"],
  [/^(command|embed-|rerank-)/, "cohere"],
  [/^(anthropic|amazon|meta|mistral|cohere|ai21|us|eu|apac)\./, "bedrock"],
];

export interface NamedModel {
  /** As LiteLLM calls the provider. */
  readonly prefix: string;
  readonly name: ProviderName;
  readonly model: string;
}

/**
 * The provider and the model behind `model` and `custom_llm_provider` of a deployment; `null` for a provider that this
 * gateway does not have.
 */
export function namedModel(model: string, provider: string | null): NamedModel | null {
  const slash = model.indexOf("/");
  const before = slash <= 0 ? null : model.slice(0, slash);
  if (provider !== null) {
    const name = NAMES[provider];
    return name === undefined
      ? null
      : { prefix: provider, name, model: before === provider ? model.slice(slash + 1) : model };
  }
  if (before !== null && Object.hasOwn(NAMES, before))
    return { prefix: before, name: NAMES[before]!, model: model.slice(slash + 1) };
  const inferred = before === null ? INFERRED.find(([pattern]) => pattern.test(model))?.[1] : undefined;
  return inferred === undefined ? null : { prefix: inferred, name: NAMES[inferred]!, model };
}

/** The part of a model's name that says by which of Bedrock's own paths LiteLLM calls it. */
export const BEDROCK_PATH = /^(converse_like|converse|invoke)\//;
