// The finish reason, usage and log probabilities of an answer, in the terms of chat completions:
// https://docs.cohere.com/reference/chat#response
import type { FinishReason, Usage } from "../../core/chat.ts";
import { isObject, type Json, type JsonObject, textOrEmpty } from "../../core/json.ts";
import { type KnownFigures, withUnnamed } from "../../core/record/usage.ts";
import { StreamError, type FailureClass } from "../interface/upstream-failure.ts";
import { classOfText } from "./errors.ts";
import { mainTokenCount, usageOfText } from "../../core/record/token-count.ts";

const FINISH: ReadonlyMap<string, FinishReason> = new Map<string, FinishReason>([
  ["COMPLETE", "stop"],
  ["STOP_SEQUENCE", "stop"],
  ["TOOL_CALL", "tool_calls"],
  ["MAX_TOKENS", "length"],
  // Values of version 1 that private deployments may still send.
  ["ERROR_LIMIT", "length"],
  ["ERROR_TOXIC", "content_filter"],
]);
/** Finish reasons of answers that failed. */
const FAILED: ReadonlyMap<string, FailureClass> = new Map<string, FailureClass>([
  ["ERROR", "server"],
  ["TIMEOUT", "timeout"],
  ["USER_CANCEL", "server"],
]);

export interface Finish {
  readonly finish_reason: FinishReason;
  readonly native_finish_reason?: string;
}

/**
 * A finish reason that the vendor adds later counts as COMPLETE. Throws StreamError for an answer that failed; `error`
 * is the vendor's description of the failure, and without a finish reason it is one by itself.
 */
export function finishOf(given: Json | undefined, error: Json | undefined): Finish {
  const described = typeof error === "string" ? error.trim() : "";
  const reason = textOrEmpty(given) || (described === "" ? "" : "ERROR");
  if (reason === "") return { finish_reason: "stop" };
  const failed = FAILED.get(reason);
  if (failed !== undefined) {
    const message = described === "" ? `The provider ended its answer with ${reason}.` : described;
    throw new StreamError({
      class: classOfText(failed, message),
      message,
      param: null,
      nativeCode: textOrEmpty(given) || null,
    });
  }
  return { finish_reason: FINISH.get(reason) ?? "stop", native_finish_reason: reason };
}

/**
 * The members of usage: https://docs.cohere.com/reference/chat#response. `billed_units` is passed to the client
 * unchanged.
 */
const KNOWN: KnownFigures = {
  tokens: { input_tokens: "figure", output_tokens: "figure", image_tokens: "figure", reasoning_tokens: "figure" },
  billed_units: {
    input_tokens: "figure",
    output_tokens: "figure",
    search_units: "figure",
    classifications: "figure",
    images: "figure",
  },
  cached_tokens: "figure",
};

/** `tokens` includes the vendor's own preamble, which `billed_units` excludes. `null` when there are no figures. */
export function usageOf(native: Json | undefined): Usage | null {
  if (!isObject(native)) return null;
  const { tokens, billed_units: billed, cached_tokens: cached } = native;
  const figures = isObject(tokens) ? tokens : isObject(billed) ? billed : null;
  if (figures === null) return null;
  const { image_tokens: image, reasoning_tokens: reasoning } = figures;
  const prompt = mainTokenCount(figures["input_tokens"]);
  const completion = mainTokenCount(figures["output_tokens"]);
  const usage: Usage = {
    ...usageOfText(prompt, completion),
    ...((typeof cached === "number" || typeof image === "number") && {
      prompt_tokens_details: {
        ...(typeof cached === "number" && { cached_tokens: cached }),
        ...(typeof image === "number" && { image_tokens: image }),
      },
    }),
    ...(typeof reasoning === "number" && { completion_tokens_details: { reasoning_tokens: reasoning } }),
    ...(isObject(billed) && { billed_units: billed }),
  };
  return withUnnamed(usage, native, KNOWN);
}

/**
 * One entry for each piece of text, because the vendor does not report where in it each token ends. `null` when there
 * are no log probabilities.
 */
export function logprobsOf(items: Json | undefined): JsonObject | null {
  const list = Array.isArray(items) ? (items as readonly Json[]) : [items ?? null];
  const content = list.filter(isObject).flatMap(({ text, logprobs }) => {
    if (typeof text !== "string" || !Array.isArray(logprobs)) return [];
    const sum = (logprobs as readonly Json[]).reduce<number>(
      (total, each) => total + (typeof each === "number" ? each : 0),
      0,
    );
    return [{ token: text, logprob: sum, bytes: [...Buffer.from(text)], top_logprobs: [] }];
  });
  return content.length === 0 ? null : { content, refusal: null };
}
