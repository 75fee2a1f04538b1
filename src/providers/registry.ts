// Every provider that the gateway knows, by family id.
import { anthropic } from "./anthropic/provider.ts";
import { cohere } from "./cohere/provider.ts";
import { bedrock } from "./bedrock/provider.ts";
import { compatiblePrompts, completionProviders, withRawPrompts } from "./raw-completions/rows.ts";
import { gemini } from "./gemini/provider.ts";
import { ollama } from "./ollama/provider.ts";
import { openAICompatibleProvider } from "./openai-compatible/provider.ts";
import { clouds } from "./openai-compatible/rows/clouds.ts";
import { gateways } from "./openai-compatible/rows/gateways.ts";
import { hosts } from "./openai-compatible/rows/hosts.ts";
import { hostsOfOpenModels } from "./openai-compatible/rows/hosts-open-models.ts";
import { localServers } from "./openai-compatible/rows/local-servers.ts";
import { modelMakersOfChina } from "./openai-compatible/rows/model-makers-china.ts";
import { vectorServers } from "./openai-compatible/rows/vectors.ts";
import { modelMakers } from "./openai-compatible/rows/model-makers.ts";
import type { OpenAICompatibleRow } from "./openai-compatible/row.ts";
import type { Provider } from "./interface/provider.ts";
import { sagemaker } from "./sagemaker/provider.ts";
import { replicate } from "./replicate/provider.ts";
import { type BuiltInModel, SANDBOX_MODELS, sandbox } from "./sandbox/provider.ts";
import { vertex } from "./vertex/provider.ts";

/** To add one, add its row to the file of its kind. */
export const openaiCompatibleRows: readonly OpenAICompatibleRow[] = [
  ...modelMakers,
  ...modelMakersOfChina,
  ...hosts,
  ...hostsOfOpenModels,
  ...clouds,
  ...gateways,
  ...localServers,
  ...vectorServers,
];
export const openaiCompatibleProviders: readonly Provider[] = openaiCompatibleRows.map((row) =>
  withRawPrompts(openAICompatibleProvider(row), compatiblePrompts(row)),
);

/** Providers with a wire form of their own. */
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
].map((provider) => withRawPrompts(provider, null));

export const providers: ReadonlyMap<string, Provider> = new Map(
  [...ownForms, ...openaiCompatibleProviders, ...completionProviders].map((provider) => [provider.id, provider]),
);

/** Models of providers that answer inside the gateway, for listings. */
export const BUILT_IN_MODELS: ReadonlyMap<string, readonly BuiltInModel[]> = new Map([[sandbox.id, SANDBOX_MODELS]]);
