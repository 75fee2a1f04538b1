// The part of a provider that differs between wire forms. The provider of Vertex AI selects it by the model's name.
import type { Provider } from "../provider.ts";

export type ModelsOfOneForm = Pick<
  Provider,
  "encodeRequest" | "decodeResponse" | "openStream" | "leavesOutEmpty" | "dialect" | "conversation"
>;
