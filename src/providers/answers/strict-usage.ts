// The usage of an answer as a client gets it and as it is charged, whatever the provider sent (promise 8.9).
import type { ChatChunk, Usage } from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import { countedTokens, withTier, withUnnamedOf } from "../../core/record/usage.ts";
import { isCount } from "../../core/record/token-count.ts";

/**
 * Returns the provider's figures in complete form: nulls are removed, and a missing total is the sum. Returns `null`
 * when there are no figures. `tier` is the tier of service of the answer.
 */
export function strictUsage(usage: JsonObject | null | undefined, tier?: Json): Usage | null {
  if (!isObject(usage)) return null;
  const prompt = usage["prompt_tokens"];
  const completion = usage["completion_tokens"];
  const total = usage["total_tokens"];
  if (!isCount(prompt) && !isCount(completion)) return null;
  // a figure that is absent or impossible, and cannot be derived from the others, makes the usage invalid
  const derived = (other: number): number | null => (isCount(total) && total >= other ? total - other : null);
  const promptTokens = isCount(prompt) ? prompt : derived(completion as number);
  const completionTokens = isCount(completion) ? completion : derived(prompt as number);
  if (promptTokens === null || completionTokens === null) return null;
  const whole: Record<string, Json> = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: isCount(total) ? total : promptTokens + completionTokens,
  };
  for (const name in usage) {
    const value = usage[name];
    if (name in whole || value === null || value === undefined) continue;
    whole[name] = isObject(value) ? withoutNulls(value) : value;
  }
  return withTier(withUnnamedOf(whole as Usage, usage), tier);
}

/** What says how a call was served and what it used beside tokens. */
const BESIDE_TOKENS = [
  "hosted_tools",
  "inference_geo",
  "speed",
  "search_context_size",
] as const satisfies readonly (keyof Usage)[];

/**
 * Returns an estimate of the tokens with what the provider told beside them: it is charged as well where the counts of
 * tokens are missing or cannot be right.
 */
export function estimateWithTold(tokens: Usage, told: JsonObject | null | undefined, tier?: Json): Usage {
  if (!isObject(told)) return withTier(tokens, tier);
  const beside = BESIDE_TOKENS.flatMap((name) => (isSet(told[name]) ? [[name, told[name]] as const] : []));
  return withTier(withUnnamedOf({ ...tokens, ...Object.fromEntries(beside) }, told), tier);
}

/** Returns the same object when it has none, as is usual. */
function withoutNulls(object: JsonObject): JsonObject {
  let hasNulls = false;
  for (const name in object) if (object[name] === null || object[name] === undefined) hasNulls = true;
  if (!hasNulls) return object;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null && value !== undefined));
}

/** What the provider has told of the usage of one answer so far. */
export class ReportedUsage {
  #usage: Usage | null = null;
  #told: JsonObject = {};
  #tier: Json | undefined;
  #countsAnswer = false;

  /** `hasGenerated` says whether something was generated before the chunk or stands in it. */
  take({ usage, service_tier: tier }: ChatChunk, hasGenerated: boolean): void {
    if (tier !== undefined) this.#tier = tier;
    if (!isObject(usage)) return;
    this.#told = { ...this.#told, ...usage };
    const strict = strictUsage(usage);
    // zeros after other figures say nothing
    if (strict === null || (this.#usage !== null && countedTokens(strict) === 0)) return;
    this.#usage = strict;
    this.#countsAnswer = hasGenerated || countedTokens(strict) > strict.prompt_tokens;
  }

  /** The latest figures; `null` while there are none that can be right. */
  get usage(): Usage | null {
    return this.#usage === null ? null : withTier(this.#usage, this.#tier);
  }

  /** Whether the figures can include the answer: those that come before it, and of the prompt alone, do not. */
  get countsAnswer(): boolean {
    return this.#countsAnswer;
  }

  /** Returns an estimate of the tokens with everything else that was told. */
  estimate(tokens: Usage): Usage {
    return estimateWithTold(tokens, this.#told, this.#tier);
  }
}
