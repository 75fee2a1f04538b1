// What LiteLLM calls the providers: the part of a model's name before the first slash.
// https://docs.litellm.ai/docs/providers,
// https://github.com/BerriAI/litellm/blob/main/litellm/llms/openai_like/providers.json

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
  aiand: speaker("https://api.aiand.com/v1", "AIAND_API_KEY"),
  aihubmix: speaker("https://aihubmix.com/v1", "AIHUBMIX_API_KEY"),
  aiml: speaker("https://api.aimlapi.com/v1", "AIML_API_KEY"),
  amazon_nova: speaker("https://api.nova.amazon.com/v1", "AMAZON_NOVA_API_KEY"),
  anthropic: { family: "anthropic", keyVariable: "ANTHROPIC_API_KEY" },
  anthropic_text: { family: "anthropic", keyVariable: "ANTHROPIC_API_KEY" },
  apertis: speaker("https://api.stima.tech/v1", "STIMA_API_KEY"),
  assemblyai: speaker("https://llm-gateway.assemblyai.com/v1", "ASSEMBLYAI_API_KEY"),
  azure: { family: "azure", keyVariable: "AZURE_API_KEY" },
  azure_ai: { family: "azure_ai", keyVariable: "AZURE_AI_API_KEY" },
  azure_text: { family: "azure", keyVariable: "AZURE_API_KEY" },
  baseten: { family: "baseten", keyVariable: "BASETEN_API_KEY" },
  bedrock: { family: "bedrock" },
  bedrock_converse: { family: "bedrock" },
  bedrock_mantle: { family: "bedrock-mantle", keyVariable: "BEDROCK_MANTLE_API_KEY" },
  bigmodel: speaker("https://open.bigmodel.cn/api/paas/v4", "BIGMODEL_API_KEY"),
  cerebras: { family: "cerebras", keyVariable: "CEREBRAS_API_KEY" },
  charity_engine: speaker("https://api.charityengine.services/remotejobs/v2/inference", "CHARITY_ENGINE_API_KEY"),
  chutes: { family: "chutes", keyVariable: "CHUTES_API_KEY" },
  clarifai: speaker("https://api.clarifai.com/v2/ext/openai/v1", "CLARIFAI_API_KEY"),
  clf_ai_gateway: speaker("https://api.clfaigateway.dev/v1", "CLF_AI_GATEWAY_API_KEY"),
  cloudflare: { family: "cloudflare", keyVariable: "CLOUDFLARE_API_KEY" },
  codestral: { family: "mistral", keyVariable: "CODESTRAL_API_KEY" },
  cognition: speaker("https://api.cognition.ai/v1", "COGNITION_API_KEY"),
  cohere: { family: "cohere", keyVariable: "COHERE_API_KEY" },
  cohere_chat: { family: "cohere", keyVariable: "COHERE_API_KEY" },
  cometapi: speaker("https://api.cometapi.com/v1", "COMETAPI_KEY"),
  compactifai: speaker("https://api.compactif.ai/v1", "COMPACTIFAI_API_KEY"),
  coralbricks: speaker("https://inference.coralbricks.ai/v1", "CORALBRICKS_API_KEY"),
  cortecs: speaker("https://api.cortecs.ai/v1", "CORTECS_API_KEY"),
  crusoe: { family: "crusoe", keyVariable: "CRUSOE_API_KEY" },
  custom_openai: { family: "custom" },
  darkbloom: speaker("https://api.darkbloom.dev/v1", "DARKBLOOM_API_KEY"),
  dashscope: { family: "dashscope", keyVariable: "DASHSCOPE_API_KEY" },
  databricks: { family: "databricks", keyVariable: "DATABRICKS_API_KEY" },
  deepinfra: { family: "deepinfra", keyVariable: "DEEPINFRA_API_KEY" },
  deepseek: { family: "deepseek", keyVariable: "DEEPSEEK_API_KEY" },
  docker_model_runner: speaker("http://localhost:22088/engines/llama.cpp/v1", "DOCKER_MODEL_RUNNER_API_KEY"),
  edenai: speaker("https://api.edenai.run/v3", "EDENAI_API_KEY"),
  empiriolabs: speaker("https://api.empiriolabs.ai/v1", "EMPIRIOLABS_API_KEY"),
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
  hostinger_router: speaker("https://router.hostinger.com/v1", "HOSTINGER_ROUTER_API_KEY"),
  huggingface: { family: "huggingface", keyVariable: "HF_TOKEN" },
  hyperbolic: { family: "hyperbolic", keyVariable: "HYPERBOLIC_API_KEY" },
  inception: { family: "inception", keyVariable: "INCEPTION_API_KEY" },
  inferenceapis: speaker("https://api.inferenceapis.com/v1", "INFERENCEAPIS_API_KEY"),
  jina_ai: { family: "jina", keyVariable: "JINA_AI_API_KEY" },
  kyma: speaker("https://kymaapi.com/v1", "KYMA_API_KEY"),
  lambda_ai: speaker("https://api.lambda.ai/v1", "LAMBDA_API_KEY"),
  lemonade: speaker("http://localhost:8000/api/v1", "LEMONADE_API_KEY"),
  libertai: speaker("https://api.libertai.io/v1", "LIBERTAI_API_KEY"),
  litellm_proxy: { family: "litellm", keyVariable: "LITELLM_PROXY_API_KEY" },
  llamafile: { family: "custom" },
  llamagate: speaker("https://api.llamagate.dev/v1", "LLAMAGATE_API_KEY"),
  lm_studio: { family: "lmstudio", keyVariable: "LM_STUDIO_API_KEY" },
  meta: speaker("https://api.meta.ai/v1", "META_API_KEY"),
  meta_llama: speaker("https://api.llama.com/compat/v1", "LLAMA_API_KEY"),
  minimax: { family: "minimax", keyVariable: "MINIMAX_API_KEY" },
  mistral: { family: "mistral", keyVariable: "MISTRAL_API_KEY" },
  modelscope: speaker("https://api-inference.modelscope.cn/v1", "MODELSCOPE_API_KEY"),
  moonshot: { family: "moonshot", keyVariable: "MOONSHOT_API_KEY" },
  morph: { family: "morph", keyVariable: "MORPH_API_KEY" },
  nadir: speaker("https://api.getnadir.com/v1", "NADIR_API_KEY"),
  "nano-gpt": { family: "nanogpt", keyVariable: "NANOGPT_API_KEY" },
  nebius: { family: "nebius", keyVariable: "NEBIUS_API_KEY" },
  neosantara: speaker("https://api.neosantara.xyz/v1", "NEOSANTARA_API_KEY"),
  novita: { family: "novita", keyVariable: "NOVITA_API_KEY" },
  nscale: { family: "nscale", keyVariable: "NSCALE_API_KEY" },
  nvidia_nim: { family: "nvidia", keyVariable: "NVIDIA_NIM_API_KEY" },
  ollama: { family: "ollama", keyVariable: "OLLAMA_API_KEY" },
  ollama_chat: { family: "ollama", keyVariable: "OLLAMA_API_KEY" },
  openai: { family: "openai", keyVariable: "OPENAI_API_KEY" },
  openai_like: { family: "custom" },
  openinfer: speaker("https://api.openinfer.ai/v1", "OPENINFER_API_KEY"),
  openrouter: { family: "openrouter", keyVariable: "OPENROUTER_API_KEY" },
  ovhcloud: { family: "ovhcloud", keyVariable: "OVHCLOUD_API_KEY" },
  parasail: { family: "parasail", keyVariable: "PARASAIL_API_KEY" },
  perplexity: { family: "perplexity", keyVariable: "PERPLEXITYAI_API_KEY" },
  pinstripes: speaker("https://pinstripes.io/v1", "PINSTRIPES_API_KEY"),
  poe: speaker("https://api.poe.com/v1", "POE_API_KEY"),
  prism: speaker("https://api.prisminference.com/v1", "PRISM_API_KEY"),
  publicai: speaker("https://api.publicai.co/v1", "PUBLICAI_API_KEY"),
  qwen_ai_platform: speaker("https://dashscope.aliyuncs.com/compatible-mode/v1", "QWEN_AI_PLATFORM_API_KEY"),
  qwencloud: { family: "dashscope", keyVariable: "QWENCLOUD_API_KEY" },
  refuseless: speaker("https://api.refuseless.com/v1", "REFUSELESS_API_KEY"),
  reka: { family: "reka", keyVariable: "REKA_API_KEY" },
  replicate: { family: "replicate", keyVariable: "REPLICATE_API_KEY" },
  sagemaker: { family: "sagemaker" },
  sagemaker_chat: { family: "sagemaker" },
  sail: speaker("https://api.sailresearch.com/v1", "SAIL_API_KEY"),
  sambanova: { family: "sambanova", keyVariable: "SAMBANOVA_API_KEY" },
  scaleway: { family: "scaleway", keyVariable: "SCW_SECRET_KEY" },
  "scx-ai": speaker("https://api.scx.ai/v1", "SCX_API_KEY"),
  snowflake: { family: "snowflake", keyVariable: "SNOWFLAKE_JWT" },
  streamlake: speaker("https://vanchin.streamlake.ai/api/gateway/v1/endpoints", "STREAMLAKE_API_KEY"),
  synthetic: speaker("https://api.synthetic.new/openai/v1", "SYNTHETIC_API_KEY"),
  tencent: speaker("https://tokenhub-intl.tencentcloudmaas.com/v1", "TENCENT_API_KEY"),
  tensormesh: speaker("https://serverless.tensormesh.ai/v1", "TENSORMESH_INFERENCE_API_KEY"),
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
  wally: speaker("https://inference.runanywhere.ai/v1", "WALLY_API_KEY"),
  wandb: speaker("https://api.inference.wandb.ai/v1", "WANDB_API_KEY"),
  watsonx: { family: "watsonx", keyVariable: "WATSONX_APIKEY" },
  watsonx_text: { family: "watsonx", keyVariable: "WATSONX_APIKEY" },
  xai: { family: "xai", keyVariable: "XAI_API_KEY" },
  xiaomi_mimo: speaker("https://api.xiaomimimo.com/v1", "XIAOMI_MIMO_API_KEY"),
  xinference: { family: "xinference", keyVariable: "XINFERENCE_API_KEY" },
  zai: { family: "zai", keyVariable: "ZAI_API_KEY" },
  zerogpu: speaker("https://api.zerogpu.ai/v1", "ZEROGPU_API_KEY"),
};

