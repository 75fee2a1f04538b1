// The gateways whose configuration can be taken over: the word of the command, and how their makers write them.
export const GATEWAY_LABELS = {
  litellm: "LiteLLM",
  portkey: "Portkey",
  openrouter: "OpenRouter",
  bifrost: "Bifrost",
} as const;
export type GatewayName = keyof typeof GATEWAY_LABELS;
export const GATEWAY_NAMES = Object.keys(GATEWAY_LABELS) as readonly GatewayName[];
