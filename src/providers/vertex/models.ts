// The wire form of a model of Vertex AI, by its name: `gemini-3-flash`, `claude-opus-4-6@default`,
// `meta/llama-4-maverick-17b-128e-instruct-maas`.
// https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/use-partner-models,
// .../docs/maas/call-open-model-apis
import type { Provider } from "../interface/provider.ts";

export type WireForm = "gemini" | "claude" | "mistral" | "open";

export const CLAUDE = /^(?:publishers\/anthropic\/models\/|anthropic\/|claude-)/;
export const MISTRAL = /^(?:publishers\/mistralai\/models\/|mistralai\/|(?:mistral|ministral|codestral)-)/;
/** The names of open and partner models begin with their maker. */
export const OPEN = /^(?!(?:anthropic|mistralai|google|publishers|models|endpoints)\/)[^/]+\//;

export function wireFormOf(model: string): WireForm {
  if (CLAUDE.test(model)) return "claude";
  if (MISTRAL.test(model)) return "mistral";
  return OPEN.test(model) ? "open" : "gemini";
}

/** The model's own part of a name. */
export function ownName(model: string): string {
  return model.replace(
    /^(?:publishers\/(?:anthropic|mistralai|google)\/models|anthropic|mistralai|google|models)\/(?=.)/,
    "",
  );
}

export type ModelsOfOneForm = Pick<
  Provider,
  "encodeRequest" | "joinedTexts" | "decodeResponse" | "openStream" | "leavesOutEmpty" | "dialect" | "conversation"
>;
