// What was called and what it used: sums by tenant, project, token, user, route, model and day, as JSON and as CSV, and single calls with their records.
import { z } from "zod";
import { nothingThere, type Place } from "../../auth/grants.ts";
import { CATALOGUE, GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { LATENCY_BOUNDS_MS, USAGE_DIMENSIONS, USAGE_ORDERS, type CallScope, type CallStore, type CallSummary, type UsageDimension, type UsageRow, type UsageSums } from "../../store/calls.ts";
import { usdText } from "./money.ts";
import { type AdminOperation, reading } from "./operation.ts";
import { iso, listed, listOf, pageOf, pageQuery, time } from "./schemas.ts";

export type AdminCalls = Pick<CallStore, "listCalls" | "findCall" | "usage" | "usageTotals">;

const count = z.int();
const sums = {
  calls: count, errors: count, unpriced: count.meta({ description: "Calls that used something whose price is not known." }), prompt_tokens: count, completion_tokens: count, cached_tokens: count, reasoning_tokens: count,
  cost_usd: z.string(), total_ms: count,
  latency_ms: z.record(z.string(), count).meta({ description: "Calls by their time: the upper bound of each bucket, and `more`." }),
};
const usageRow = z.strictObject({ group: z.record(z.string(), z.string().nullable()), ...sums }).meta({ id: "UsageRow" });
const usage = z
  .strictObject({ data: z.array(usageRow), next_cursor: z.string().nullable(), totals: z.strictObject(sums).meta({ id: "UsageTotals" }).nullable().meta({ description: "Of everything that was asked for; on the first page." }) })
  .meta({ id: "Usage" });

const CALL_SHAPE = {
  trace_id: z.string(), at: time, tenant_id: z.string().nullable(), project_id: z.string().nullable(), token_id: z.string().nullable(), user_id: z.string().nullable(), end_user: z.string().nullable(),
  route: z.string().nullable(), provider: z.string().nullable(), model: z.string().nullable(), status: z.int(), code: z.string().nullable(), stream: z.boolean(), cancelled: z.boolean(), attempts: count,
  prompt_tokens: count, completion_tokens: count, cached_tokens: count, reasoning_tokens: count, cost_usd: z.string().nullable(), total_ms: z.number(), first_content_ms: z.number().nullable(),
  settled: z.boolean().meta({ description: "False: its process ended before it did, and it was charged with what was reserved for it." }),
};
const call = z.strictObject(CALL_SHAPE).meta({ id: "Call" });
const callDetail = z.strictObject({ ...CALL_SHAPE, record: z.record(z.string(), z.unknown()).nullable().meta({ description: "All that is known of it; null: it is older than details are kept." }) }).meta({ id: "CallDetail" });

const instant = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));
const word = z.string().min(1).max(400).optional();
const filters = {
  token_id: word, user_id: word, end_user: word, route: word, provider: word, model: word.meta({ description: "The provider's own name." }),
  from: instant.optional().meta({ description: "Of this time and later." }), to: instant.optional().meta({ description: "Before this time." }),
};
const dimensions = z
  .string()
  .max(200)
  .transform((text) => text.split(","))
  .pipe(z.array(z.enum(USAGE_DIMENSIONS)).max(USAGE_DIMENSIONS.length).refine((words) => new Set(words).size === words.length, "expected each word once"))
  .meta({ description: `What the sums are told apart by: ${USAGE_DIMENSIONS.join(", ")}, with commas between.` });
const usageQuery = z.strictObject({
  ...pageQuery, ...filters,
  project_id: word,
  by: dimensions.optional(),
  order: z.enum(USAGE_ORDERS).default("group").meta({ description: "`group` comes in pages; of the others the largest come first, in one page." }),
  format: z.enum(["json", "csv"]).default("json"),
});
const callsQuery = z.strictObject({ ...pageQuery, ...filters, project_id: word, outcome: z.enum(["ok", "failed"]).optional(), status: z.coerce.number().int().min(100).max(599).optional(), code: z.enum(Object.keys(CATALOGUE) as [string, ...string[]]).optional() });

type Filters = z.output<z.ZodObject<typeof filters>> & { readonly project_id?: string | undefined };

function scopeOf({ tenantId, projectId }: Place, asked: Filters): CallScope & { readonly fromMs?: number; readonly toMs?: number } {
  const given = {
    tokenId: asked.token_id, userId: asked.user_id, endUser: asked.end_user, route: asked.route, provider: asked.provider, model: asked.model, fromMs: asked.from, toMs: asked.to,
    // within a project there is no other
    projectId: projectId ?? asked.project_id,
  };
  return { tenantId, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) };
}

