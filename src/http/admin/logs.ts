// The log of calls: searches by every field in pages, exports as CSV and JSON Lines, single calls, and their content
// where the tenant keeps it (promises 9.3, 11.3). Each reading of content adds a row to the audit log.
import { z } from "zod";
import { nothingThere } from "../../auth/grants.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { callFields } from "../../observe/log.ts";
import { type CallStore, LOG_ORDERS, type LogFilter } from "../../store/calls.ts";
import { MAX_TAG, tagOf } from "../../store/call-tags.ts";
import {
  type AdminCalls,
  CALL_SHAPE,
  type CallReach,
  filters,
  PLACES,
  scopeOf,
  shownCall,
  SCOPE_QUERY,
  word,
} from "./call-shapes.ts";
import { exportedCalls } from "./log-export.ts";
import { type AdminContents, type AdminOperation, reading, writing } from "./operation.ts";
import { callCode, dryRunQuery, instant, iso, pageOf, pageQuery, time } from "./schemas.ts";

const flag = z
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

const logQuery = z.strictObject({
  ...pageQuery,
  ...filters,
  order: z
    .enum(LOG_ORDERS)
    .default("newest")
    .meta({ description: "By arrival, the newest first; `ended`: by end, the earliest first, to follow the log." }),
  ended_from: instant
    .optional()
    .meta({ description: "Only calls that ended at this time or later; fast with `order=ended`." }),
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
  format: z.enum(["json", "jsonl", "csv"]).default("json").meta({
    description: "`jsonl` and `csv` stream all matching calls.",
  }),
});

type LogQuery = z.output<typeof logQuery> & { readonly project_id?: string; readonly tenant_id?: string };

const loggedCall = z.strictObject(CALL_SHAPE).meta({ id: "LoggedCall" });
const page = (id: string): z.ZodType =>
  z
    .strictObject({
      data: z.array(loggedCall),
      next_cursor: z.string().nullable().meta({ description: "Null on the last page." }),
      looked_to: time.nullable().meta({
        description:
          "Where the search stopped before the page was full, because one request searches a bounded number of calls; continue with `next_cursor`. Null if the page is full or the last.",
      }),
    })
    .meta({ id });
const detail = z
  .strictObject({
    ...CALL_SHAPE,
    record: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        "All details of the call, with the field names of the log; null if they are older than details are kept.",
    }),
    content_kept_until: time
      .nullable()
      .meta({ description: "Until when the content of the call is kept; null if it is not kept." }),
  })
  .meta({ id: "LoggedCallDetail" });
const content = z
  .strictObject({
    trace_id: z.string(),
    tenant_id: z.string(),
    project_id: z.string(),
    kept_until: time,
    content: z.record(z.string(), z.unknown()).meta({
      description: "The redacted request and answer: docs/integrations/content-log.md.",
    }),
  })
  .meta({ id: "CallContent" });
const removed = z
  .strictObject({ removed: z.int().meta({ description: "The number of calls whose content was deleted." }) })
  .meta({ id: "RemovedContent" });

