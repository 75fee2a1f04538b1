// The filters of single calls, which the list of calls, its histogram and the log share.
import { z } from "zod";
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { LogBounds, LogFilter, LogOrder } from "../../../store/calls/calls.ts";
import { MAX_TAG, type TagKind, tagOf } from "../../../store/calls/call-tags.ts";
import { askedBy } from "../asked.ts";
import { type Filters, filters, scopeOf, word } from "./call-shapes.ts";
import { callCode, instant } from "../schemas.ts";

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
const traceId = z
  .string()
  .regex(/^[0-9a-f]{32}$/, "expected 32 hex digits")
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
  trace_id: traceId,
  model_asked: word.meta({ description: "`model` as the caller wrote it." }),
  status: z.coerce.number().int().min(100).max(599).optional(),
  status_class: z
    .enum(["1xx", "2xx", "3xx", "4xx", "5xx"])
    .transform((text) => Number(text[0]))
    .optional(),
  outcome: z.enum(["ok", "failed"]).optional().meta({
    description: "`failed`: with a status of 400 or more, which refused calls have too, and those whose client left.",
  }),
  code: callCode.optional(),
  finish_reason: word.meta({ description: "The finish reason of the first choice." }),
  stream: flag,
  cancelled: flag.meta({ description: "Whether the client disconnected before the end." }),
  explained: flag,
  mirrored: flag.meta({ description: "Whether the call is a copy for the mirror of its route." }),
  mirror_of: traceId.meta({ description: "The trace id of the call that the call is a copy of." }),
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
  otel_trace_id: traceId,
  tool: shortText.meta({ description: "A tool that ran on a tool server: the server's label, or `<label>/<tool>`." }),
  policy: shortText.meta({ description: "A policy that took effect in the call." }),
  limit_id: shortText.meta({ description: "A limit or budget that refused an attempt, or would have in audit mode." }),
  estimated: flag.meta({
    description: "Whether the gateway estimated the usage or a part of it, because the provider did not report it.",
  }),
  cache: z
    .enum(["hit", "miss", "bypass"])
    .optional()
    .meta({ description: "What became of the call in the response cache." }),
  provider_request_id: shortText.meta({ description: "The provider's own id of any request of the call." }),
};

/** Filters that compare a tag of the call, with its kind: the most selective first. */
const TAGGED = {
  client_request_id: "request",
  otel_trace_id: "otel",
  metadata: "meta",
  tool: "tool",
  policy: "policy",
  mirror_of: "copy_of",
  limit_id: "limit",
} as const satisfies Partial<Record<keyof typeof callFilters, TagKind>>;
/** Figures that have a bound in the filters, by their name after `min_` and `max_`. */
const BOUNDED = {
  ms: "totalMs",
  first_content_ms: "firstContentMs",
  attempts: "attempts",
  tokens: "tokens",
  prompt_tokens: "promptTokens",
  completion_tokens: "completionTokens",
  cost_usd: "costNanoUsd",
} as const satisfies Readonly<Record<string, keyof LogBounds>>;

type Bound = `${"min" | "max"}_${keyof typeof BOUNDED}`;
type Plain = Exclude<keyof typeof callFilters, keyof typeof filters | keyof typeof TAGGED | Bound>;
/** Filters that the store has by the same name. */
const plainFilters = Object.fromEntries(
  Object.entries(callFilters).filter(([name]) => !(name in filters || name in TAGGED || /^(min|max)_/.test(name))),
) as Pick<typeof callFilters, Plain>;

type CallQuery = Filters & z.output<z.ZodObject<typeof callFilters>> & { readonly ended_from?: number | undefined };

export function filterOf(query: CallQuery & { readonly order: LogOrder }, place: TenantOrProject | null): LogFilter {
  const tags = Object.entries(TAGGED).flatMap(([name, kind]) => {
    const asked = query[name as keyof typeof TAGGED] ?? [];
    // The last pairs of metadata are usually the most selective.
    return [asked]
      .flat()
      .toReversed()
      .map((value) => tagOf(kind, value));
  });
  return {
    order: query.order,
    ...scopeOf(place, query),
    ...askedBy({ ...plainFilters, ended_from: instant }, query),
    ...(tags.length > 0 && { tags }),
    atLeast: boundsOf(query, "min"),
    atMost: boundsOf(query, "max"),
  };
}

function boundsOf(query: { readonly [Name in Bound]?: number | undefined }, side: "min" | "max"): LogBounds {
  const bounds = Object.entries(BOUNDED).flatMap(([name, figure]) => {
    const bound = query[`${side}_${name as keyof typeof BOUNDED}`];
    return bound === undefined ? [] : [[figure, bound] as const];
  });
  return Object.fromEntries(bounds);
}