/** Sums are counts of calls and tokens: a number holds them for longer than a gateway runs. */
function shownSums(of: UsageSums): JsonObject {
  const bounds = [...LATENCY_BOUNDS_MS.map(String), "more"];
  return {
    calls: Number(of.calls), errors: Number(of.errors), unpriced: Number(of.unpriced), prompt_tokens: Number(of.promptTokens), completion_tokens: Number(of.completionTokens), cached_tokens: Number(of.cachedTokens),
    reasoning_tokens: Number(of.reasoningTokens), cost_usd: usdText(of.costNanoUsd), total_ms: Number(of.totalMs), latency_ms: Object.fromEntries(bounds.map((bound, index) => [bound, Number(of.latency[index] ?? 0n)])),
  };
}

function shownRow(by: readonly UsageDimension[], { group, sums: of }: UsageRow): JsonObject {
  return { group: Object.fromEntries(by.map((dimension, index) => [dimension, group[index] ?? null])), ...shownSums(of) };
}

const CSV_SUMS = ["calls", "errors", "unpriced", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "cost_usd", "total_ms"] as const;

/** RFC 4180. A cell that a spreadsheet would take for a formula begins with an apostrophe. */
function csv(by: readonly UsageDimension[], rows: readonly UsageRow[]): string {
  const cell = (text: string): string => {
    const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const lines = rows.map((row) => {
    const shown = shownSums(row.sums);
    return [...row.group.map((value) => value ?? ""), ...CSV_SUMS.map((name) => String(shown[name] as string | number))].map(cell).join(",");
  });
  return `${[[...by, ...CSV_SUMS].join(","), ...lines].join("\r\n")}\r\n`;
}

function shownCall(of: CallSummary): JsonObject {
  return {
    trace_id: of.traceId, at: iso(of.timeMs), tenant_id: of.tenantId, project_id: of.projectId, token_id: of.tokenId, user_id: of.userId, end_user: of.endUser, route: of.route, provider: of.provider, model: of.model,
    status: of.status, code: of.code, stream: of.stream, cancelled: of.cancelled, attempts: of.attempts, prompt_tokens: of.promptTokens, completion_tokens: of.completionTokens, cached_tokens: of.cachedTokens,
    reasoning_tokens: of.reasoningTokens, cost_usd: of.costNanoUsd === null ? null : usdText(BigInt(of.costNanoUsd)), total_ms: of.totalMs, first_content_ms: of.firstContentMs, settled: of.settled,
  };
}

function placeOperations(reach: "tenant" | "project", calls: AdminCalls): readonly AdminOperation[] {
  const place = reach === "tenant" ? "Tenant" : "Project";
  const base = `/${reach}s/{${reach}}`;
  const read = reading({
    id: `read${place}Usage`,
    path: `${base}/usage`,
    tag: "usage",
    summary: `What the calls of the ${reach} used, in sums`,
    query: usageQuery,
    answer: usage,
    run: async ({ place: at, query }) => {
      const { by = [], order, format } = query;
      const scope = scopeOf(at!, query);
      const page = await calls.usage(pageOf(query), { ...scope, by, order });
      if (format === "csv") return { body: {}, text: { contentType: "text/csv; charset=utf-8", content: csv(by, page.data), nextCursor: page.nextCursor } };
      const totals = query.cursor === undefined ? shownSums(await calls.usageTotals(scope)) : null;
      return { body: { ...listed(page, (row) => shownRow(by, row)), totals } };
    },
  });
  const list = reading({
    id: `list${place}Calls`,
    path: `${base}/calls`,
    tag: "calls",
    summary: `Calls of the ${reach}, the newest first`,
    query: callsQuery,
    answer: listOf(call, `${place}CallList`),
    run: async ({ place: at, query }) => {
      const given = Object.fromEntries(Object.entries({ outcome: query.outcome, status: query.status, code: query.code }).filter(([, value]) => value !== undefined));
      return { body: listed(await calls.listCalls(pageOf(query), { ...scopeOf(at!, query), ...given }), shownCall) };
    },
  });
  const one = reading({
    id: `read${place}Call`,
    path: `${base}/calls/{id}`,
    tag: "calls",
    summary: "One call, by its trace id, with all that is known of it",
    answer: callDetail,
    run: async ({ place: at, params }) => {
      const found = await calls.findCall(params["id"]!, at!.tenantId);
      if (found === null || (at!.projectId !== null && found.summary.projectId !== at!.projectId)) throw nothingThere();
      return { body: { ...shownCall(found.summary), record: found.record as unknown as JsonObject | null } };
    },
  });
  return [read, list, one];
}

/** `calls` null: nothing is kept, and there is nothing to report. */
export function usageOperations(calls: AdminCalls | null): readonly AdminOperation[] {
  const none = (): never => {
    throw new GatewayError("store_unavailable", "No calls are kept here.");
  };
  const kept: AdminCalls = calls ?? { listCalls: none, findCall: none, usage: none, usageTotals: none };
  return [...placeOperations("tenant", kept), ...placeOperations("project", kept)];
}
