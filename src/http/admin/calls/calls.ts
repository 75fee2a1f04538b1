// Calls in lists, over time and by their most frequent values, and one call with its details.
import { z } from "zod";
import type { TenantOrProject } from "../../../auth/grants.ts";
import { reportingZone } from "../../../core/snapshot.ts";
import {
  type CallFacets,
  type CallScope,
  FACET_ORDERS,
  type FacetOrder,
  FACETS,
  type FacetsQuery,
} from "../../../store/calls/calls.ts";
import { BUCKET_WIDTHS, type Buckets, bucketsOf, DAY_MS, narrowest } from "./call-buckets.ts";
import { callDetail, detailQuery, type DetailWorld, shownDetail } from "./call-detail.ts";
import { causesIn, failureCause } from "./call-causes.ts";
import { callFilters, filterOf, flag } from "./call-filters.ts";
import {
  asOf,
  callPage,
  type Filters,
  filters,
  listedCall,
  scopeOf,
  SCOPE_QUERY,
  shownPage,
  wholeUntil,
  tokenNames,
  tokenNamesShape,
} from "./call-shapes.ts";
import { type AdminOperation, PLACES, type Reach, reading } from "../operation.ts";
import type { AdminCalls } from "../report-reads.ts";
import { pageOf, pageQuery, time, timeZone } from "../schemas.ts";
import { shownAs, type ThingOf } from "../shown.ts";
import { COUNTED, sumsOf } from "./usage-sums.ts";

const callsQuery = z.strictObject({ ...pageQuery, ...callFilters });

const histogramQuery = z.strictObject({
  ...callFilters,
  bucket: z
    .enum(["auto", ...BUCKET_WIDTHS])
    .default("auto")
    .meta({
      description:
        "The width of the buckets. Those of `6h` and `1d` begin at midnight in `timezone`, and every 6 hours after it.",
    }),
  timezone: timeZone,
  narrow: flag.meta({
    description:
      "`true` leaves out the time before the first call that is counted, where that is most of the time that was asked for, and takes narrower buckets for the rest. Only with `bucket=auto`.",
  }),
});
const callHistogram = z
  .strictObject({
    data: z.array(z.strictObject({ at: time, ...COUNTED }).meta({ id: "CallBucket" })).meta({
      description: "The buckets in the order of time, the empty ones too.",
    }),
    to: time.meta({ description: "The end of the last bucket." }),
    bucket: z.enum(BUCKET_WIDTHS),
    looked_to: time.nullable().meta({
      description:
        "Calls before this time are not counted, because one request counts a bounded number of single calls, or because they are not kept any more; null if all are. Hourly sums are not bounded; they answer where the bucket is an hour or more and only callers, `route`, `provider`, `model` and `operation` are filtered.",
    }),
    as_of: asOf,
    whole_until: wholeUntil,
  })
  .meta({ id: "CallHistogram" });

const { end_user: _, ...scopeFilters } = filters;
const facetsQuery = z.strictObject({
  ...scopeFilters,
  limit: z.coerce.number().int().min(1).max(100).default(20).meta({ description: "Values of each dimension." }),
  order: z
    .enum(FACET_ORDERS)
    .default("calls")
    .meta({ description: "Which values are the first: those with the most calls, or those that cost most." }),
  causes: flag.meta({ description: "`true` also lists what failed calls failed of, in `causes`." }),
});
const callFacets = z
  .strictObject({
    data: z.array(
      z
        .strictObject({
          dimension: z.enum([...FACETS, "status", "code"]),
          value: z.string().nullable(),
          calls: z.int(),
          errors: z.int(),
          cost_usd: z.string().nullable().meta({ description: "Null for `status` and `code`." }),
        })
        .meta({ id: "CallFacet" }),
    ),
    others: z.record(z.string(), z.int()).meta({ description: "How many further values each dimension has." }),
    causes: z.array(failureCause).meta({
      description: "What most calls failed of, as far back as `looked_to`; empty without `causes=true`.",
    }),
    token_names: tokenNamesShape,
    looked_to: time.nullable().meta({
      description:
        "Failed calls before this time are not counted in `status` and `code`, because one request counts a bounded number of them; null if all are.",
    }),
    from: time,
    to: time,
    as_of: asOf,
  })
  .meta({ id: "CallFacets" });

type CallWorld = Pick<DetailWorld, "providers" | "contents"> & {
  readonly integrations: () => DetailWorld["integrations"];
};

