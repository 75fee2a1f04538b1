// Reports of usage: sums of calls by any of `USAGE_DIMENSIONS` and by day, as JSON and CSV. They agree
// with the calls in the database at the moment that they name (promise 14.3).
import { z } from "zod";
import { countedPeriod, FOCUS_DIMENSIONS, FOCUS_HEADER, focusLines } from "../../../accounting/focus.ts";
import { invalidRequest } from "../../../core/refusals.ts";
import { reportingZone } from "../../../core/snapshot.ts";
import { USAGE_DIMENSIONS, USAGE_ORDERS, type UsageRow } from "../../../store/calls/calls.ts";
import type { PageRequest } from "../../../store/reader.ts";
import { asOf, filters, scopeOf, SCOPE_QUERY, wholeUntil } from "./call-shapes.ts";
import { type AdminOperation, type Answer, PLACES, type Reach, reading } from "../operation.ts";
import { pagedText } from "./paged-text.ts";
import { csvOf, SUMS, sumsOf } from "./usage-sums.ts";
import type { AdminCalls } from "../report-reads.ts";
import { iso, orNull, pageOf, pageQuery, timeZone } from "../schemas.ts";
import { shownAs } from "../shown.ts";

const usageRow = z
  .strictObject({ group: z.record(z.string(), z.string().nullable()), ...SUMS })
  .meta({ id: "UsageRow" });
const usage = z
  .strictObject({
    data: z.array(usageRow),
    next_cursor: z.string().nullable(),
    totals: orNull(
      z.strictObject(SUMS).meta({ id: "UsageTotals" }),
      "The sums over all groups; only on the first page.",
    ),
    earlier: orNull(
      z.strictObject(SUMS).meta({ id: "EarlierTotals" }),
      "The sums over the same time, so much earlier as `earlier_s` says; null without it.",
    ),
    as_of: asOf,
    whole_until: wholeUntil,
  })
  .meta({ id: "Usage" });

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
const MOST_EARLIER_S = 366 * 86_400;
const usageQuery = z.strictObject({
  ...pageQuery,
  ...filters,
  group_by: dimensions.optional(),
  order: z
    .enum(USAGE_ORDERS)
    .default("group")
    .meta({ description: "`group` is paged; the other orders return one page, the largest first." }),
  timezone: timeZone,
  earlier_s: z.coerce.number().int().min(1).max(MOST_EARLIER_S).optional().meta({
    description:
      "Also sums, in `earlier`, the same time so many seconds before. It needs `from`; a time without `to` ends with the present. Only with `format=json`.",
  }),
  format: z
    .enum(["json", "csv", "focus"])
    .default("json")
    .meta({
      description: `\`focus\` streams CSV with the columns of [FOCUS](https://focus.finops.org/), by ${FOCUS_DIMENSIONS.join(", ")}, with days of UTC. It takes no other groups, order or time zone.`,
    }),
});
type UsageFilters = z.output<typeof usageQuery>;
type DatedUsage = Awaited<ReturnType<AdminCalls["usage"]>>;

/** Throws `invalid_request` for what the form of FOCUS fixes. */
function focusText(
  query: UsageFilters,
  read: AdminCalls["usage"],
  scope: ReturnType<typeof scopeOf>,
): Promise<NonNullable<Answer["text"]>> {
  const fixed = (["group_by", "timezone"] as const).find((name) => query[name] !== undefined);
  const odd = fixed ?? (query.order === "group" ? undefined : "order");
  if (odd !== undefined)
    throw invalidRequest(
      odd,
      `${odd} cannot be given with format=focus, whose rows are always by ${FOCUS_DIMENSIONS.join(", ")}, with days of UTC. Leave it out, or ask for format=csv.`,
    );
  const asked = { fromMs: scope.fromMs ?? null, toMs: scope.toMs ?? null };
  let period = asked;
  const rows = async (page: PageRequest): Promise<DatedUsage> => {
    const report = await read(page, { ...scope, by: FOCUS_DIMENSIONS, order: "group", zone: "UTC" });
    period = countedPeriod(asked, report.wholeUntilMs);
    return report;
  };
  return pagedText<UsageRow>(pageOf(query), rows, {
    contentType: "text/csv; charset=utf-8",
    head: FOCUS_HEADER,
    linesOf: (some) => focusLines(some, period),
  });
}

/** Throws `invalid_request` where it is not known which time is meant, and where the answer has no place for its sums. */
async function earlierTotals(
  { earlier_s: earlierS, format }: UsageFilters,
  { fromMs, toMs, ...scope }: ReturnType<typeof scopeOf>,
  calls: AdminCalls,
  nowMs: number,
): Promise<DatedUsage["totals"]> {
  if (earlierS === undefined) return null;
  if (format !== "json")
    throw invalidRequest("earlier_s", `earlier_s cannot be given with format=${format}, which has no totals.`);
  if (fromMs === undefined) throw invalidRequest("earlier_s", "earlier_s needs a time that begins: give from.");
  const endMs = toMs ?? Math.max(fromMs, Math.floor(nowMs / MINUTE_MS) * MINUTE_MS);
  const earlier = { fromMs: fromMs - earlierS * 1000, toMs: endMs - earlierS * 1000 };
  const { totals } = await calls.usage({ limit: 1 }, { ...scope, ...earlier, by: [], order: "group" });
  return totals;
}

/** What is read within one minute has the same end, so that it is read once. */
const MINUTE_MS = 60_000;

function placeOperations(reach: Reach, calls: AdminCalls): readonly AdminOperation[] {
  const { name: place, base, scopeText } = PLACES[reach];
  const read = reading({
    id: `read${place}Usage`,
    path: `${base}/usage`,
    tag: "usage",
    summary: `Get the summed usage of the calls of ${scopeText}, of any period`,
    query: usageQuery.extend(SCOPE_QUERY[reach]),
    answer: usage,
    run: async ({ place: at, query, snapshot, nowMs }) => {
      const {
        group_by: by = [],
        order,
        format,
        timezone: zone = reportingZone(at?.tenantId ?? null, snapshot),
      } = query;
      const scope = scopeOf(at, query);
      const before = await earlierTotals(query, scope, calls, nowMs);
      if (format === "focus") {
        const text = await focusText(query, (page, wanted) => calls.usage(page, wanted), scope);
        return { body: {}, text };
      }
      const report = await calls.usage(pageOf(query), { ...scope, by, order, zone });
      if (format === "csv")
        return {
          body: {},
          text: {
            contentType: "text/csv; charset=utf-8",
            content: csvOf(by, report.data),
            headers: {
              "x-gateway-as-of": iso(report.asOfMs),
              ...(report.wholeUntilMs !== null && { "x-gateway-whole-until": iso(report.wholeUntilMs) }),
              ...(report.nextCursor !== null && { "x-gateway-next-cursor": report.nextCursor }),
            },
          },
        };
      return {
        body: shownAs(usage, {
          ...report,
          data: report.data.map(({ group, sums }) => ({
            group: Object.fromEntries(by.map((dimension, index) => [dimension, group[index] ?? null])),
            ...sumsOf(sums),
          })),
          totals: report.totals === null ? null : sumsOf(report.totals),
          earlier: before === null ? null : sumsOf(before),
        }),
      };
    },
  });
  return [read];
}

export function usageOperations(calls: AdminCalls): readonly AdminOperation[] {
  return (["operator", "tenant", "project"] as const).flatMap((reach) => placeOperations(reach, calls));
}
