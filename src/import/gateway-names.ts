// The gateways whose configuration can be taken over: the word of the command, and how their makers write them.
export const GATEWAY_LABELS = {
  litellm: "LiteLLM",
  portkey: "Portkey",
  openrouter: "OpenRouter",
  bifrost: "Bifrost",
} as const;
export type GatewayName = keyof typeof GATEWAY_LABELS;
export const GATEWAY_NAMES = Object.keys(GATEWAY_LABELS) as readonly GatewayName[];

/** The command that takes over keys, teams and budgets. */
export const KEYS_IMPORT = {
  name: "litellm-keys",
  description: "take over teams and virtual keys from a dump of LiteLLM's database, as projects and tokens",
} as const;
