// The response object: the answer of the Responses API, and the object within its events.
import type { FinishReason, Usage } from "../../core/chat.ts";
import type { GatewayError } from "../../core/errors.ts";
import { newRandomId } from "../../core/ids.ts";
import { isObject, type Json, type JsonObject } from "../../core/json.ts";
import { tokenCount } from "../../core/record/token-count.ts";
import { wholeCounts } from "../../core/record/usage.ts";
import type { RequestMemo } from "./request-memo.ts";

/** What stays the same from the first event of an answer to its last. `now` tells Unix seconds. */
export type ResponseFrame = ReturnType<typeof responseFrame>;

export function responseFrame(memo: RequestMemo, now: () => number) {
  /** The model of the target that answers, for a client that named only a route; empty until it is known. */
  const used = { model: "" };
  return { id: `resp_${newRandomId()}`, createdAt: now(), memo, now, used };
}

export interface ResponseState {
  readonly status: "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled";
  readonly output: readonly JsonObject[];
  readonly usage: JsonObject | null;
  readonly reason?: "max_output_tokens" | "content_filter";
  readonly error?: JsonObject;
  /** The tier that the provider reports. */
  readonly tier?: Json | undefined;
}

/** The tiers that the API knows. */
const TIERS: ReadonlySet<unknown> = new Set(["auto", "default", "flex", "scale", "priority"]);

export function responseObject(frame: ResponseFrame, state: ResponseState): JsonObject {
  const { tier } = state;
  return {
    ...ownMembers(frame, state),
    ...frame.memo.repeated,
    ...(typeof tier === "string" && TIERS.has(tier) && { service_tier: tier }),
  };
}

/** Returns the members that do not repeat the request. */
export function ownMembers({ id, createdAt, memo, now, used }: ResponseFrame, state: ResponseState): JsonObject {
  const { status, output, usage, reason, error } = state;
  return {
    id,
    object: "response",
    created_at: createdAt,
    completed_at: status === "completed" ? now() : null,
    status,
    error: error ?? null,
    incomplete_details: reason === undefined ? null : { reason },
    model: memo.model === "" ? used.model : memo.model,
    output,
    usage,
  };
}

/** Returns how an answer ended. */
export function endedState(
  finish: FinishReason | null,
  output: readonly JsonObject[],
  usage: Json | undefined,
): ResponseState {
  const reason = incompleteReason(finish);
  const figures = isObject(usage) ? usageOf(usage as Usage) : null;
  return reason === null
    ? { status: "completed", output, usage: figures }
    : { status: "incomplete", output, usage: figures, reason };
}

/** Returns `null` for the end of a complete answer. */
export function incompleteReason(finish: Json | undefined): "max_output_tokens" | "content_filter" | null {
  return finish === "length" ? "max_output_tokens" : finish === "content_filter" ? "content_filter" : null;
}

/** Cached tokens and those that were written to a cache are parts of the input, and reasoning is one of the output. */
function usageOf(usage: Usage): JsonObject {
  const { prompt, completion } = wholeCounts(usage);
  const { cached_tokens: cached, cache_write_tokens: written } = objectIn(usage, "prompt_tokens_details");
  const { reasoning_tokens: reasoning } = objectIn(usage, "completion_tokens_details");
  return {
    input_tokens: prompt,
    input_tokens_details: { cached_tokens: tokenCount(cached), cache_write_tokens: tokenCount(written) },
    output_tokens: completion,
    output_tokens_details: { reasoning_tokens: tokenCount(reasoning) },
    total_tokens: usage.total_tokens,
  };
}

function objectIn(usage: JsonObject, name: string): JsonObject {
  const value = usage[name];
  return isObject(value) ? value : {};
}

/** Returns the error of a failed response. The API has few codes of its own. */
export function responseError({ code, entry, message }: GatewayError): JsonObject {
  return {
    code: code === "rate_limit_exceeded" ? code : entry.source === "client" ? "invalid_prompt" : "server_error",
    message,
  };
}
