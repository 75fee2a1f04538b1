// What the provider has told of its usage in a stream so far.
import type { ChatChunk, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { countedTokens, withTier } from "../../core/record/usage.ts";
import { estimateWithTold, strictUsage } from "../../providers/answers/strict-usage.ts";

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
