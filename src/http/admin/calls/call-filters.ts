// The filters of single calls, which the list of calls, its histogram and the log share.
import { z } from "zod";
import type { LogFilter, LogOrder } from "../../../store/calls/calls.ts";
import { MAX_TAG, tagOf } from "../../../store/calls/call-tags.ts";
import { filters, scopeOf, word } from "./call-shapes.ts";
import { callCode } from "../schemas.ts";

export const flag = z
  .enum(["true", "false"])
  .transform((text) => text === "true")
  .optional();
const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER).optional();
const dollars = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,9})?$/, 'expected dollars such as "0.25"')
  .transform((text) => Math.round(Number(text) * 1e9))
  .optional();
const MAX_TEXT_CHARACTERS = MAX_TAG - 8;
const shortText = z.string().min(1).max(MAX_TEXT_CHARACTERS).optional();

/** Pairs such as `team=search&session=s1`, encoded as a query inside the query. */
const metadata = z
  .string()
  .min(1)
  .max(2000)
  .transform((text) => [...new URLSearchParams(text)].map(([name, value]) => `${name}=${value}`))
  .refine(
    (pairs) => pairs.length >= 1 && pairs.length <= 16 && pairs.every((pair) => pair.length <= MAX_TEXT_CHARACTERS),
    "expected up to 16 pairs such as team=search, separated by &",
  )
  .optional()
  .meta({
    description:
      "Members that the call's `metadata` must have, such as `team=search`; separate several with `&` (encoded as `%26`).",
  });

/** Every filter but the order. */
export const callFilters = {
  ...filters,
  trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "expected 32 hex digits")
    .optional(),
  model_asked: word.meta({ description: "`model` as the caller wrote it." }),
  status: z.coerce.number().int().min(100).max(599).optional(),
  status_class: z
    .enum(["1xx", "2xx", "3xx", "4xx", "5xx"])
    .transform((text) => Number(text[0]))
    .optional(),
  outcome: z.enum(["ok", "failed"]).optional(),
  code: callCode.optional(),
  finish_reason: word.meta({ description: "The finish reason of the first choice." }),
  stream: flag,
  cancelled: flag.meta({ description: "Whether the client disconnected before the end." }),
  explained: flag,
  mirrored: flag.meta({ description: "Whether the call is a copy for the mirror of its route." }),
  mirror_of: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "expected 32 hex digits")
    .optional()
    .meta({ description: "The trace id of the call that the call is a copy of." }),
  settled: flag,
  min_ms: count,
  max_ms: count,
  min_first_content_ms: count,
  max_first_content_ms: count,
  min_attempts: count,
  min_tokens: count.meta({ description: "Tokens of prompt and completion together." }),
  max_tokens: count,
  min_prompt_tokens: count,
  max_prompt_tokens: count,
  min_completion_tokens: count,
  max_completion_tokens: count,
  min_cost_usd: dollars,
  max_cost_usd: dollars,
  metadata,
  client_request_id: shortText.meta({ description: "The `x-request-id` that the client sent." }),
  otel_trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "expected 32 hex digits")
    .optional(),
  tool: shortText.meta({ description: "A tool that ran on a tool server: the server's label, or `<label>/<tool>`." }),
  policy: shortText.meta({ description: "A policy that took effect in the call." }),
  limit_id: shortText.meta({ description: "A limit or budget that refused an attempt, or would have in audit mode." }),
  estimated: flag.meta({ description: "Whether the gateway estimated the usage, because the provider reported none." }),
  cache: z
    .enum(["hit", "miss", "bypass"])
    .optional()
    .meta({ description: "What became of the call in the response cache." }),
  provider_request_id: shortText.meta({ description: "The provider's own id of any request of the call." }),
};

type CallQuery = z.output<z.ZodObject<typeof callFilters>> & {
  readonly order: LogOrder;
  readonly ended_from?: number | undefined;
  readonly project_id?: string | undefined;
  readonly tenant_id?: string | undefined;
};

export function filterOf(query: CallQuery, place: Parameters<typeof scopeOf>[0]): LogFilter {
  const tags = [
    ...(query.client_request_id === undefined ? [] : [tagOf("request", query.client_request_id)]),
    ...(query.otel_trace_id === undefined ? [] : [tagOf("otel", query.otel_trace_id)]),
    // The last pairs are usually the most selective.
    ...(query.metadata ?? []).toReversed().map((pair) => tagOf("meta", pair)),
    ...(query.tool === undefined ? [] : [tagOf("tool", query.tool)]),
    ...(query.policy === undefined ? [] : [tagOf("policy", query.policy)]),
    ...(query.mirror_of === undefined ? [] : [tagOf("copy_of", query.mirror_of)]),
    ...(query.limit_id === undefined ? [] : [tagOf("limit", query.limit_id)]),
  ];
  const given = {
    traceId: query.trace_id,
    endedFromMs: query.ended_from,
    modelAsked: query.model_asked,
    status: query.status,
    statusClass: query.status_class,
    outcome: query.outcome,
    code: query.code,
    finishReason: query.finish_reason,
    stream: query.stream,
    cancelled: query.cancelled,
    explained: query.explained,
    mirrored: query.mirrored,
    settled: query.settled,
    estimated: query.estimated,
    cache: query.cache,
    providerRequestId: query.provider_request_id,
    ...(tags.length > 0 && { tags }),
    atLeast: known({
      totalMs: query.min_ms,
      firstContentMs: query.min_first_content_ms,
      attempts: query.min_attempts,
      tokens: query.min_tokens,
      promptTokens: query.min_prompt_tokens,
      completionTokens: query.min_completion_tokens,
      costNanoUsd: query.min_cost_usd,
    }),
    atMost: known({
      totalMs: query.max_ms,
      firstContentMs: query.max_first_content_ms,
      tokens: query.max_tokens,
      promptTokens: query.max_prompt_tokens,
      completionTokens: query.max_completion_tokens,
      costNanoUsd: query.max_cost_usd,
    }),
  };
  return { order: query.order, ...scopeOf(place, query), ...known(given) };
}

function known<T extends object>(given: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>;
  };
}
