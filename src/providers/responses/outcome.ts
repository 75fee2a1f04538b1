// How an answer ended and what it used, in the terms of chat completions:
// https://platform.openai.com/docs/api-reference/responses/object (status, incomplete_details, usage).
import type { ChunkChoice, Usage } from "../../core/chat.ts";
import { isObject, isSet, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import { type KnownFigures, withUnnamed } from "../../core/record/usage.ts";
import { MalformedAnswer, StreamError, withCounted } from "../interface/upstream-failure.ts";
import { isCount, mainTokenCount } from "../../core/record/token-count.ts";
import type { ResponsesRules } from "./rules.ts";

/** The finish reason of an answer that has ended. */
export function finishOf(
  { status, incomplete_details: details }: JsonObject,
  hasCalls: boolean,
): Pick<ChunkChoice, "finish_reason" | "native_finish_reason"> {
  const reason = isObject(details) && typeof details["reason"] === "string" ? details["reason"] : null;
  if (status === "incomplete" || (status === undefined && reason !== null))
    return {
      // any other reason means a bound, too
      finish_reason: reason === "content_filter" ? reason : "length",
      ...(reason !== null && { native_finish_reason: reason }),
    };
  return { finish_reason: hasCalls ? "tool_calls" : "stop" };
}

/**
 * Throws StreamError for an answer that failed or was cancelled, and MalformedAnswer for one that goes on elsewhere.
 * `text` is that of the body or event.
 */
export function requireEnded(response: JsonObject, rules: ResponsesRules, text: string): void {
  withCounted(
    () => besideChoices(response, objectsIn(response["output"])).usage,
    () => requireStatus(response, rules, text),
  );
}

function requireStatus(response: JsonObject, { failureOf }: ResponsesRules, text: string): void {
  const { status, error } = response;
  if (isObject(error) || typeof error === "string" || status === "failed") {
    const failure = failureOf({ error: error ?? { message: "The provider's response failed.", code: null } }, text);
    throw new StreamError(failure);
  }
  if (status === "cancelled")
    throw new StreamError({
      class: "server",
      message: "The provider cancelled the response.",
      param: null,
      nativeCode: "cancelled",
    });
  if (status === "queued" || status === "in_progress")
    throw new MalformedAnswer(`The provider's answer has the status ${JSON.stringify(status)} and has not ended.`);
}

/** A price that the vendor computes is not a token count. Uses of its tools stay unnamed, because they are billed. */
const KNOWN: KnownFigures = {
  input_tokens: "figure",
  output_tokens: "figure",
  total_tokens: "figure",
  input_tokens_details: {
    cached_tokens: "figure",
    cache_write_tokens: "figure",
    /* the usual lifetime, at the usual price of a write */ cache_write_tokens_details: { ttl_30m_tokens: "figure" },
    text_tokens: "figure",
    image_tokens: "figure",
    audio_tokens: "figure",
  },
  output_tokens_details: {
    reasoning_tokens: "figure",
    text_tokens: "figure",
    image_tokens: "figure",
    audio_tokens: "figure",
  },
  context_details: "all",
  cost: "all",
  cost_details: "all",
  is_byok: "figure",
  cost_in_usd_ticks: "figure",
  /* of the whole answer, and beside its usage */ tool_usage: { web_search: "all" },
};

/** `input_tokens` includes what was read from and written to the cache, and `output_tokens` the reasoning. */
export function usageOf(native: JsonObject): Usage {
  const input = mainTokenCount(native["input_tokens"]);
  const output = mainTokenCount(native["output_tokens"]);
  const total = native["total_tokens"];
  const given = detailsOf(native["input_tokens_details"], OF_PROMPTS);
  const made = detailsOf(native["output_tokens_details"], OF_ANSWERS);
  return withUnnamed(
    {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: isCount(total) ? total : input + output,
      ...(given !== null && { prompt_tokens_details: given }),
      ...(made !== null && { completion_tokens_details: made }),
    },
    native,
    KNOWN,
  );
}

/** The details that are priced, which have the same names in both forms. */
const OF_PROMPTS = ["cached_tokens", "cache_write_tokens", "audio_tokens", "image_tokens"];
const OF_ANSWERS = ["reasoning_tokens", "audio_tokens", "image_tokens"];

function detailsOf(details: Json | undefined, names: readonly string[]): Readonly<Record<string, number>> | null {
  if (!isObject(details)) return null;
  const counts = names.flatMap((name) => (isCount(details[name]) ? [[name, details[name]] as const] : []));
  return counts.length === 0 ? null : Object.fromEntries(counts);
}

/** Types of items that are uses of the vendor's own tools: https://platform.openai.com/docs/guides/tools */
const HOSTED: ReadonlyMap<Json | undefined, string> = new Map<Json | undefined, string>([
  ["web_search_call", "web_search"],
  ["file_search_call", "file_search"],
  ["code_interpreter_call", "code_interpreter"],
  ["image_generation_call", "image_generation"],
]);
/** Opening a page that a search has found is no search: https://platform.openai.com/docs/pricing */
const FREE_ACTIONS: ReadonlySet<unknown> = new Set(["open_page", "find_in_page", "find"]);

/** Returns how often the vendor ran its own tools. */
export function toolUses(items: readonly JsonObject[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { type, action } of items) {
    const kind = HOSTED.get(type);
    if (kind === undefined || (isObject(action) && FREE_ACTIONS.has(action["type"]))) continue;
    counts[kind] = (counts[kind] ?? 0) + 1;
  }
  return counts;
}

/**
 * Where the vendor tells how many searches it bills, that counts:
 * https://platform.openai.com/docs/api-reference/responses/object
 */
function hostedTools(items: readonly JsonObject[], billed: Json | undefined): Pick<Usage, "hosted_tools"> {
  const { web_search: search } = isObject(billed) ? billed : {};
  const searches = isObject(search) && isCount(search["num_requests"]) ? { web_search: search["num_requests"] } : {};
  const counts = Object.entries({ ...toolUses(items), ...searches }).filter(([, uses]) => uses > 0);
  return counts.length === 0 ? {} : { hosted_tools: Object.fromEntries(counts) };
}

/** What stands beside the choices of an answer or of its last chunk. `items` are those of the answer. */
export function besideChoices(
  response: JsonObject,
  items: readonly JsonObject[],
): JsonObject & { readonly usage?: Usage } {
  const { usage, service_tier: tier, tool_usage: billed, moderation } = response;
  const tools = hostedTools(items, billed);
  return {
    ...((isObject(usage) || tools.hosted_tools !== undefined) && {
      usage: {
        ...usageOf({ ...(isObject(usage) && usage), ...(billed !== undefined && { tool_usage: billed }) }),
        ...tools,
      },
    }),
    ...(typeof tier === "string" && { service_tier: tier }),
    ...(isObject(moderation) && { moderation: moderationOf(moderation) }),
  };
}

/** A chat completion has a list of results where a response has one: https://github.com/openai/openai-node */
function moderationOf(moderation: JsonObject): JsonObject {
  const found = Object.entries(moderation).map(([side, one]): readonly [string, Json | undefined] =>
    isObject(one) && one["type"] === "moderation_result"
      ? [side, { type: "moderation_results", ...(isSet(one["model"]) && { model: one["model"] }), results: [one] }]
      : [side, one],
  );
  return Object.fromEntries(found);
}

/** What an answer says of itself, in its first chunk or in the whole. */
export function frameOf(response: JsonObject): JsonObject {
  const { id, model, created_at: created } = response;
  return {
    ...(typeof id === "string" && id !== "" && { id }),
    ...(typeof model === "string" && model !== "" && { model }),
    ...(typeof created === "number" && { created }),
  };
}
