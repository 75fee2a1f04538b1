// Every provider that the gateway knows, by family id.
import { anthropic } from "./anthropic/provider.ts";
import { cohere } from "./cohere/provider.ts";
import { bedrock } from "./bedrock/provider.ts";
import { completionProviders } from "./raw-completions/rows.ts";
import { gemini } from "./gemini/provider.ts";
import { ollama } from "./ollama/provider.ts";
import { openaiCompatibleProviders } from "./openai-compatible/rows.ts";
import type { Provider } from "./provider.ts";
import { sagemaker } from "./sagemaker/provider.ts";
import { replicate } from "./replicate/provider.ts";
import { type BuiltInModel, SANDBOX_MODELS, sandbox } from "./sandbox/provider.ts";
import { vertex } from "./vertex/provider.ts";

/** Providers with a wire form of their own; the others are rows. */
const ownForms: readonly Provider[] = [
  sandbox,
  anthropic,
  gemini,
  vertex,
  bedrock,
  sagemaker,
  cohere,
  ollama,
  replicate,
];

export const providers: ReadonlyMap<string, Provider> = new Map(
  [...ownForms, ...openaiCompatibleProviders, ...completionProviders].map((provider) => [provider.id, provider]),
);

/** Models of providers that answer inside the gateway, for listings. */
export const BUILT_IN_MODELS: ReadonlyMap<string, readonly BuiltInModel[]> = new Map([[sandbox.id, SANDBOX_MODELS]]);
