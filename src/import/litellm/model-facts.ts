// What LiteLLM's configuration knows of a model: prices and bounds of its tokens.
// https://docs.litellm.ai/docs/proxy/custom_pricing
import { nameOf } from "../draft.ts";
import { decimalOf, numberOf, wholeOf } from "../figures.ts";
import { type ForeignNode, NO_MEMBERS } from "../foreign-file.ts";
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
/** Why checks of health have no counterpart. */
export const OF_HEALTH = "targets are judged by the calls that they serve";

const BOUNDS = { max_input_tokens: "context_length", max_output_tokens: "max_completion_tokens" } as const;

export interface NamedTarget {
  readonly providerId: string;
  readonly model: string;
}

/** Reads the entry's `model_info`, and prices among its `litellm_params`. */
export function importModelFacts(node: ForeignNode, { providerId, model }: NamedTarget, context: ImportContext): void {
  const { claims, draft } = context;
  const info = node.members.get("model_info")?.members ?? NO_MEMBERS;
  const params = node.members.get("litellm_params")!.members;
  const prices: Record<string, string> = {};
  const taken: (readonly [node: ForeignNode | undefined, ours: string])[] = [];
  for (const [theirs, ours] of Object.entries(RATES))
    for (const each of [info.get(theirs), params.get(theirs)]) {
      const rate = decimalOf(numberOf(each));
      if (rate === null || Number(rate) > 1) {
        claims.without(each, "expected US dollars for one token, at most 1");
        continue;
      }
      prices[ours] = rate;
      taken.push([each, ours]);
    }
  if (taken.length > 0) {
    const target = `${providerId}:${model}`;
    const name = draft.nameFor("prices", nameOf(`${providerId}-${model}`), target);
    draft.set("prices", [name], { model: target, per: "token", ...prices });
    for (const [each, ours] of taken) claims.taken(each, `prices.${name}.${ours}`);
  }
  if (!model.includes("*")) importBounds(info, { providerId, model }, context);
  for (const [key, each] of info) claims.without(each, whyWithout(key));
}

function importBounds(
  info: ReadonlyMap<string, ForeignNode>,
  { providerId, model }: NamedTarget,
  { claims, draft }: ImportContext,
): void {
  const facts: Record<string, number> = {};
  for (const [theirs, ours] of Object.entries(BOUNDS)) {
    const node = info.get(theirs);
    const bound = wholeOf(node, 1, 1_000_000_000);
    if (bound === null) continue;
    facts[ours] = bound;
    const how = ours === "context_length" ? "counts for prompt and answer together" : null;
    claims.moved(node, `providers.${providerId}.models`, how);
  }
  draft.model(providerId, model, facts);
}

/** LiteLLM passes on to those who list models what it does not know itself. */
function whyWithout(name: string): string {
  if (/^supports_|^mode$/.test(name)) return "Dragoman knows what models can do from their providers";
  if (name === "id" || name === "base_model")
    return "nothing refers to it; prices are found by the name of the model, and can be set under prices";
  if (name === "max_tokens") return "it can be one of two bounds; write max_input_tokens or max_output_tokens";
  if (name === "access_groups") return "a token can be confined to routes and models: docs/identity.md";
  if (name.startsWith("health_check_") || name === "disable_background_health_check") return OF_HEALTH;
  if (/_cost(_|$)|_price/.test(name))
    return "there is no such price, or it is above one dollar for a token: docs/prices.md";
  if (Object.hasOwn(BOUNDS, name)) return "expected a number of tokens, of a model without a wildcard";
  return "no call depends on it: it describes the model to those who list models";
}
