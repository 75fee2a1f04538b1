// Searches the log of calls by any field. A search follows one index in its order and reads a bounded number of calls,
// whatever is asked for: rare calls come in pages that are shorter than requested, or empty, with a cursor that leads
// on. No search therefore occupies the reading thread for long.
import { type Kysely, sql, type RawBuilder } from "kysely";
import { summaryOf } from "./call-columns.ts";
import type { CallColumns, CallSchema } from "./call-schema.ts";
import type { LogBounds, LogFilter, LogPage } from "./calls.ts";
import { cursorAt, inOrderOf, keyBefore, type KeyPart, type ListKey, pageOf, rowLimit } from "./pages.ts";
import type { PageRequest } from "./reader.ts";
import { fromInteger, toInteger } from "./schema.ts";

type Db = Kysely<CallSchema>;
type Condition = RawBuilder<boolean>;

/**
 * The most calls that one search reads: some 50 ms in SQLite. Calls are stored in the order of time; those of one token
 * or tag are scattered.
 */
const MOST_IN_ORDER = 40_000;
const MOST_SCATTERED = 12_000;

/** The path of a search. `by` names the index that it follows. */
interface Way {
  readonly by:
    | "trace_id"
    | "tag"
    | "token_id"
    | "end_user"
    | "user_id"
    | "code"
    | "project_id"
    | "tenant_id"
    | "time"
    | "end";
  readonly key: ListKey;
  readonly from: RawBuilder<unknown>;
  /** Conditions that the index answers. */
  readonly searched: readonly Condition[];
  /** How an index that is a separate table leads to the calls. */
  readonly join?: { readonly to: RawBuilder<unknown>; readonly by: Condition };
  /** The bounds of its time, inclusive and exclusive. */
  readonly fromMs: number | undefined;
  readonly toMs: number | undefined;
}

export interface LogQuery {
  readonly way: Way["by"];
  readonly key: ListKey;
  /** Where the search ends; `null` when the index answers every condition. */
  readonly end: RawBuilder<Pick<CallColumns, "time_ms" | "trace_id">> | null;
  readonly rows: (end: readonly KeyPart[] | null) => RawBuilder<CallColumns & { readonly key_ms: bigint }>;
}

export async function searchCalls(db: Db, page: PageRequest, filter: LogFilter): Promise<LogPage> {
  const query = logQuery(page, filter);
  const last = query.end === null ? undefined : (await query.end.execute(db)).rows[0];
  const end = last === undefined ? null : [last.time_ms, last.trace_id];
  const { rows } = await query.rows(end).execute(db);
  const found = pageOf(rows, page, query.key, (row) => [row.key_ms, row.trace_id], summaryOf);
  if (end === null || found.nextCursor !== null) return { ...found, searchedToMs: null };
  return { data: found.data, nextCursor: cursorAt(query.key, end), searchedToMs: fromInteger(last!.time_ms) };
}

/** Exported for the test that checks its query plans. */
export function logQuery(page: PageRequest, filter: LogFilter): LogQuery {
  const way = wayOf(filter);
  const { key } = way;
  const rest = restOf(filter, way.by);
  const within = [...way.searched, ...startOf(page, way)];
  const low = way.fromMs === undefined ? [] : [timeBound(key, ">=", way.fromMs)];
  const high = way.toMs === undefined ? [] : [timeBound(key, "<", way.toMs)];
  const far = key.newestFirst ? low : high;
  const most = way.by === "time" || way.by === "end" ? MOST_IN_ORDER : MOST_SCATTERED;
  const [time, id] = key.columns.map(([expression]) => sql.raw(expression));
  const order = inOrderOf(key);
  const limit = rowLimit(page);
  return {
    way: way.by,
    key,
    end:
      rest.length === 0 || way.by === "trace_id"
        ? null
        : sql`select ${time!} as time_ms, ${id!} as trace_id from ${way.from} where ${allOf([...within, ...far])} order by ${order} limit 1 offset ${sql.lit(most - 1)}`,
    // Given two bounds on one side, the database would use the wider one.
    rows: (end) =>
      sql`select call.*, ${time!} as key_ms from ${way.from}${way.join?.to ?? sql``} where ${allOf([...within, ...(way.join === undefined ? [] : [way.join.by]), ...(end === null ? far : [keyBound(key, key.newestFirst ? ">=" : "<=", end)]), ...rest])} order by ${order} limit ${sql.lit(limit)}`,
  };
}

