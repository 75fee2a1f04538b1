// What Bifrost calls the providers, and which of ours they are.
// https://docs.getbifrost.ai/providers/supported-providers/overview
import type { ProviderFamily } from "../../providers/settings.ts";
import { isAddressOf } from "../address.ts";

export const BIFROST_NAMES: Readonly<Record<string, string>> = {
  anthropic: "anthropic",
  azure: "azure",
  bedrock: "bedrock",
  cerebras: "cerebras",
  cohere: "cohere",
  deepseek: "deepseek",
  fireworks: "fireworks",
  gemini: "gemini",
  groq: "groq",
  huggingface: "huggingface",
  minimax: "minimax",
  mistral: "mistral",
  nebius: "nebius",
  nvidia: "nvidia",
  ollama: "ollama",
  openai: "openai",
  openrouter: "openrouter",
  parasail: "parasail",
  perplexity: "perplexity",
  replicate: "replicate",
  sgl: "sglang",
  vertex: "vertex",
  vllm: "vllm",
  xai: "xai",
};

/**
 * What speaks OpenAI's API under this name: OpenAI, at whichever address; another known provider, if the address is its
 * own; or else any server.
 */
export function speakerOf(name: string, address: string | null, families: ReadonlyMap<string, ProviderFamily>): string {
  if (name === "openai") return "openai";
  const own = families.get(BIFROST_NAMES[name] ?? name);
  return own !== undefined && address !== null && isAddressOf(own, address) ? own.id : "custom";
}
