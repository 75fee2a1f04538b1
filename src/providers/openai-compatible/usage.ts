// The usage of OpenAI-compatible servers under OpenAI's names. Figures stay as the provider reports them. Where
// `completion_tokens` excludes reasoning (xAI, Gemini at DeepInfra), the total includes it, and what was billed is the
// total minus the prompt.
import type { Usage } from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject } from "../../core/json.ts";
import { type KnownFigures, withUnnamed, withUnnamedOf } from "../../core/record/usage.ts";
import { isCount, mainTokenCount, tokenCount } from "../../core/record/token-count.ts";
import type { OwnObject } from "./choice.ts";
import type { OpenAICompatibleRow } from "./row.ts";

/** Names at the top level of usage that belong into its details, each with the vendor that documents it. */
const CACHED_NAMES = [
  "prompt_cache_hit_tokens" /* DeepSeek */,
  "cached_tokens" /* Together, Moonshot */,
  "num_cached_tokens" /* Mistral */,
  "cached_input_tokens" /* Inception */,
  "cache_read_input_tokens" /* Venice */,
] as const;
/** Used by Perplexity and Together. */
const REASONING_NAMES = ["reasoning_tokens"] as const;
/** Used by hosts of Claude, which report Anthropic's figures beside OpenAI's. */
const WRITTEN_NAMES = ["cache_creation_input_tokens", "cache_created_input_tokens" /* DigitalOcean */] as const;
/** Names of the same figure inside the details, used by DashScope and hosts of Claude. */
const WRITTEN_DETAILS = ["cache_creation_input_tokens", "cache_creation_tokens"] as const;
/** Where they say how long what was written stays. The second name is LiteLLM's. */
const WRITTEN_BY_TIME = ["cache_creation", "cache_creation_token_details"] as const;
const BY_TIME: KnownFigures = { ephemeral_5m_input_tokens: "figure", ephemeral_1h_input_tokens: "figure" };

/**
 * Details of prompt tokens and of completion tokens, under the names of all vendors:
 * https://platform.openai.com/docs/api-reference/chat/object#chat/object-usage
 */
const OF_PROMPTS: KnownFigures = {
  cached_tokens: "figure",
  cached_tokens_details: "all",
  cache_write_tokens: "figure",
  cache_write_1h_tokens: "figure",
  audio_tokens: "figure",
  image_tokens: "figure",
  text_tokens: "figure",
  video_tokens: "figure",
  multimodal_tokens: "figure",
  cache_creation_input_tokens: "figure",
  cache_creation_tokens: "figure",
  cache_creation: BY_TIME,
  cache_creation_token_details: BY_TIME,
  cache_type: "figure",
};
const OF_ANSWERS: KnownFigures = {
  reasoning_tokens: "figure",
  audio_tokens: "figure",
  image_tokens: "figure",
  text_tokens: "figure",
  accepted_prediction_tokens: "figure",
  rejected_prediction_tokens: "figure",
};
/**
 * The known names of usage, each with a vendor that has it. A price that the vendor computes is not a token count, and
 * neither are times and speeds. Searches and other tools that are billed separately stay unnamed.
 */
