// All providers, as the configuration knows them.
import { providers } from "../../providers/registry.ts";

export const PROVIDER_FAMILIES = [...providers.values()];