function filterOf(query: LogQuery, place: Parameters<typeof scopeOf>[0]): LogFilter {
  const tags = [
    ...(query.client_request_id === undefined ? [] : [tagOf("request", query.client_request_id)]),
    ...(query.otel_trace_id === undefined ? [] : [tagOf("otel", query.otel_trace_id)]),
    // The last pairs are usually the most selective.
    ...(query.metadata ?? []).toReversed().map((pair) => tagOf("meta", pair)),
    ...(query.tool === undefined ? [] : [tagOf("tool", query.tool)]),
    ...(query.policy === undefined ? [] : [tagOf("policy", query.policy)]),
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
    settled: query.settled,
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

function placeOperations(
  reach: CallReach,
  calls: AdminCalls,
  contents: AdminContents | null,
): readonly AdminOperation[] {
  const { name: place, base, scopeText: where } = PLACES[reach];
  const list = reading({
    id: `list${place}Logs`,
    path: `${base}/logs`,
    tag: "logs",
    summary: `Search the calls of ${where} by any field`,
    query: logQuery.extend(SCOPE_QUERY[reach]),
    answer: page(`${place}LogPage`),
    run: async ({ place: at, query }) => {
      const parsed = query as LogQuery;
      const filter = filterOf(parsed, at);
      if (parsed.format !== "json")
        return {
          body: {},
          text: await exportedCalls(parsed.format, pageOf(parsed), (one) => calls.searchCalls(one, filter)),
        };
      const { data, nextCursor, searchedToMs } = await calls.searchCalls(pageOf(parsed), filter);
      return {
        body: {
          data: data.map(shownCall),
          next_cursor: nextCursor,
          looked_to: searchedToMs === null ? null : iso(searchedToMs),
        },
      };
    },
  });
  const one = reading({
    id: `read${place}Log`,
    path: `${base}/logs/{id}`,
    tag: "logs",
    summary: "Get a call with all its details, by trace id",
    answer: detail,
    run: async ({ place: at, params }) => {
      const { summary, record } = await findCall(calls, params["id"]!, at);
      const keptUntilMs = (await contents?.keptUntilMs(summary.traceId)) ?? null;
      return {
        body: {
          ...shownCall(summary),
          record: record === null ? null : (callFields(record) as JsonObject),
          content_kept_until: keptUntilMs === null ? null : iso(keptUntilMs),
        },
      };
    },
  });
  return [list, one, ...(reach === "operator" ? [] : contentOperations(reach, contents))];
}

async function findCall(
  calls: Pick<CallStore, "findCall">,
  traceId: string,
  at: { readonly tenantId: string; readonly projectId: string | null } | null,
) {
  const found = await calls.findCall(traceId, at?.tenantId);
  if (found === null || (at?.projectId != null && found.summary.projectId !== at.projectId))
    throw nothingThere(`call ${traceId}`);
  return found;
}

/**
 * An operator reads content through the tenant it belongs to, so that the tenant finds the reading in its audit log.
 */
function contentOperations(
  reach: Exclude<CallReach, "operator">,
  contents: AdminContents | null,
): readonly AdminOperation[] {
  const { name: place, base, scopeText: where } = PLACES[reach];
  const read = reading({
    id: `read${place}LogContent`,
    path: `${base}/logs/{id}/content`,
    tag: "logs",
    summary: "Get the content of a call, where the tenant keeps it; each access is written to the audit log",
    answer: content,
    run: async ({ place: at, params, note }) => {
      const traceId = params["id"]!;
      const found = (await contents?.find(traceId)) ?? null;
      if (
        found === null ||
        found.tenantId !== at!.tenantId ||
        (at!.projectId !== null && found.projectId !== at!.projectId)
      )
        throw nothingThere(`content kept for the call ${traceId}`);
      // Content is shown only after the audit row has been written.
      await note({
        action: "read",
        outcome: "done",
        kind: "call_content",
        tenantId: found.tenantId,
        projectId: found.projectId,
        targetId: traceId,
      });
      return {
        body: {
          trace_id: traceId,
          tenant_id: found.tenantId,
          project_id: found.projectId,
          kept_until: iso(found.expiresMs),
          content: found.content,
        },
      };
    },
  });
  const gone = new WeakMap<object, number>();
  const remove = writing({
    method: "delete",
    id: `remove${place}Content`,
    path: `${base}/content`,
    tag: "logs",
    summary: `Permanently delete the kept content of the calls of ${where}`,
    query: z.strictObject(dryRunQuery),
    answer: removed,
    // Not inside the transaction: the removal may take long, and other processes write these rows.
    prepare: async (call) => {
      if (contents === null) throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
      gone.set(call, call.dryRun ? await contents.count(call.place!) : await contents.remove(call.place!));
    },
    run: (call, writer) => {
      const calls = gone.get(call) ?? 0;
      writer.note({
        action: "remove",
        outcome: "done",
        kind: "call_content",
        tenantId: call.place!.tenantId,
        projectId: call.place!.projectId,
        before: { calls },
      });
      return Promise.resolve({ body: { removed: calls } });
    },
  });
  return [read, remove];
}

/** `calls` is null when no calls are stored: then every operation fails. */
export function logOperations(calls: AdminCalls | null, contents: AdminContents | null): readonly AdminOperation[] {
  const none = (): never => {
    throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
  };
  const kept: AdminCalls = calls ?? { searchCalls: none, findCall: none, usage: none, usageTotals: none };
  return (["operator", "tenant", "project"] as const).flatMap((reach) => placeOperations(reach, kept, contents));
}
