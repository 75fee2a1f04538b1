// The providers that have conversations. The others serve only tasks, such as embeddings.
import type { Provider } from "../../src/providers/interface/provider.ts";
import { providers } from "../../src/providers/registry.ts";

export const CONVERSING: readonly Provider[] = [...providers.values()].filter(
  ({ hasOnlyTasks }) => hasOnlyTasks !== true,
);
