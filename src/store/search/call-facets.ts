// The most frequent values of each dimension within a period, for lists of calls to be filtered by.
import { type Kysely, sql } from "kysely";
import { orNull } from "../calls/call-columns.ts";
import { namesOf } from "../calls/call-names.ts";
import type { CallSchema } from "../calls/call-schema.ts";
import { tagOf } from "../calls/call-tags.ts";
import {
  type CallFacets,
  type CallScope,
  DIMENSIONS,
  FACETS,
  type Facet,
  type FacetName,
  type FacetOrder,
  type FacetsQuery,
  type FailureSum,
} from "../calls/calls.ts";
import { type LogQuery, logQuery, numberedFilter } from "./log-search.ts";
import { timeOfKey } from "../calls/call-keys.ts";
import { usesPostgres } from "../database/dialect.ts";
import { inOneView } from "../database/transactions.ts";
import { roundly } from "../sums/sum-halves.ts";
import { sumOf, type Sums, wholeOf } from "../sums/usage-figures.ts";
import { HOURS } from "../sums/roll-up-triggers.ts";
import { usageSource } from "../sums/usage-source.ts";

type Db = Kysely<CallSchema>;

const FIGURES = ["calls", "errors", "cost_nano_usd"] as const;

/** A filter on a dimension does not narrow the values of that dimension, so that another one can be chosen. */
export async function facets(db: Db, query: FacetsQuery): Promise<CallFacets> {
  return await inOneView(db, async (view) => {
    const { dimensions = FACETS } = query;
    const narrowed = dimensions.filter(
      (name) => !isFixed(query, name) && query.scope[DIMENSIONS[name].scoped] !== undefined,
    );
    const others = dimensions.filter((name) => !narrowed.includes(name));
    const found = new Map<FacetName, Facet>();
    for (const names of [
      others.filter((name) => OF_TARGETS.has(name)),
      others.filter((name) => !OF_TARGETS.has(name)),
      ...narrowed.map((name) => [name]),
    ])
      for (const [name, facet] of await facetsOf(view, query, names)) found.set(name, facet);
    return {
      facets: Object.fromEntries(FACETS.map((name) => [name, found.get(name) ?? NO_VALUES])) as CallFacets["facets"],
      ...(await failures(view, query)),
    };
  });
}

const NO_VALUES: Facet = { values: [], others: 0n };

/** Of these there are few, and their sums are kept by themselves (sum-stretches.ts). */
const OF_TARGETS: ReadonlySet<FacetName> = new Set(["project", "route", "provider", "model", "operation"]);

/** What the caller may see is never widened. */
const isFixed = ({ fixed }: FacetsQuery, name: FacetName): boolean => fixed.includes(DIMENSIONS[name].scoped);

async function facetsOf(
  db: Db,
  { scope, fixed, fromMs, toMs, limit, order = "calls" }: FacetsQuery,
  names: readonly FacetName[],
): Promise<readonly (readonly [FacetName, Facet])[]> {
  if (names.length === 0) return [];
  const [only] = names;
  const without = names.length === 1 && !fixed.includes(DIMENSIONS[only!].scoped) ? DIMENSIONS[only!].scoped : null;
  const scoped = Object.fromEntries(Object.entries(scope).filter(([name]) => name !== without)) as CallScope;
  const source = await usageSource(db, {
    scope: scoped,
    sums: HOURS,
    fromMs,
    toMs,
    cuts: [],
    by: names,
    figures: FIGURES,
  });
  if (source === null) return names.map((name) => [name, NO_VALUES]);
  const columns = names.map((name) => DIMENSIONS[name].column);
  const figures = sql.join(FIGURES.map(sumOf));
  const arms = columns.map(
    (column, index) =>
      sql`select ${sql.lit(index)} as facet, ${sql.ref(column)} as value, ${figures} from found group by ${sql.ref(column)}`,
  );
  const { rows } = await sql<
    Sums & {
      readonly facet: bigint | number;
      readonly value: bigint | number;
      readonly others: bigint | number | string;
    }
  >`with found as materialized (select ${sql.raw(columns.join(", "))}, ${figures} from ${source.table} group by ${sql.raw(columns.join(", "))}), each_value as (${sql.join(arms, sql` union all `)}), placed as (select each_value.*, row_number() over (partition by facet order by ${sql.raw(LARGEST[order])}, value) as place, count(*) over (partition by facet) as number from each_value where calls > 0) select *, number - ${sql.lit(limit)} as others from placed where place <= ${sql.lit(limit)} order by facet, place`.execute(
    db,
  );
  const nameOf = await namesOf(
    db,
    rows.map(({ value }) => value),
  );
  return names.map((name, index) => {
    const own = rows.filter(({ facet }) => Number(facet) === index);
    const others = own.length === 0 ? 0n : BigInt(own[0]!.others);
    return [
      name,
      {
        values: own.map((row) => ({
          value: orNull(nameOf(row.value)),
          calls: wholeOf(row, "calls"),
          errors: wholeOf(row, "errors"),
          costNanoUsd: wholeOf(row, "cost_nano_usd"),
        })),
        others: others < 0n ? 0n : others,
      },
    ];
  });
}

