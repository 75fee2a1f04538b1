// How single calls are filtered and shown, shared by reports, lists and the log.

// Decides (records and configuration): Who sees `error_detail`, the text for operators? By: `shownRecord`. Rule: The log has
// it, and the admin API shows it to operators alone.
import { z } from "zod";
import { type AdminCaller, nothingThere, type TenantOrProject } from "../../../auth/grants.ts";
import type { JsonObject } from "../../../core/json.ts";
import { OPERATION_NAMES } from "../../../core/operation.ts";
import type { CallRecord } from "../../../core/record/record.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import { callFields } from "../../../observe/log.ts";
import type { ToldColumn } from "../../../store/calls/call-column-types.ts";
import type { CallScope, CallSummary, LogPage, StoredCall } from "../../../store/calls/calls.ts";
import { askedBy, placeAsked } from "../asked.ts";
import type { AdminCalls } from "../report-reads.ts";
import { instant, isoOrNull, time } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";

const count = z.int();
/** The type check fails until every column of which a summary tells is here. */
export const CALL_SHAPE = {
  trace_id: z.string(),
  at: time,
  tenant_id: z.string().nullable(),
  project_id: z.string().nullable(),
  token_id: z.string().nullable(),
  user_id: z.string().nullable(),
  end_user: z.string().nullable(),
  route: z.string().nullable(),
  provider: z.string().nullable(),
  model: z.string().nullable(),
  status: z.int(),
  code: z.string().nullable(),
  stream: z.boolean(),
  cancelled: z.boolean(),
  attempts: count,
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  cache_write_tokens: count.meta({ description: "Prompt tokens that were written to the provider's prompt cache." }),
  reasoning_tokens: count,
  cost_usd: z.string().nullable(),
  cache_saved_usd: z.string().meta({
    description:
      "How much less the call cost than without the provider's prompt cache, in dollars; below 0 where it cost more.",
  }),
  total_ms: z.number(),
  first_content_ms: z.number().nullable(),
  model_asked: z.string().nullable().meta({ description: "`model` as the caller wrote it." }),
  finish_reason: z.string().nullable().meta({ description: "The finish reason of the first choice." }),
  settled: z.boolean().meta({
    description:
      "False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate.",
  }),
  operation: z.string().meta({ description: "What was called, such as `chat.completions`." }),
  cache: z
    .enum(["hit", "miss", "bypass"])
    .nullable()
    .meta({ description: "What became of the call in the response cache; null where it was off." }),
  mirror_of: z
    .string()
    .nullable()
    .meta({ description: "The trace id of the call that this one is a copy of, for a mirror." }),
  estimated: z.boolean().meta({
    description: "Whether the gateway estimated the usage or a part of it, because the provider did not report it.",
  }),
} satisfies Readonly<
  Record<
    Exclude<ToldColumn, "cost_nano_usd" | "cache_saved_nano_usd"> | "at" | "cost_usd" | "cache_saved_usd" | "total_ms",
    z.ZodType
  >
>;

export const listedCall = z.strictObject(CALL_SHAPE).meta({ id: "Call" });

/** What a call in an answer is made of. */
export type DatedCall = ThingOf<typeof CALL_SHAPE>;
export const dated = (call: CallSummary): DatedCall => ({ ...call, atMs: call.timeMs });

/** A call as reports and lists show it. */
export const shownCall = (call: CallSummary): JsonObject => shownAs(listedCall, dated(call));

export const recordShape = z.record(z.string(), z.unknown()).nullable().meta({
  description:
    "All details of the call, with the field names of the log; null if they are older than details are kept. Only operators get `error_detail`.",
});

/** The details of a stored call, for this caller. `error_detail` may tell of the operator's accounts and addresses. */
export function shownRecord(
  record: CallRecord | null,
  { isOperator }: AdminCaller,
): Readonly<Record<string, unknown>> | null {
  if (record === null) return null;
  const fields = callFields(record);
  const { error_detail: _forOperators, ...forOthers } = fields;
  return isOperator ? fields : forOthers;
}

export const word = z.string().min(1).max(400).optional();
/** The tenant and project that a query may name when the path does not name them. */
export const SCOPE_QUERY = {
  operator: { tenant_id: word, project_id: word },
  tenant: { project_id: word },
  project: {},
} as const;
export const filters = {
  token_id: word,
  user_id: word,
  end_user: word,
  route: word,
  provider: word,
  model: word.meta({ description: "The model's name at the provider." }),
  operation: z.enum([...OPERATION_NAMES, "unserved"]).optional(),
  from: instant.optional().meta({ description: "Only calls at this time or later." }),
  to: instant.optional().meta({ description: "Only calls before this time." }),
};

const scopeFilters = { ...filters, ...SCOPE_QUERY.operator };
export type Filters = z.output<z.ZodObject<typeof scopeFilters>>;

/** `place` is null for the operator, who sees all tenants. */
export function scopeOf(
  place: TenantOrProject | null,
  sent: Filters,
): CallScope & { readonly fromMs?: number; readonly toMs?: number } {
  return { ...askedBy(scopeFilters, sent), ...placeAsked(place) };
}

export const asOf = time.meta({
  description:
    "The figures are those of the calls in the database at this time; a call is there moments after its end.",
});
export const wholeUntil = time.nullable().meta({
  description:
    "Before this time, hours in which the period begins, ends or has a midnight count as a whole where they begin (of end users: days in UTC), because their calls are not kept any more; null if all is exact.",
});

export const tokenNamesShape = z
  .record(z.string(), z.string())
  .meta({ description: "The names of the access tokens of this answer by id, as far as they are known." });

export const callPage = (entry: z.ZodType, id: string): z.ZodType =>
  z
    .strictObject({
      data: z.array(entry),
      next_cursor: z.string().nullable().meta({ description: "Null on the last page." }),
      looked_to: time.nullable().meta({
        description:
          "Where the search stopped before the page was full, because one request searches a bounded number of calls; continue with `next_cursor`. Null if the page is full or the last.",
      }),
      token_names: tokenNamesShape,
    })
    .meta({ id });

export function shownPage({ data, nextCursor, searchedToMs }: LogPage, snapshot: Pick<Snapshot, "tokens">): JsonObject {
  return {
    data: data.map(shownCall),
    next_cursor: nextCursor,
    looked_to: isoOrNull(searchedToMs),
    token_names: tokenNames(
      data.map(({ tokenId }) => tokenId),
      snapshot,
    ),
  };
}

/** By id. */
export function tokenNames(
  ids: readonly (string | null)[],
  { tokens }: Pick<Snapshot, "tokens">,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ids.flatMap((id): readonly (readonly [string, string])[] => {
      const token = id === null ? undefined : tokens.get(id);
      return token === undefined ? [] : [[token.id, token.name]];
    }),
  );
}

/** Throws `not_found` for a call that is not in the place. */
export async function findCall(
  calls: Pick<AdminCalls, "findCall">,
  traceId: string,
  at: TenantOrProject | null,
): Promise<StoredCall> {
  const found = await calls.findCall(traceId, at?.tenantId);
  if (found === null || (at?.projectId != null && found.summary.projectId !== at.projectId))
    throw nothingThere(`call ${traceId}`);
  return found;
}
