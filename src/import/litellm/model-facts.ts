// What LiteLLM's configuration knows of a model: prices and bounds of its tokens.
// https://docs.litellm.ai/docs/proxy/custom_pricing
import { nameOf } from "../draft.ts";
import { decimalOf, numberOf, wholeOf } from "../figures.ts";
import type { ForeignNode } from "../foreign-file.ts";
import type { ImportContext } from "../gateway-import.ts";

const RATES: Readonly<Record<string, string>> = {
  input_cost_per_token: "prompt",
  output_cost_per_token: "completion",
  cache_read_input_token_cost: "cache_read",
  cache_creation_input_token_cost: "cache_write",
  output_cost_per_reasoning_token: "reasoning",
  input_cost_per_audio_token: "audio_prompt",
  output_cost_per_audio_token: "audio_completion",
};
const BOUNDS = { max_input_tokens: "context_length", max_output_tokens: "max_completion_tokens" } as const;

export interface NamedTarget {
  readonly providerId: string;
  readonly model: string;
}

/** Reads the entry's `model_info`, and prices among its `litellm_params`. */
export function importModelFacts(
  node: ForeignNode,
  { providerId, model }: NamedTarget,
  { claims, draft }: ImportContext,
): void {
  const info = node.members.get("model_info")?.members ?? new Map<string, ForeignNode>();
  const params = node.members.get("litellm_params")!.members;
  if (model.includes("*")) return;
  const prices: Record<string, string> = {};
  for (const [theirs, ours] of Object.entries(RATES))
    for (const each of [info.get(theirs), params.get(theirs)]) {
      const rate = decimalOf(numberOf(each));
      if (rate === null || Number(rate) > 1) continue;
      prices[ours] = rate;
      claims.taken(each, `prices.${nameOf(`${providerId}-${model}`)}.${ours}`);
    }
  if (Object.keys(prices).length > 0)
    draft.set("prices", [nameOf(`${providerId}-${model}`)], {
      model: `${providerId}:${model}`,
      per: "token",
      ...prices,
    });
  const facts: Record<string, number> = {};
  for (const [theirs, ours] of Object.entries(BOUNDS)) {
    const bound = wholeOf(info.get(theirs), 1, 1_000_000_000);
    if (bound === null) continue;
    facts[ours] = bound;
    if (ours === "context_length")
      claims.changed(info.get(theirs), `providers.${providerId}.models`, "counts for prompt and answer together");
    else claims.taken(info.get(theirs), `providers.${providerId}.models`);
  }
  draft.model(providerId, model, facts);
  for (const [name, each] of info)
    if (/^supports_|^mode$/.test(name)) claims.without(each, "Dragoman knows what models can do from their providers");
    else if (name === "id" || name === "base_model")
      claims.without(
        each,
        "nothing refers to it; prices are found by the name of the model, and can be set under prices",
      );
}