const LARGEST: Readonly<Record<FacetOrder, string>> = {
  calls: "calls desc",
  cost: `${roundly("cost_nano_usd")} desc, calls desc`,
};

/** Failed calls by status and code, and by their causes, the newest of them in a bounded number. */
async function failures(
  db: Db,
  { scope, fromMs, toMs, causes: areAsked = false }: FacetsQuery,
): Promise<Pick<CallFacets, "failures" | "causes">> {
  const numbered = await numberedFilter(db, {
    ...scope,
    order: "newest",
    outcome: "failed",
    explained: false,
    mirrored: false,
    fromMs,
    toMs,
  });
  if (numbered === null) return { failures: { values: [], searchedToMs: null }, causes: [] };
  const query = logQuery({ limit: 1 }, numbered, true);
  const end = (await query.end!.execute(db)).rows[0];
  const failed = query.matching(end === undefined ? null : [end.id]);
  const { rows } = await sql<{
    readonly status: bigint | number;
    readonly code: bigint | number;
    readonly calls: bigint | number | string;
  }>`select status, code, count(*) as calls ${failed} group by status, code`.execute(db);
  const nameOf = await namesOf(
    db,
    rows.map(({ code }) => code),
  );
  return {
    failures: {
      values: rows
        .map(({ status, code, calls }) => ({
          status: Number(status),
          code: orNull(nameOf(code)),
          calls: Number(calls),
        }))
        .toSorted((a, b) => b.calls - a.calls || a.status - b.status),
      searchedToMs: end === undefined ? null : timeOfKey(end.id),
    },
    causes: areAsked ? await causes(db, failed) : [],
  };
}

async function causes(db: Db, failed: ReturnType<LogQuery["matching"]>): Promise<readonly FailureSum[]> {
  const [each, listed] = usesPostgres(db)
    ? [
        sql`json_array_elements_text(case when tags = '' then '[]' else tags end :: json) as each(value)`,
        sql`json_agg(value order by value)::text`,
      ]
    : [
        sql`json_each(case when tags = '' then '[]' else tags end) as each`,
        sql`json_group_array(value order by value)`,
      ];
  const ofKind = sql.join(
    [tagOf("limit", "%"), tagOf("policy", "%")].map((pattern) => sql`value like ${pattern}`),
    sql` or `,
  );
  // the text is a list in JSON, in which quotes of a tag are escaped
  const tool = `"${tagOf("tool", "%")}`;
  const withTools = sql`tags like ${`[${tool}`} or tags like ${`%,${tool}`}`;
  const { rows } = await sql<{
    readonly status: bigint | number;
    readonly code: bigint | number;
    readonly provider: bigint | number;
    readonly model: bigint | number;
    readonly named: string | null;
    readonly ran_tools: bigint | number;
    readonly calls: bigint | number | string;
  }>`with failed as (select status, code, provider, model, (select ${listed} from ${each} where ${ofKind}) as named, case when ${withTools} then 1 else 0 end as ran_tools ${failed}) select status, code, provider, model, named, ran_tools, count(*) as calls from failed group by status, code, provider, model, named, ran_tools`.execute(
    db,
  );
  const nameOf = await namesOf(
    db,
    rows.flatMap(({ code, provider, model }) => [code, provider, model]),
  );
  return rows
    .map(({ status, code, provider, model, named, ran_tools: ranTools, calls }) => ({
      status: Number(status),
      code: orNull(nameOf(code)),
      provider: orNull(nameOf(provider)),
      model: orNull(nameOf(model)),
      tags: JSON.parse(named ?? "[]") as readonly string[],
      ...(Number(ranTools) === 1 && { ranTools: true as const }),
      calls: Number(calls),
    }))
    .toSorted((a, b) => b.calls - a.calls || a.status - b.status);
}
