// How an answer ended and what it used, in the terms of chat completions:
// https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons and the usage object.
import type { Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, objectsIn } from "../../core/json.ts";
import { type KnownFigures, withUnnamed } from "../../core/record/usage.ts";
import { stopReasons } from "../content-blocks/finish-reasons.ts";
import { mainTokenCount, tokenCount, usageOfText } from "../../core/record/token-count.ts";

export const { finishOf, isCutOff } = stopReasons({
  // A tool run by the vendor took too long. The caller continues by sending the turn back.
  pause_turn: "stop",
  compaction: "length",
  refusal: "content_filter",
});

/** The stop sequence of the request at which the model stopped. */
export function stopSequenceOf(value: Json | undefined): { readonly stop_sequence?: string } {
  return typeof value === "string" ? { stop_sequence: value } : {};
}

/** The vendor's explanation of a refusal, when there is one. */
export function refusalOf(details: Json | undefined): string | null {
  const explanation = isObject(details) ? details["explanation"] : null;
  return typeof explanation === "string" && explanation !== "" ? explanation : null;
}

/** The vendor's usage object: https://platform.claude.com/docs/en/api/beta/messages/create. */
const OF_ONE_ITERATION: KnownFigures = {
  type: "figure",
  model: "figure",
  input_tokens: "figure",
  output_tokens: "figure",
  cache_creation_input_tokens: "figure",
  cache_read_input_tokens: "figure",
  cache_creation: { ephemeral_5m_input_tokens: "figure", ephemeral_1h_input_tokens: "figure" },
  output_tokens_details: { thinking_tokens: "figure" },
};
const KNOWN: KnownFigures = {
  ...OF_ONE_ITERATION,
  iterations: OF_ONE_ITERATION,
  server_tool_use: "all",
  service_tier: "figure",
  inference_geo: "figure",
  speed: "figure",
};

/** Iterations that another model makes. The vendor bills them at that model's price. */
const OF_OTHER_MODELS: ReadonlySet<unknown> = new Set(["advisor_message", "fallback_message"]);

interface Counts {
  readonly input: number;
  readonly read: number;
  readonly written: number;
  readonly writtenHour: number;
  readonly output: number;
  readonly thought: number;
}

/**
 * `input_tokens` excludes what was read from and written to the cache, while `prompt_tokens` counts all three. The
 * top-level figures exclude the `iterations` other than the model's own turns (a compaction, an advisor), but all
 * iterations are billed: https://platform.claude.com/docs/en/build-with-claude/compaction
 */
export function usageOf(native: JsonObject): Usage {
  const {
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens_details: details,
    iterations,
  } = native;
  const each = objectsIn(iterations);
  const says = {
    read: typeof read === "number" || each.length > 0,
    written: typeof written === "number" || each.length > 0,
    thought: isObject(details) && typeof details["thinking_tokens"] === "number",
  };
  const others = each.filter(({ type, model }) => OF_OTHER_MODELS.has(type) && typeof model === "string");
  return withUnnamed(
    {
      ...figures(largest(countsOf(native), each.map(countsOf)), says),
      ...(others.length > 0 && {
        other_models: others.map((one) => ({
          model: one["model"] as string,
          ...figures(countsOf(one), { read: true, written: true, thought: false }),
        })),
      }),
      ...hostedTools(native["server_tool_use"]),
      ...servedHow(native),
    },
    native,
    KNOWN,
  );
}

/**
 * Where the model ran, and in which mode, which can change the price:
 * https://platform.claude.com/docs/en/manage-claude/data-residency,
 * https://platform.claude.com/docs/en/build-with-claude/fast-mode
 */
function servedHow({ inference_geo: place, speed }: JsonObject): Pick<Usage, "inference_geo" | "speed"> {
  return {
    ...(typeof place === "string" && place !== "" && place !== "not_available" && { inference_geo: place }),
    ...(speed === "fast" && { speed }),
  };
}

/** `web_search_requests` counts uses of `web_search`. */
function hostedTools(used: Json | undefined): Pick<Usage, "hosted_tools"> {
  if (!isObject(used)) return {};
  const counts = Object.entries(used).flatMap(([name, value]) => {
    const uses = tokenCount(value);
    return uses > 0 ? [[name.replace(/_requests$/, "").slice(0, MAX_KIND), uses] as const] : [];
  });
  return counts.length === 0 ? {} : { hosted_tools: Object.fromEntries(counts.slice(0, MAX_KINDS)) };
}
const MAX_KIND = 64;
const MAX_KINDS = 32;

function countsOf(native: JsonObject): Counts {
  const { cache_creation: creation, output_tokens_details: details } = native;
  return {
    input: mainTokenCount(native["input_tokens"]),
    read: tokenCount(native["cache_read_input_tokens"]),
    written: tokenCount(native["cache_creation_input_tokens"]),
    writtenHour: isObject(creation) ? tokenCount(creation["ephemeral_1h_input_tokens"]) : 0,
    output: mainTokenCount(native["output_tokens"]),
    thought: isObject(details) ? tokenCount(details["thinking_tokens"]) : 0,
  };
}

/**
 * For each figure, the larger of the top-level figure and the sum of the iterations. An impossible figure is ignored
 * when the other is possible.
 */
function largest(top: Counts, iterations: readonly Counts[]): Counts {
  const most = (name: keyof Counts): number => {
    const possible = iterations.map((one) => one[name]).filter((count) => !Number.isNaN(count));
    if (possible.length === 0) return top[name];
    const sum = possible.reduce((total, count) => total + count, 0);
    return Number.isNaN(top[name]) ? sum : Math.max(top[name], sum);
  };
  return iterations.length === 0
    ? top
    : {
        input: most("input"),
        read: most("read"),
        written: most("written"),
        writtenHour: most("writtenHour"),
        output: most("output"),
        thought: most("thought"),
      };
}

/** `says` states which of the details the vendor reports. */
function figures(
  { input, read, written, writtenHour, output, thought }: Counts,
  says: { readonly read: boolean; readonly written: boolean; readonly thought: boolean },
): Usage {
  return {
    ...usageOfText(input + read + written, output),
    ...((says.read || says.written) && {
      prompt_tokens_details: {
        ...(says.read && { cached_tokens: read }),
        ...(says.written && { cache_write_tokens: written }),
        ...(writtenHour > 0 && { cache_write_1h_tokens: writtenHour }),
      },
    }),
    ...(says.thought && { completion_tokens_details: { reasoning_tokens: thought } }),
  };
}

const TIERS: ReadonlyMap<unknown, string> = new Map([
  ["standard", "default"],
  ["priority", "priority"],
]);

/** The tier that served the call, when OpenAI has a name for it. */
export function serviceTierOf({ service_tier: tier }: JsonObject): { readonly service_tier?: string } {
  const word = TIERS.get(tier);
  return word === undefined ? {} : { service_tier: word };
}
