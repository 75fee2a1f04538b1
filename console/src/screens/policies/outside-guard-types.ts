// The types of guard services, and which fields of the form each of them has.

/** Fields that only some types have, by what their values are. */
export const FIELDS = {
  url: "Address",
  provider: "Provider",
  model: "Model",
  language: "Language",
  project: "Project",
  guardrail: "Guardrail",
  version: "Version",
  template: "Template",
} as const;
export const LISTS = {
  entities: "Entities or categories, one in each line",
  blocklists: "Blocklists, one in each line",
} as const;
export const NUMBERS = { score_threshold: "Least score", least_severity: "Least severity" } as const;
export type SpecialField = keyof typeof FIELDS | keyof typeof LISTS | keyof typeof NUMBERS;

export const SERVICE_TYPES: Readonly<Record<string, readonly SpecialField[]>> = {
  request: ["url"],
  presidio: ["url", "language", "entities", "score_threshold"],
  content_safety: ["url", "blocklists", "least_severity"],
  lakera: ["url", "project"],
  moderation: ["provider", "model", "entities", "score_threshold"],
  guardrails: ["provider", "guardrail", "version"],
  model_armor: ["provider", "template"],
};