const allOf = (conditions: readonly Condition[]): RawBuilder<unknown> =>
  conditions.length === 0 ? sql`1 = 1` : sql.join(conditions, sql` and `);

function keyBound({ columns }: ListKey, sign: string, parts: readonly KeyPart[]): Condition {
  return sql<boolean>`(${sql.raw(columns.map(([expression]) => expression).join(", "))}) ${sql.raw(sign)} (${sql.join(parts)})`;
}
function timeBound({ columns }: ListKey, sign: string, ms: number): Condition {
  return sql<boolean>`${sql.raw(columns[0]![0])} ${sql.raw(sign)} ${toInteger(ms)}`;
}

/** Where the page begins: after the cursor, or at the time bound where that is nearer. */
function startOf(page: PageRequest, { key, fromMs, toMs }: Way): readonly Condition[] {
  const before = keyBefore(page, key);
  const nearMs = key.newestFirst ? toMs : fromMs;
  const isBehind =
    before !== null &&
    (nearMs === undefined ||
      (key.newestFirst ? (before[0] as bigint) < toInteger(nearMs) : (before[0] as bigint) >= toInteger(nearMs)));
  if (!isBehind) return nearMs === undefined ? [] : [timeBound(key, key.newestFirst ? "<" : ">=", nearMs)];
  const behind = keyBound(key, key.newestFirst ? "<" : ">", before);
  // An index over an expression is used only for a plain comparison.
  return key.columns[0]![0] === END ? [sql<boolean>`${sql.raw(END)} >= ${before[0]!}`, behind] : [behind];
}

/** The same expression as in the index. */
const END = "(time_ms + total_ms)";
const COLUMNS = {
  tokenId: "token_id",
  endUser: "end_user",
  userId: "user_id",
  code: "code",
  projectId: "project_id",
  tenantId: "tenant_id",
} as const;
/** The most selective column first, because the database has no statistics to choose by. */
const NARROWEST = Object.keys(COLUMNS) as readonly (keyof typeof COLUMNS)[];
const SPARSE: ReadonlySet<string> = new Set(["end_user", "user_id", "code"]);

function wayOf(filter: LogFilter): Way {
  const { order, tags = [], traceId, fromMs, toMs, endedFromMs } = filter;
  const newestFirst = order === "newest";
  const calls = sql`call`;
  const bounds = { fromMs, toMs };
  const key = (time: string, id: string): ListKey => ({
    list: `logs ${order}`,
    columns: [
      [time, "integer"],
      [id, "text"],
    ],
    newestFirst,
  });
  if (order === "ended")
    return {
      by: "end",
      key: key(END, "trace_id"),
      from: calls,
      searched: [],
      fromMs: latest(endedFromMs, fromMs),
      toMs: undefined,
    };
  if (traceId !== undefined)
    return {
      by: "trace_id",
      key: key("time_ms", "trace_id"),
      from: calls,
      searched: [sql<boolean>`trace_id = ${traceId}`],
      ...bounds,
    };
  // SQLite joins in the order in which the tables are named here.
  if (tags.length > 0)
    return {
      by: "tag",
      key: key("t.time_ms", "t.trace_id"),
      from: sql`call_tag as t`,
      searched: [sql<boolean>`t.tag = ${tags[0]!}`],
      join: { to: sql` cross join call`, by: sql<boolean>`call.trace_id = t.trace_id` },
      ...bounds,
    };
  const searched = NARROWEST.find((name) => filter[name] !== undefined);
  if (searched === undefined)
    return { by: "time", key: key("time_ms", "trace_id"), from: calls, searched: [], ...bounds };
  const by = COLUMNS[searched];
  const sparse = SPARSE.has(by) ? [sql<boolean>`${sql.ref(by)} <> ''`] : [];
  return {
    by,
    key: key("time_ms", "trace_id"),
    from: calls,
    searched: [
      sql<boolean>`${sql.ref(by)} = ${filter[searched]!}`,
      ...sparse,
      ...(by === "tenant_id" ? failedOf(filter) : []),
    ],
    ...bounds,
  };
}

/** A call never ends before it begins. */
function latest(endedFromMs: number | undefined, fromMs: number | undefined): number | undefined {
  return endedFromMs === undefined || fromMs === undefined ? (endedFromMs ?? fromMs) : Math.max(endedFromMs, fromMs);
}