/**
 * Names of models from which LiteLLM infers the provider; the first that fits counts.
 * https://github.com/BerriAI/litellm/blob/main/model_prices_and_context_window.json
 */
const INFERRED: readonly (readonly [RegExp, string])[] = [
  [/^((ft:)?(babbage|davinci)-|gpt-3\.5-turbo-instruct)/, "text-completion-openai"],
  [
    /^(gpt-|o\d|chatgpt-|ft:|text-embedding-(ada|3)|text-moderation-|omni-moderation|computer-use-|dall-e|whisper|tts-)/,
    "openai",
  ],
  [/^claude-/, "anthropic"],
  [
    /^(gemini-|(text|chat)-bison|text-unicorn|medlm-|textembedding-|multimodalembedding|text-(multilingual-)?embedding-)/,
    "vertex_ai",
  ],
  [/^(command|embed-|rerank-|c4ai-)/, "cohere"],
  [/^(jamba-|j2-)/, "ai21"],
  // the vendor, or a region, before a name that begins with a letter
  [/^[a-z][a-z0-9-]*\.[a-z]/, "bedrock"],
];

export interface DeployedModel {
  /** As LiteLLM calls the provider. */
  readonly prefix: string;
  readonly name: ProviderName;
  readonly model: string;
}

/**
 * The provider and the model behind `model` and `custom_llm_provider` of a deployment; `null` for a provider that this
 * gateway does not have.
 */
export function namedModel(model: string, provider: string | null): DeployedModel | null {
  const slash = model.indexOf("/");
  const before = slash <= 0 ? null : model.slice(0, slash);
  if (provider !== null) {
    return Object.hasOwn(NAMES, provider)
      ? { prefix: provider, name: NAMES[provider]!, model: before === provider ? model.slice(slash + 1) : model }
      : null;
  }
  if (before !== null && Object.hasOwn(NAMES, before))
    return { prefix: before, name: NAMES[before]!, model: model.slice(slash + 1) };
  const inferred = before === null ? INFERRED.find(([pattern]) => pattern.test(model))?.[1] : undefined;
  return inferred === undefined ? null : { prefix: inferred, name: NAMES[inferred]!, model };
}

/** The part of a model's name that says by which of Bedrock's own paths LiteLLM calls it. */
export const BEDROCK_PATH = /^(converse_like|converse|invoke)\//;
