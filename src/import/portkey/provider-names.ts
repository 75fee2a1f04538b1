// What Portkey calls the providers, and which of them a slug most likely means.
// https://portkey.ai/docs/integrations/llms

const NAMES: Readonly<Record<string, string>> = {
  ai21: "ai21",
  anthropic: "anthropic",
  "azure-openai": "azure",
  azure: "azure",
  "azure-ai": "azure_ai",
  "azure-foundry": "azure_ai",
  bedrock: "bedrock",
  cerebras: "cerebras",
  cohere: "cohere",
  dashscope: "dashscope",
  databricks: "databricks",
  deepinfra: "deepinfra",
  deepseek: "deepseek",
  "featherless-ai": "featherless",
  "fireworks-ai": "fireworks",
  fireworks: "fireworks",
  google: "gemini",
  gemini: "gemini",
  groq: "groq",
  huggingface: "huggingface",
  hyperbolic: "hyperbolic",
  inception: "inception",
  jina: "jina",
  "mistral-ai": "mistral",
  mistral: "mistral",
  moonshot: "moonshot",
  nebius: "nebius",
  "novita-ai": "novita",
  nscale: "nscale",
  ollama: "ollama",
  openai: "openai",
  "open-ai": "openai",
  oai: "openai",
  openrouter: "openrouter",
  "perplexity-ai": "perplexity",
  perplexity: "perplexity",
  replicate: "replicate",
  sagemaker: "sagemaker",
  sambanova: "sambanova",
  siliconflow: "siliconflow",
  "snowflake-cortex": "snowflake",
  "together-ai": "together",
  together: "together",
  upstage: "upstage",
  vertex: "vertex",
  "vertex-ai": "vertex",
  voyage: "voyage",
  watsonx: "watsonx",
  "workers-ai": "cloudflare",
  "x-ai": "xai",
  xai: "xai",
  zhipu: "zai",
};

/** The family of a provider that the configuration names; `null` for one that this gateway does not have. */
export function familyOfName(name: string): string | null {
  return Object.hasOwn(NAMES, name) ? NAMES[name]! : null;
}

/** Vendors with two sites, each with keys of its own, of which Portkey calls the one in China. */
const IN_CHINA: Readonly<Record<string, string>> = {
  moonshot: "https://api.moonshot.cn/v1",
  siliconflow: "https://api.siliconflow.cn/v1",
  zai: "https://open.bigmodel.cn/api/paas/v4",
};

/** The address at which Portkey calls a provider of this family; `null` where that is the address here too. */
export function addressAtPortkey(family: string): string | null {
  return Object.hasOwn(IN_CHINA, family) ? IN_CHINA[family]! : null;
}

/** Makers of models that others serve too: in `azure-open-ai` and `bedrock-anthropic`, the other one is called. */
const MAKERS: ReadonlySet<string> = new Set([
  "ai21",
  "anthropic",
  "cohere",
  "deepseek",
  "gemini",
  "mistral",
  "openai",
  "xai",
  "zai",
]);

/**
 * The family whose name stands in a slug such as `openai-prod`; of several, one that is no maker, and then the longest.
 * `null` for a slug without any.
 */
export function familyInSlug(slug: string): string | null {
  const words = `-${slug.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}-`;
  const found = Object.keys(NAMES)
    .filter((name) => words.includes(`-${name}-`))
    .toSorted((a, b) => Number(MAKERS.has(NAMES[a]!)) - Number(MAKERS.has(NAMES[b]!)) || b.length - a.length)[0];
  return found === undefined ? null : NAMES[found]!;
}