/** Failed calls of a tenant have an index of their own. */
function failedOf({ outcome, status = 0, statusClass = 0 }: LogFilter): readonly Condition[] {
  return outcome === "failed" || status >= 400 || statusClass >= 4 ? [sql<boolean>`status >= 400`] : [];
}

const BOUNDED: Readonly<Record<keyof LogBounds, string>> = {
  totalMs: "total_ms",
  firstContentMs: "first_content_ms",
  attempts: "attempts",
  promptTokens: "prompt_tokens",
  completionTokens: "completion_tokens",
  tokens: "(prompt_tokens + completion_tokens)",
  costNanoUsd: "cost_nano_usd",
};

/**
 * Conditions that the index does not answer. A column whose index is not used is put into an expression, so that the
 * database does not choose that index.
 */
function restOf(filter: LogFilter, by: Way["by"]): readonly Condition[] {
  const textConditions = (column: string, value: string | undefined): readonly Condition[] =>
    value === undefined || by === column ? [] : [sql<boolean>`${sql.ref(`call.${column}`)} || '' = ${value}`];
  const flag = (column: string, value: boolean | undefined): readonly Condition[] =>
    value === undefined ? [] : [sql<boolean>`${sql.ref(column)} = ${value ? 1n : 0n}`];
  const {
    status,
    statusClass,
    outcome,
    tags = [],
    atLeast = {},
    atMost = {},
    traceId,
    fromMs,
    toMs,
    endedFromMs,
    order,
  } = filter;
  const among = (bounds: LogBounds, sign: string): readonly Condition[] =>
    (Object.keys(BOUNDED) as (keyof LogBounds)[]).flatMap((name) =>
      bounds[name] === undefined
        ? []
        : [sql<boolean>`${sql.raw(BOUNDED[name])} ${sql.raw(sign)} ${toInteger(bounds[name])}`],
    );
  const others = by === "tag" ? tags.slice(1) : tags;
  // These conditions can be checked without reading the call.
  const place =
    by !== "tag"
      ? []
      : [
          ...(filter.tenantId === undefined ? [] : [sql<boolean>`t.tenant_id = ${filter.tenantId}`]),
          ...(filter.projectId === undefined ? [] : [sql<boolean>`t.project_id = ${filter.projectId}`]),
        ];
  const isFailedAlone = by === "tenant_id" && outcome === "failed";
  return [
    ...place,
    ...NARROWEST.filter((name) => by !== "tag" || (name !== "tenantId" && name !== "projectId")).flatMap((name) =>
      textConditions(COLUMNS[name], filter[name]),
    ),
    ...(["route", "provider", "model"] as const).flatMap((name) => textConditions(name, filter[name])),
    ...textConditions("model_asked", filter.modelAsked),
    ...textConditions("finish_reason", filter.finishReason),
    ...(order === "ended"
      ? [
          ...textConditions("trace_id", traceId),
          ...(fromMs === undefined ? [] : [sql<boolean>`time_ms + 0 >= ${toInteger(fromMs)}`]),
          ...(toMs === undefined ? [] : [sql<boolean>`time_ms + 0 < ${toInteger(toMs)}`]),
        ]
      : []),
    ...(order === "ended" || endedFromMs === undefined
      ? []
      : [sql<boolean>`call.time_ms + total_ms + 0 >= ${toInteger(endedFromMs)}`]),
    ...(outcome === undefined || isFailedAlone
      ? []
      : [outcome === "ok" ? sql<boolean>`status < 400` : sql<boolean>`status >= 400`]),
    ...(status === undefined ? [] : [sql<boolean>`status = ${toInteger(status)}`]),
    ...(statusClass === undefined
      ? []
      : [sql<boolean>`status >= ${toInteger(statusClass * 100)} and status < ${toInteger(statusClass * 100 + 100)}`]),
    ...flag("stream", filter.stream),
    ...flag("cancelled", filter.cancelled),
    ...flag("explained", filter.explained),
    ...flag("settled", filter.settled),
    ...among(atLeast, ">="),
    ...among(atMost, "<="),
    ...others.map(
      (tag) =>
        sql<boolean>`exists (select 1 from call_tag as other where other.tag = ${tag} and other.time_ms = call.time_ms and other.trace_id = call.trace_id)`,
    ),
  ];
}
