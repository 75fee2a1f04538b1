// What the models of one wire form have of a provider: the provider of Vertex AI picks by the model's name.
import type { Provider } from "../provider.ts";

export type ModelsOfOneForm = Pick<
  Provider,
  "encodeRequest" | "decodeResponse" | "openStream" | "leavesOutEmpty" | "dialect" | "conversation"
>;