function placeOperations(
  reach: Reach,
  calls: AdminCalls,
  { providers, contents, integrations }: CallWorld,
): readonly AdminOperation[] {
  const { name: place, base, scopeText } = PLACES[reach];
  const list = reading({
    id: `list${place}Calls`,
    path: `${base}/calls`,
    tag: "calls",
    summary: `List the calls of ${scopeText}, the newest first; a page may be short or empty although more pages follow`,
    query: callsQuery.extend(SCOPE_QUERY[reach]),
    answer: callPage(listedCall, `${place}CallList`),
    run: async ({ place: at, query, snapshot }) => ({
      body: shownPage(await calls.searchCalls(pageOf(query), filterOf({ ...query, order: "newest" }, at)), snapshot),
    }),
  });
  const histogram = reading({
    id: `read${place}CallHistogram`,
    path: `${base}/calls/histogram`,
    tag: "calls",
    summary: `Count the calls of ${scopeText} over time: the last 24 hours, or from \`from\` to \`to\``,
    query: histogramQuery.extend(SCOPE_QUERY[reach]),
    answer: callHistogram,
    run: async ({ place: at, query, nowMs, snapshot }) => {
      const { timezone = reportingZone(at?.tenantId ?? null, snapshot) } = query;
      const { order: _order, fromMs: _from, toMs: _to, ...filter } = filterOf({ ...query, order: "newest" }, at);
      const asked = { ...query, timezone };
      const read = async (wanted: Buckets) => ({
        ...(await calls.histogram({ filter, edges: wanted.edges })),
        ...wanted,
      });
      const found = await read(bucketsOf(asked, nowMs));
      const shown = query.narrow ? await narrowest(asked, found, nowMs, read) : found;
      const { width, edges, buckets, searchedToMs } = shown;
      return {
        body: shownAs(callHistogram, {
          ...shown,
          data: buckets.map((sums, index) => ({ atMs: edges[index]!, ...sumsOf(sums) })),
          toMs: edges.at(-1)!,
          bucket: width,
          lookedToMs: searchedToMs,
        }),
      };
    },
  });
  const facets = reading({
    id: `read${place}CallFacets`,
    path: `${base}/calls/facets`,
    tag: "calls",
    summary: `Get the most frequent values of each dimension of the calls of ${scopeText}: of the last 24 hours, or from \`from\` to \`to\``,
    query: facetsQuery.extend(SCOPE_QUERY[reach]),
    answer: callFacets,
    run: async ({ place: at, query, snapshot, nowMs }) => {
      const asked = facetsOf(at, query, nowMs);
      const found = await calls.facets(asked);
      return {
        body: shownAs(callFacets, {
          ...asked,
          data: facetsIn(found),
          others: Object.fromEntries(FACETS.map((dimension) => [dimension, Number(found.facets[dimension].others)])),
          causes: causesIn(found.causes, at, snapshot),
          tokenNames: tokenNames(
            found.facets.token.values.map(({ value }) => value),
            snapshot,
          ),
          lookedToMs: found.failures.searchedToMs,
          asOfMs: found.asOfMs,
        }),
      };
    },
  });
  const one = reading({
    id: `read${place}Call`,
    path: `${base}/calls/{id}`,
    tag: "calls",
    summary:
      "Get a call with all its details, by trace id: what decided it, its cost as a sum, and the calls around it",
    query: detailQuery,
    answer: callDetail,
    run: async ({ caller, place: at, params, query, snapshot, nowMs }) => ({
      body: await shownDetail(
        { caller, calls, snapshot, providers, contents, nowMs, integrations: integrations() },
        params["id"]!,
        at,
        query.around === "true",
      ),
    }),
  });
  return [list, histogram, facets, one];
}

const HOUR_MS = 3_600_000;

function facetsOf(
  place: TenantOrProject | null,
  query: Filters & { readonly limit: number; readonly order: FacetOrder; readonly causes?: boolean | undefined },
  nowMs: number,
): FacetsQuery {
  const { limit, order, causes = false } = query;
  const { fromMs, toMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS + HOUR_MS, ...scope } = scopeOf(place, query);
  const fixed: readonly (keyof CallScope)[] =
    place === null ? [] : place.projectId === null ? ["tenantId"] : ["tenantId", "projectId"];
  return { scope, fixed, fromMs: fromMs ?? toMs - DAY_MS, toMs, limit, order, causes };
}

function facetsIn({ facets, failures }: CallFacets): ThingOf<typeof callFacets.shape>["data"] {
  const dimensions = FACETS.flatMap((dimension) =>
    facets[dimension].values.map(({ value, calls, errors, costNanoUsd }) => ({
      dimension,
      value,
      calls: Number(calls),
      errors: Number(errors),
      costNanoUsd,
    })),
  );
  const failed = (["status", "code"] as const).flatMap((dimension) =>
    [...Map.groupBy(failures.values, (one) => (one[dimension] === null ? null : String(one[dimension])))].map(
      ([value, list]) => {
        const calls = list.reduce((sum, one) => sum + one.calls, 0);
        return { dimension, value, calls, errors: calls, costNanoUsd: null };
      },
    ),
  );
  return [...dimensions, ...failed];
}

export function callOperations(calls: AdminCalls, world: CallWorld): readonly AdminOperation[] {
  return (["operator", "tenant", "project"] as const).flatMap((reach) => placeOperations(reach, calls, world));
}