const KNOWN: KnownFigures = {
  prompt_tokens: "figure",
  completion_tokens: "figure",
  total_tokens: "figure",
  prompt_tokens_details: OF_PROMPTS,
  completion_tokens_details: OF_ANSWERS,
  /* Writer */ prompt_token_details: OF_PROMPTS,
  completion_token_details: OF_ANSWERS,
  /* servers with names of the Responses or Messages API */ input_tokens: "figure",
  output_tokens: "figure",
  input_tokens_details: OF_PROMPTS,
  output_tokens_details: OF_ANSWERS,
  /* DeepSeek */ prompt_cache_hit_tokens: "figure",
  prompt_cache_miss_tokens: "figure",
  /* Together, Moonshot */ cached_tokens: "figure",
  reasoning_tokens: "figure",
  /* Mistral */ num_cached_tokens: "figure",
  prompt_audio_seconds: "figure",
  /* Inception */ cached_input_tokens: "figure",
  /* Venice, Databricks */ cache_read_input_tokens: "figure",
  cache_creation_input_tokens: "figure",
  cache_creation: BY_TIME,
  /* DigitalOcean */ cache_created_input_tokens: "figure",
  /* OpenRouter, xAI, Perplexity */ cost: "all",
  cost_details: "all",
  /* Vercel, the price without a discount */ market_cost: "figure",
  is_byok: "figure",
  cost_in_usd_ticks: "figure",
  search_context_size: "figure",
  /* Perplexity */ citation_tokens: "figure",
  service_tier: "figure",
  /* Groq */ queue_time: "figure",
  prompt_time: "figure",
  completion_time: "figure",
  total_time: "figure",
  /* SambaNova */ completion_tokens_after_first_per_sec: "figure",
  completion_tokens_after_first_per_sec_first_ten: "figure",
  completion_tokens_after_first_per_sec_graph: "figure",
  completion_tokens_per_sec: "figure",
  start_time: "figure",
  end_time: "figure",
  is_last_response: "figure",
  time_to_first_token: "figure",
  time_to_first_token_graph: "figure",
  total_latency: "figure",
  total_tokens_per_sec: "figure",
  acceptance_rate: "figure",
  stop_reason: "figure",
  /* Azure */ latency_checkpoint: "all",
  /* mistral.rs */ avg_tok_per_sec: "figure",
  avg_prompt_tok_per_sec: "figure",
  avg_compl_tok_per_sec: "figure",
  total_time_sec: "figure",
  total_prompt_time_sec: "figure",
  total_completion_time_sec: "figure",
};

/**
 * Puts the figures of an answer or chunk, which may be any JSON, under their names, and returns them; `null` where there
 * are none. A `usage` of null is kept.
 */
export function patchUsage(sent: Json, row: Pick<OpenAICompatibleRow, "usageAt" | "billedBeside">): JsonObject | null {
  if (!isObject(sent)) return null;
  const answer: OwnObject = sent;
  const usage = answer["usage"] ?? usageElsewhere(answer, row);
  if (!isObject(usage)) return null;
  // This comes before the parts that have names of their own here are added.
  const unnamed = withUnnamed(NO_USAGE, usage, KNOWN);
  const renamed = withOpenAINames(withoutNamesOfOurs(usage));
  const patched = withUnnamedOf(withBilledParts(renamed, row) as Usage, unnamed);
  answer["usage"] = patched;
  return patched;
}
const NO_USAGE: Usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/**
 * Figures that the decoders of other forms add to OpenAI's, and that are priced. Servers of this form have none of these
 * names: what one sends under them is a figure that the gateway does not know, of any type, which is not counted.
 */
const NAMES_OF_OURS = [
  "search_units",
  "billed_units",
  "hosted_tools",
  "other_models",
] as const satisfies readonly (keyof Usage)[];

function withoutNamesOfOurs(usage: OwnObject): OwnObject {
  if (!NAMES_OF_OURS.some((name) => usage[name] !== undefined)) return usage;
  return Object.fromEntries(
    Object.entries(usage).filter(([name]) => !(NAMES_OF_OURS as readonly string[]).includes(name)),
  );
}

/** Adds what the vendor bills and its token counts exclude. */
function withBilledParts(usage: JsonObject, { billedBeside }: Pick<OpenAICompatibleRow, "billedBeside">): JsonObject {
  if (billedBeside === undefined) return usage;
  const prompt = sumOf(usage, billedBeside.prompt);
  const completion = sumOf(usage, billedBeside.completion);
  if (prompt + completion === 0) return usage;
  const [read, made] = [
    mainTokenCount(usage["prompt_tokens"]) + prompt,
    mainTokenCount(usage["completion_tokens"]) + completion,
  ];
  return { ...usage, prompt_tokens: read, completion_tokens: made, total_tokens: read + made };
}

