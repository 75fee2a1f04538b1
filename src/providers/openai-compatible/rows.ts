// All OpenAI-compatible providers. To add one, add its row to the file of its kind in rows/.
import type { Provider } from "../provider.ts";
import { openAICompatibleProvider } from "./provider.ts";
import { clouds } from "./rows/clouds.ts";
import { gateways } from "./rows/gateways.ts";
import { hosts } from "./rows/hosts.ts";
import { hostsOfOpenModels } from "./rows/hosts-open-models.ts";
import { localServers } from "./rows/local-servers.ts";
import { modelMakersOfChina } from "./rows/model-makers-china.ts";
import { modelMakers } from "./rows/model-makers.ts";

export const openaiCompatibleProviders: readonly Provider[] = [
  ...modelMakers,
  ...modelMakersOfChina,
  ...hosts,
  ...hostsOfOpenModels,
  ...clouds,
  ...gateways,
  ...localServers,
].map(openAICompatibleProvider);
