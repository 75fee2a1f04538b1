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
  WITHIN,
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
const MAX_WORDS = MAX_TAG - 8;
const words = z.string().min(1).max(MAX_WORDS).optional();

/** Pairs such as `team=search&session=s1`, encoded as a query inside the query. */
const metadata = z
  .string()
  .min(1)
  .max(2000)
  .transform((text) => [...new URLSearchParams(text)].map(([name, value]) => `${name}=${value}`))
  .refine(
    (pairs) => pairs.length >= 1 && pairs.length <= 16 && pairs.every((pair) => pair.length <= MAX_WORDS),
    "expected up to 16 pairs such as team=search, with & between",
  )
  .optional()
  .meta({
    description:
      "Members of `metadata` that the call has to have, such as `team=search`; several with `&` between (encoded, as `%26`).",
  });

const logQuery = z.strictObject({
  ...pageQuery,
  ...filters,
  order: z
    .enum(LOG_ORDERS)
    .default("newest")
    .meta({ description: "By arrival; `ended`: by their ends, the first to end first, for whoever waits for more." }),
  ended_from: instant.optional().meta({ description: "Ended at this time or later; quick with `order=ended`." }),
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
  finish_reason: word.meta({ description: "Of the first choice." }),
  stream: flag,
  cancelled: flag.meta({ description: "The client left before the end." }),
  explained: flag,
  settled: flag,
  min_ms: count,
  max_ms: count,
  min_first_content_ms: count,
  max_first_content_ms: count,
  min_attempts: count,
  min_tokens: count.meta({ description: "Of prompt and answer together." }),
  max_tokens: count,
  min_prompt_tokens: count,
  max_prompt_tokens: count,
  min_completion_tokens: count,
  max_completion_tokens: count,
  min_cost_usd: dollars,
  max_cost_usd: dollars,
  metadata,
  client_request_id: words.meta({ description: "`x-request-id` of the caller." }),
  otel_trace_id: z
    .string()
    .regex(/^[0-9a-f]{32}$/, "expected 32 hex digits")
    .optional(),
  tool: words.meta({ description: "Ran on a tool server: its label, or `<label>/<tool>`." }),
  policy: words.meta({ description: "A policy that spoke." }),
  limit_id: words.meta({ description: "A limit or budget that refused an attempt, or in audit mode would have." }),
  format: z.enum(["json", "jsonl", "csv"]).default("json").meta({
    description: "`jsonl` and `csv` give everything that is found, as it is read; a client that leaves ends it.",
  }),
});

type Asked = z.output<typeof logQuery> & { readonly project_id?: string; readonly tenant_id?: string };

const loggedCall = z.strictObject(CALL_SHAPE).meta({ id: "LoggedCall" });
const page = (id: string): z.ZodType =>
  z
    .strictObject({
      data: z.array(loggedCall),
      next_cursor: z.string().nullable().meta({ description: "Null: this was the last page." }),
      looked_to: time.nullable().meta({
        description:
          "The page ends here though it is not full: one look-up looks at a bounded number of calls. `next_cursor` leads on. Null: it is full, or it is the last.",
      }),
    })
    .meta({ id });
const detail = z
  .strictObject({
    ...CALL_SHAPE,
    record: z.record(z.string(), z.unknown()).nullable().meta({
      description: "All that is known of it, in the fields of the log; null: it is older than details are kept.",
    }),
    content_kept_until: time
      .nullable()
      .meta({ description: "What was said in it is kept until then; null: it is not." }),
  })
  .meta({ id: "LoggedCallDetail" });
const content = z
  .strictObject({
    trace_id: z.string(),
    tenant_id: z.string(),
    project_id: z.string(),
    kept_until: time,
    content: z.record(z.string(), z.unknown()).meta({
      description: "What the caller sent and what it was answered, redacted: docs/integrations/content-log.md.",
    }),
  })
  .meta({ id: "CallContent" });
const removed = z
  .strictObject({ removed: z.int().meta({ description: "How many calls had some." }) })
  .meta({ id: "RemovedContent" });