function sumOf(usage: JsonObject, names: readonly string[] = []): number {
  return names.reduce((sum, name) => sum + tokenCount(usage[name]), 0);
}

function usageElsewhere(answer: OwnObject, row: Pick<OpenAICompatibleRow, "usageAt">): Json | undefined {
  if (row.usageAt !== undefined) {
    const [outer, inner] = row.usageAt;
    const holder = answer[outer];
    if (isObject(holder) && isObject(holder[inner])) return holder[inner];
  }
  // Moonshot's streams have the usage inside the choice.
  const choices = answer["choices"];
  const first = Array.isArray(choices) ? (choices[0] as Json | undefined) : undefined;
  return isObject(first) && isObject(first["usage"]) ? first["usage"] : undefined;
}

function withOpenAINames(usage: OwnObject): JsonObject {
  // Some servers use the names of the Responses or Messages API.
  if (usage["prompt_tokens"] === undefined && typeof usage["input_tokens"] === "number")
    usage["prompt_tokens"] = usage["input_tokens"];
  if (usage["completion_tokens"] === undefined && typeof usage["output_tokens"] === "number")
    usage["completion_tokens"] = usage["output_tokens"];
  // Writer's spelling.
  for (const group of ["prompt", "completion"])
    if (isObject(usage[`${group}_token_details`])) usage[`${group}_tokens_details`] ??= usage[`${group}_token_details`];
  addDetail(usage, "prompt_tokens_details", "cached_tokens", CACHED_NAMES);
  addDetail(usage, "prompt_tokens_details", "cache_write_tokens", WRITTEN_NAMES);
  const details = usage["prompt_tokens_details"];
  const written = isObject(details) ? WRITTEN_DETAILS.find((name) => typeof details[name] === "number") : undefined;
  if (written !== undefined && isObject(details) && details["cache_write_tokens"] === undefined)
    usage["prompt_tokens_details"] = { ...details, cache_write_tokens: details[written] };
  addHour(usage);
  addAudio(usage);
  addDetail(usage, "completion_tokens_details", "reasoning_tokens", REASONING_NAMES);
  return usage;
}

/** Adds how much of what was written to a cache stays for an hour, which costs more than the rest. */
function addHour(usage: OwnObject): void {
  const details = usage["prompt_tokens_details"];
  if (!isObject(details) || details["cache_write_1h_tokens"] !== undefined) return;
  const byTime = [usage, details].flatMap((place) => WRITTEN_BY_TIME.map((name) => place[name])).find(isObject);
  const hour = tokenCount(byTime?.["ephemeral_1h_input_tokens"]);
  if (hour > 0) usage["prompt_tokens_details"] = { ...details, cache_write_1h_tokens: hour };
}

/**
 * Mistral's `prompt_tokens` exclude the audio of the prompt. Where no detail counts it either, what the total has beside
 * the prompt and the answer is the audio.
 */
function addAudio(usage: OwnObject): void {
  const details = usage["prompt_tokens_details"];
  if (!isCount(usage["prompt_audio_seconds"]) || (isObject(details) && isSet(details["audio_tokens"]))) return;
  const [prompt, completion, total] = ["prompt_tokens", "completion_tokens", "total_tokens"].map((name) => usage[name]);
  if (!isCount(prompt) || !isCount(completion) || !isCount(total) || total <= prompt + completion) return;
  const audio = total - prompt - completion;
  usage["prompt_tokens_details"] = { ...(isObject(details) && details), audio_tokens: audio };
}

function addDetail(usage: OwnObject, group: string, name: string, from: readonly string[]): void {
  const source = from.find((other) => typeof usage[other] === "number");
  if (source === undefined) return;
  const details = usage[group];
  if (isObject(details) && typeof details[name] === "number") return;
  usage[group] = { ...(isObject(details) && details), [name]: usage[source] };
}
