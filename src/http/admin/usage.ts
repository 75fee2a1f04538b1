// Reports of calls and their usage: sums by tenant, project, token, user, route, model and day as JSON and CSV, and
// single calls with their records.
import { z } from "zod";
import { csvOf, shownRow, shownSums } from "../../accounting/usage-sums.ts";
import { nothingThere } from "../../auth/grants.ts";
import { GatewayError } from "../../core/errors.ts";
import type { JsonObject } from "../../core/json.ts";
import { callFields } from "../../observe/log.ts";
import { USAGE_DIMENSIONS, USAGE_ORDERS, type UsageDimension } from "../../store/calls.ts";
import {
  type AdminCalls,
  CALL_SHAPE,
  type CallReach,
  type Filters,
  filters,
  PLACES,
  scopeOf,
  shownCall,
  SCOPE_QUERY,
} from "./call-shapes.ts";
import { type AdminOperation, reading } from "./operation.ts";
import { callCode, listed, listOf, pageOf, pageQuery } from "./schemas.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const count = z.int();
const sums = {
  calls: count,
  errors: count,
  unpriced: count.meta({ description: "The number of calls with usage whose price is not known." }),
  prompt_tokens: count,
  completion_tokens: count,
  cached_tokens: count,
  reasoning_tokens: count,
  cost_usd: z.string(),
  total_ms: count,
  mean_ms: count.nullable(),
  p50_ms: count.nullable().meta({ description: "Estimated from `latency_ms`, like `p95_ms`." }),
  p95_ms: count.nullable(),
  latency_ms: z
    .record(z.string(), count)
    .meta({ description: "Number of calls by duration: the upper bound of each bucket, and `more`." }),
};
const usageRow = z
  .strictObject({ group: z.record(z.string(), z.string().nullable()), ...sums })
  .meta({ id: "UsageRow" });
const usage = z
  .strictObject({
    data: z.array(usageRow),
    next_cursor: z.string().nullable(),
    totals: z
      .strictObject(sums)
      .meta({ id: "UsageTotals" })
      .nullable()
      .meta({ description: "The sums over all groups; only on the first page." }),
  })
  .meta({ id: "Usage" });

const call = z.strictObject(CALL_SHAPE).meta({ id: "Call" });
const callDetail = z
  .strictObject({
    ...CALL_SHAPE,
    record: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        "All details of the call, with the field names of the log; null if they are older than details are kept.",
    }),
  })
  .meta({ id: "CallDetail" });

const dimensions = z
  .string()
  .max(200)
  .transform((text) => text.split(","))
  .pipe(
    z
      .array(z.enum(USAGE_DIMENSIONS))
      .max(USAGE_DIMENSIONS.length)
      .refine((names) => new Set(names).size === names.length, "expected each word once"),
  )
  .meta({ description: `Dimensions to group by, separated by commas: ${USAGE_DIMENSIONS.join(", ")}.` });
const usageQuery = z.strictObject({
  ...pageQuery,
  ...filters,
  group_by: dimensions.optional(),
  order: z
    .enum(USAGE_ORDERS)
    .default("group")
    .meta({ description: "`group` is paged; the other orders return one page, the largest first." }),
  format: z.enum(["json", "csv"]).default("json"),
});
const callsQuery = z.strictObject({
  ...pageQuery,
  ...filters,
  outcome: z.enum(["ok", "failed"]).optional(),
  status: z.coerce.number().int().min(100).max(599).optional(),
  code: callCode.optional(),
  settled: z
    .enum(["true", "false"])
    .optional()
    .meta({ description: "`false` selects calls whose gateway process ended before they did." }),
});

/**
 * Sums are stored by the hour, and those of end users by the day. Throws `invalid_request`, which names the parameter.
 */
function requireWhole(by: readonly UsageDimension[], sent: Filters): void {
  const isOfUsers = sent.end_user !== undefined || by.includes("end_user");
  for (const name of ["from", "to"] as const)
    if ((sent[name] ?? 0) % (isOfUsers ? DAY_MS : HOUR_MS) !== 0)
      throw new GatewayError(
        "invalid_request",
        `${name} has to be ${isOfUsers ? "a full day for sums of end users" : "a full hour"}, in UTC.`,
        { param: name },
      );
}

function placeOperations(reach: CallReach, calls: AdminCalls): readonly AdminOperation[] {
  const { name: place, base, scopeText } = PLACES[reach];
  const read = reading({
    id: `read${place}Usage`,
    path: `${base}/usage`,
    tag: "usage",
    summary: `Get the summed usage of the calls of ${scopeText}`,
    query: usageQuery.extend(SCOPE_QUERY[reach]),
    answer: usage,
    run: async ({ place: at, query }) => {
      const { group_by: by = [], order, format } = query;
      requireWhole(by, query);
      const scope = scopeOf(at, query);
      const page = await calls.usage(pageOf(query), { ...scope, by, order });
      if (format === "csv")
        return {
          body: {},
          text: { contentType: "text/csv; charset=utf-8", content: csvOf(by, page.data), nextCursor: page.nextCursor },
        };
      const totals = query.cursor === undefined ? shownSums(await calls.usageTotals(scope)) : null;
      return { body: { ...listed(page, (row) => shownRow(by, row)), totals } };
    },
  });
  const list = reading({
    id: `list${place}Calls`,
    path: `${base}/calls`,
    tag: "calls",
    summary: `List the calls of ${scopeText}, the newest first; a page may be short or empty although more pages follow`,
    query: callsQuery.extend(SCOPE_QUERY[reach]),
    answer: listOf(call, `${place}CallList`),
    run: async ({ place: at, query }) => {
      const given = Object.fromEntries(
        Object.entries({
          outcome: query.outcome,
          status: query.status,
          code: query.code,
          settled: query.settled === undefined ? undefined : query.settled === "true",
        }).filter(([, value]) => value !== undefined),
      );
      return {
        body: listed(
          await calls.searchCalls(pageOf(query), { order: "newest", ...scopeOf(at, query), ...given }),
          shownCall,
        ),
      };
    },
  });
  const one = reading({
    id: `read${place}Call`,
    path: `${base}/calls/{id}`,
    tag: "calls",
    summary: "Get a call with all its details, by trace id",
    answer: callDetail,
    run: async ({ place: at, params }) => {
      const found = await calls.findCall(params["id"]!, at?.tenantId);
      if (found === null || (at?.projectId != null && found.summary.projectId !== at.projectId))
        throw nothingThere(`call ${params["id"]!}`);
      return {
        body: {
          ...shownCall(found.summary),
          record: found.record === null ? null : (callFields(found.record) as JsonObject),
        },
      };
    },
  });
  return [read, list, one];
}

/** `calls` is null when no calls are stored: then every operation fails. */
export function usageOperations(calls: AdminCalls | null): readonly AdminOperation[] {
  const none = (): never => {
    throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
  };
  const kept: AdminCalls = calls ?? { searchCalls: none, findCall: none, usage: none, usageTotals: none };
  return [
    ...placeOperations("operator", kept),
    ...placeOperations("tenant", kept),
    ...placeOperations("project", kept),
  ];
}
