// How single calls are filtered and shown, shared by reports, lists and the log.
import { z } from "zod";
import { usd } from "../../../accounting/price.ts";
import { nothingThere, type TenantOrProject } from "../../../auth/grants.ts";
import type { JsonObject } from "../../../core/json.ts";
import { OPERATION_NAMES } from "../../../core/operation.ts";
import type { Snapshot } from "../../../core/snapshot.ts";
import type { ToldColumn } from "../../../store/calls/call-column-types.ts";
import type { CallScope, CallSummary, LogPage, StoredCall } from "../../../store/calls/calls.ts";
import type { AdminCalls } from "../report-reads.ts";
import { instant, iso, isoOrNull, time } from "../schemas.ts";

/** A member of a call as reports and lists show it. */
interface ShownMember {
  readonly schema: z.ZodType;
  readonly of: (call: CallSummary) => unknown;
}
const shown = <Schema extends z.ZodType>(schema: Schema, of: (call: CallSummary) => z.input<Schema>) => ({
  schema,
  of,
});

const count = z.int();
/** The type check fails until every column of which a summary tells is here. */
const SHOWN = {
  trace_id: shown(z.string(), (call) => call.traceId),
  at: shown(time, (call) => iso(call.timeMs)),
  tenant_id: shown(z.string().nullable(), (call) => call.tenantId),
  project_id: shown(z.string().nullable(), (call) => call.projectId),
  token_id: shown(z.string().nullable(), (call) => call.tokenId),
  user_id: shown(z.string().nullable(), (call) => call.userId),
  end_user: shown(z.string().nullable(), (call) => call.endUser),
  route: shown(z.string().nullable(), (call) => call.route),
  provider: shown(z.string().nullable(), (call) => call.provider),
  model: shown(z.string().nullable(), (call) => call.model),
  status: shown(z.int(), (call) => call.status),
  code: shown(z.string().nullable(), (call) => call.code),
  stream: shown(z.boolean(), (call) => call.stream),
  cancelled: shown(z.boolean(), (call) => call.cancelled),
  attempts: shown(count, (call) => call.attempts),
  prompt_tokens: shown(count, (call) => call.promptTokens),
  completion_tokens: shown(count, (call) => call.completionTokens),
  cached_tokens: shown(count, (call) => call.cachedTokens),
  cache_write_tokens: shown(
    count.meta({ description: "Prompt tokens that were written to the provider's prompt cache." }),
    (call) => call.cacheWriteTokens,
  ),
  reasoning_tokens: shown(count, (call) => call.reasoningTokens),
  cost_usd: shown(z.string().nullable(), (call) => (call.costNanoUsd === null ? null : usd(call.costNanoUsd))),
  cache_saved_usd: shown(
    z.string().meta({
      description:
        "How much less the call cost than without the provider's prompt cache, in dollars; below 0 where it cost more.",
    }),
    (call) => usd(call.cacheSavedNanoUsd),
  ),
  total_ms: shown(z.number(), (call) => call.totalMs),
  first_content_ms: shown(z.number().nullable(), (call) => call.firstContentMs),
  model_asked: shown(
    z.string().nullable().meta({ description: "`model` as the caller wrote it." }),
    (call) => call.modelAsked,
  ),
  finish_reason: shown(
    z.string().nullable().meta({ description: "The finish reason of the first choice." }),
    (call) => call.finishReason,
  ),
  settled: shown(
    z.boolean().meta({
      description:
        "False if the gateway process ended before the call did; the call was then charged the most that it might have used, which is an estimate.",
    }),
    (call) => call.settled,
  ),
  operation: shown(
    z.string().meta({ description: "What was called, such as `chat.completions`." }),
    (call) => call.operation,
  ),
  cache: shown(
    z
      .enum(["hit", "miss", "bypass"])
      .nullable()
      .meta({ description: "What became of the call in the response cache; null where it was off." }),
    (call) => call.cache,
  ),
  mirror_of: shown(
    z.string().nullable().meta({ description: "The trace id of the call that this one is a copy of, for a mirror." }),
    (call) => call.mirrorOf,
  ),
  estimated: shown(
    z.boolean().meta({
      description: "Whether the gateway estimated the usage, because the provider reported none.",
    }),
    (call) => call.estimated,
  ),
} satisfies Readonly<
  Record<
    Exclude<ToldColumn, "cost_nano_usd" | "cache_saved_nano_usd"> | "at" | "cost_usd" | "cache_saved_usd" | "total_ms",
    ShownMember
  >
>;
type Shown = typeof SHOWN;
const NAMES = Object.keys(SHOWN) as readonly (keyof Shown)[];

export const CALL_SHAPE = Object.fromEntries(NAMES.map((name) => [name, SHOWN[name].schema])) as {
  readonly [Name in keyof Shown]: Shown[Name]["schema"];
};

export const listedCall = z.strictObject(CALL_SHAPE).meta({ id: "Call" });

/** A call as reports and lists show it. */
export type ShownCall = z.input<z.ZodObject<typeof CALL_SHAPE>>;

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

export type Filters = z.output<z.ZodObject<typeof filters>> & {
  readonly project_id?: string | undefined;
  readonly tenant_id?: string | undefined;
};

/** `place` is null for the operator, who sees all tenants. */
export function scopeOf(
  place: TenantOrProject | null,
  sent: Filters,
): CallScope & { readonly fromMs?: number; readonly toMs?: number } {
  const given = {
    tokenId: sent.token_id,
    userId: sent.user_id,
    endUser: sent.end_user,
    route: sent.route,
    provider: sent.provider,
    model: sent.model,
    operation: sent.operation,
    fromMs: sent.from,
    toMs: sent.to,
    // The place of the path takes precedence over the query.
    tenantId: place?.tenantId ?? sent.tenant_id,
    projectId: place?.projectId ?? sent.project_id,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

export function shownCall(call: CallSummary): ShownCall {
  return Object.fromEntries(NAMES.map((name) => [name, SHOWN[name].of(call)])) as ShownCall;
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
    data: shownCalls(data),
    next_cursor: nextCursor,
    looked_to: isoOrNull(searchedToMs),
    token_names: tokenNames(
      data.map(({ tokenId }) => tokenId),
      snapshot,
    ),
  };
}

export const shownCalls = (calls: readonly CallSummary[]): readonly ShownCall[] => calls.map(shownCall);

/** By id. */
export function tokenNames(ids: readonly (string | null)[], { tokens }: Pick<Snapshot, "tokens">): JsonObject {
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
