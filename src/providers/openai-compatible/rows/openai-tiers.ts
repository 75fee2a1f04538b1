// What OpenAI's models cost in its tiers of service and regions, as multiples of the usual price. The tier `fast` is another name of
// `priority`: https://platform.openai.com/docs/pricing
import type { PriceFactor } from "../../../core/configured/price.ts";

const PRICING = "https://platform.openai.com/docs/pricing";

/** The first that matches applies. */
const PRIORITY: readonly (readonly [models: RegExp, times: PriceFactor["times"]])[] = [
  [/gpt-5\.5/, [5, 2]],
  [/gpt-5(?:\.1-codex)?-mini/, [9, 5]],
  [/gpt-4\.1-nano/, [2, 1]],
  [/gpt-4\.1|gpt-4o-2024-05-13|^o3/, [7, 4]],
  [/gpt-4o-mini/, [5, 3]],
  [/gpt-4o/, [17, 10]],
  [/^o4-mini/, [20, 11]],
  [/gpt-[5-9]/, [2, 1]],
];

export const OPENAI_PRICE_FACTORS: readonly PriceFactor[] = [
  { told: "service_tier", values: ["flex"], times: [1, 2], source: PRICING },
  ...PRIORITY.map(([models, times]): PriceFactor => ({
    told: "service_tier",
    values: ["priority", "fast"],
    models,
    times,
    source: PRICING,
  })),
  { told: "place", values: ["regional"], models: /gpt-(?:5\.[4-9]|[6-9])/, times: [11, 10], source: PRICING },
  { told: "service_tier", values: ["ultrafast"], models: /gpt-6(?:-astra|\.1-sol)/, times: [6, 1], source: PRICING },
];

/** Such as https://eu.api.openai.com: https://platform.openai.com/docs/guides/your-data */
export function isRegional({ baseUrl }: { readonly baseUrl: string | null }): boolean {
  return /^https:\/\/[a-z]{2}\.api\.openai\.com(?:[:/]|$)/.test(baseUrl ?? "");
}