function filterOf(asked: Asked, place: Parameters<typeof scopeOf>[0]): LogFilter {
  const tags = [
    ...(asked.client_request_id === undefined ? [] : [tagOf("request", asked.client_request_id)]),
    ...(asked.otel_trace_id === undefined ? [] : [tagOf("otel", asked.otel_trace_id)]),
    // The last pairs are usually the most selective.
    ...(asked.metadata ?? []).toReversed().map((pair) => tagOf("meta", pair)),
    ...(asked.tool === undefined ? [] : [tagOf("tool", asked.tool)]),
    ...(asked.policy === undefined ? [] : [tagOf("policy", asked.policy)]),
    ...(asked.limit_id === undefined ? [] : [tagOf("limit", asked.limit_id)]),
  ];
  const given = {
    traceId: asked.trace_id,
    endedFromMs: asked.ended_from,
    modelAsked: asked.model_asked,
    status: asked.status,
    statusClass: asked.status_class,
    outcome: asked.outcome,
    code: asked.code,
    finishReason: asked.finish_reason,
    stream: asked.stream,
    cancelled: asked.cancelled,
    explained: asked.explained,
    settled: asked.settled,
    ...(tags.length > 0 && { tags }),
    atLeast: known({
      totalMs: asked.min_ms,
      firstContentMs: asked.min_first_content_ms,
      attempts: asked.min_attempts,
      tokens: asked.min_tokens,
      promptTokens: asked.min_prompt_tokens,
      completionTokens: asked.min_completion_tokens,
      costNanoUsd: asked.min_cost_usd,
    }),
    atMost: known({
      totalMs: asked.max_ms,
      firstContentMs: asked.max_first_content_ms,
      tokens: asked.max_tokens,
      promptTokens: asked.max_prompt_tokens,
      completionTokens: asked.max_completion_tokens,
      costNanoUsd: asked.max_cost_usd,
    }),
  };
  return { order: asked.order, ...scopeOf(place, asked), ...known(given) };
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
  const { name: place, base, words: where } = PLACES[reach];
  const list = reading({
    id: `list${place}Logs`,
    path: `${base}/logs`,
    tag: "logs",
    summary: `The log of calls of ${where}, by every field`,
    query: logQuery.extend(WITHIN[reach]),
    answer: page(`${place}LogPage`),
    run: async ({ place: at, query }) => {
      const asked = query as Asked;
      const filter = filterOf(asked, at);
      if (asked.format !== "json")
        return {
          body: {},
          text: await exportedCalls(asked.format, pageOf(asked), (one) => calls.searchCalls(one, filter)),
        };
      const { data, nextCursor, lookedToMs } = await calls.searchCalls(pageOf(asked), filter);
      return {
        body: {
          data: data.map(shownCall),
          next_cursor: nextCursor,
          looked_to: lookedToMs === null ? null : iso(lookedToMs),
        },
      };
    },
  });
  const one = reading({
    id: `read${place}Log`,
    path: `${base}/logs/{id}`,
    tag: "logs",
    summary: "One call, by its trace id, with all that is known of it",
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
  const { name: place, base, words: where } = PLACES[reach];
  const read = reading({
    id: `read${place}LogContent`,
    path: `${base}/logs/{id}/content`,
    tag: "logs",
    summary: "What was said in a call, where the tenant keeps it; each reading is a row of the audit log",
    answer: content,
    run: async ({ place: at, params, note }) => {
      const traceId = params["id"]!;
      const found = (await contents?.find(traceId)) ?? null;
      if (
        found === null ||
        found.tenantId !== at!.tenantId ||
        (at!.projectId !== null && found.projectId !== at!.projectId)
      )
        throw nothingThere(`kept content of the call ${traceId}`);
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
    summary: `Remove all that is kept of what was said in calls of ${where}, for good`,
    query: z.strictObject(dryRunQuery),
    answer: removed,
    // Not inside the transaction: the removal may take long, and other processes write these rows.
    prepare: async (call) => {
      if (contents === null) throw new GatewayError("store_unavailable", "No calls are kept here.");
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
    throw new GatewayError("store_unavailable", "No calls are kept here.");
  };
  const kept: AdminCalls = calls ?? { searchCalls: none, findCall: none, usage: none, usageTotals: none };
  return (["operator", "tenant", "project"] as const).flatMap((reach) => placeOperations(reach, kept, contents));
}
