// Token counts, as vendors report them or leave them out.
import type { Usage } from "../chat.ts";
import type { Json } from "../json.ts";

/** Sums of larger numbers would no longer be exact integers. */
export function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** A part of a sum. It counts as zero when it is absent or impossible (negative, too large, not a number). */
export function tokenCount(value: Json | undefined): number {
  return isCount(value) ? value : 0;
}

/**
 * A sum on which everything else depends. NaN when it is absent or impossible: the usage is then not trusted, and an
 * estimate takes its place.
 */
export function mainTokenCount(value: Json | undefined): number {
  return isCount(value) ? value : Number.NaN;
}

/** What a prompt and its completion used. */
export function usageOfText(prompt: number, completion: number): Usage {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}
