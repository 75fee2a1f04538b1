// Which parts of a provider's usage count, and which the code does not know. The unknown figures are kept for the
// record and counted, so that a new figure that a vendor bills for is noticed (promise 8.9, docs/decisions/0029).
import type { Usage } from "../chat.ts";
import { isObject, type Json, type JsonObject } from "../json.ts";
import { tokenCount } from "./token-count.ts";

/** The tokens that limits count: the sum of the parts where it exceeds the total (promise 8.9). */
export function countedTokens({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
}: Usage): number {
  return Math.max(total, prompt + completion);
}

/**
 * Returns the tokens of the prompt and of the answer with those that only the total contains: reasoning (xAI) or audio of
 * the prompt (Mistral). What no detail names was generated (Gemini's thinking in OpenAI's form).
 */
export function wholeCounts({
  prompt_tokens: prompt,
  completion_tokens: completion,
  total_tokens: total,
  prompt_tokens_details: given,
  completion_tokens_details: made,
}: Usage): { readonly prompt: number; readonly completion: number } {
  const beside = Math.max(0, total - prompt - completion);
  const sound = tokenCount(given?.["audio_tokens"]);
  const audio = sound <= beside - Math.min(tokenCount(made?.reasoning_tokens), beside) ? sound : 0;
  return { prompt: prompt + audio, completion: completion + beside - audio };
}

/** Tiers of service that no request has to ask for. */
const DEFAULT_TIERS: ReadonlySet<unknown> = new Set(["default", "auto", "standard", "standard_only", "on_demand"]);
const MAX_TIER = 64;

/** Returns the usage with the tier that the provider says has served the call, where that is not the default one. */
export function withTier(usage: Usage, tier: Json | undefined): Usage {
  if (typeof tier !== "string" || tier.length > MAX_TIER || DEFAULT_TIERS.has(tier)) return usage;
  return { ...usage, service_tier: tier };
}

/**
 * The names of a vendor's usage object that its decoder reads, or that are known to be irrelevant for billing. `all`
 * marks an object or a list of which everything is known. For a list, the names are those of its entries.
 */
export interface KnownFigures {
  readonly [name: string]: "figure" | "all" | KnownFigures;
}

/** A symbol as the key, so that no JSON contains it: clients do not see it, and it is copied with the usage. */
const UNNAMED = Symbol("figures that no code names");
type Marked = Usage & { readonly [UNNAMED]?: JsonObject };

/**
 * Bounds on what is kept, because a vendor may send anything: the number of figures, and the characters of their names
 * and texts.
 */
const MAX_FIGURES = 32;
const MAX_NAME = 128;
const MAX_TEXT = 128;

/** Returns the usage with the figures of the vendor's own object that `known` does not name. */
export function withUnnamed(usage: Usage, native: JsonObject, known: KnownFigures): Usage {
  const found: Record<string, Json> = {};
  collect(native, known, "", found);
  return marked(usage, found);
}

/** Returns `null` when the code knows all of them. */
export function unnamedFigures(usage: Usage): JsonObject | null {
  return (usage as Marked)[UNNAMED] ?? null;
}

/** Returns `usage` with the unnamed figures of another form of it, or of the usages that it sums up. */
export function withUnnamedOf(usage: Usage, ...others: readonly JsonObject[]): Usage {
  if (others.every((other) => (other as Marked)[UNNAMED] === undefined)) return usage;
  return marked(usage, Object.assign({}, ...others.map((other) => (other as Marked)[UNNAMED])) as JsonObject);
}

function marked(usage: Usage, figures: JsonObject): Usage {
  return Object.keys(figures).length === 0 ? usage : { ...usage, [UNNAMED]: figures };
}

function collect(native: JsonObject, known: KnownFigures, path: string, into: Record<string, Json>): void {
  for (const name in native) {
    const kind = Object.hasOwn(known, name) ? known[name]! : null;
    const value = native[name];
    if (kind === "figure" || kind === "all" || value === null || value === undefined) continue;
    const place = path + name;
    for (const one of Array.isArray(value) ? (value as readonly Json[]) : [value]) {
      if (isObject(one)) collect(one, kind ?? {}, `${place}.`, into);
      else if (kind === null) keep(place, one, into);
    }
  }
}

function keep(place: string, value: Json, into: Record<string, Json>): void {
  if (place.length > MAX_NAME || Object.hasOwn(into, place) || Object.keys(into).length >= MAX_FIGURES) return;
  // a zero or empty figure is not billed
  if (value === 0 || value === false || value === "") return;
  if (
    typeof value === "number" ||
    typeof value === "boolean" ||
    (typeof value === "string" && value.length <= MAX_TEXT)
  )
    into[place] = value;
}
