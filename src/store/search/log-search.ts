// Searches the log of calls by any field. A search follows one index in its order and reads a bounded number of calls,
// whatever is asked for: rare calls come in pages that are shorter than requested, or empty, with a cursor that leads
// on. No search therefore occupies the reading thread for long.
import { type Kysely, sql, type RawBuilder } from "kysely";
import { camelCase } from "../../core/text/camel-case.ts";
import { requestHash } from "../calls/call-columns.ts";
import { findKey, keyBoundAt, timeOfKey } from "../calls/call-keys.ts";
import { numbersOf } from "../calls/call-names.ts";
import { summariesOf } from "../calls/call-reads.ts";
import type { CallSchema, FoundRow } from "../calls/call-schema.ts";
import { tagOf } from "../calls/call-tags.ts";
import type { LogFilter, LogOrder, LogPage } from "../calls/calls.ts";
import {
  allOf,
  type Condition,
  NAMED,
  NARROWEST,
  type NumberedFilter,
  restOf,
  type WayIndex,
} from "./log-conditions.ts";
import {
  cursorAt,
  inOrderOf,
  keyBefore,
  type KeyPart,
  type ListKey,
  pageOf,
  rowLimit,
  having,
} from "../database/pages.ts";
import type { PageRequest } from "../reader.ts";
import { toInteger } from "../database/columns.ts";

type Db = Kysely<CallSchema>;

/**
 * The most calls that one search reads: some 50 ms in SQLite. Calls are stored in the order of time; those of one token
 * or tag are scattered.
 */
const MOST_IN_ORDER = 40_000;
const MOST_SCATTERED = 12_000;

/** The path of a search. `by` names the index that it follows. */
interface Way {
  readonly by: WayIndex;
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

type FoundKey = Pick<FoundRow, "id"> & { readonly at_ms: bigint };

export interface LogQuery {
  readonly key: ListKey;
  /** Where the search ends; `null` when the index answers every condition. */
  readonly end: RawBuilder<FoundKey> | null;
  readonly rows: (end: readonly KeyPart[] | null) => RawBuilder<FoundRow>;
  /** What is selected from: the calls that match, as far as the search goes. */
  readonly matching: (end: readonly KeyPart[] | null) => RawBuilder<unknown>;
}

export async function searchCalls(db: Db, page: PageRequest, filter: LogFilter): Promise<LogPage> {
  const { data, ...rest } = await searchRows(db, page, filter);
  return { ...rest, data: await summariesOf(db, data) };
}

/** What a search finds, as it is stored. */
interface RowPage extends Omit<LogPage, "data"> {
  readonly data: readonly FoundRow[];
}

export async function searchRows(db: Db, page: PageRequest, filter: LogFilter): Promise<RowPage> {
  const numbered = await numberedFilter(db, filter);
  return numbered === null ? nothing(page, keyOfOrder(filter.order)) : await search(db, page, numbered);
}

/** `null` when a name in the filter, or the trace id, has never occurred. */
export async function numberedFilter(db: Db, filter: LogFilter): Promise<NumberedFilter | null> {
  const names = NAMED.flatMap((column) => filter[camelCase(column)] ?? []);
  const numbers = await numbersOf(db, names);
  if (names.some((name) => !numbers.has(name))) return null;
  const found = await withRequest(db, { filter, numbers });
  if (filter.traceId === undefined) return found;
  const callKey = await findKey(db, filter.traceId);
  return callKey === null ? null : { ...found, callKey };
}

/** A provider's id of an attempt that did not answer is a tag. */
async function withRequest(db: Db, numbered: NumberedFilter): Promise<NumberedFilter> {
  const { filter, numbers } = numbered;
  const { providerRequestId: id, tenantId, tags = [] } = filter;
  if (id === undefined) return numbered;
  const tag = tagOf("attempt", id);
  // what a provider of another tenant says hides no call
  const tenant = tenantId === undefined ? undefined : BigInt(numbers.get(tenantId)!);
  const known = await db
    .selectFrom("call_tag")
    .select("id")
    .where(having({ tag, tenant_id: tenant }))
    .limit(sql.lit(1))
    .execute();
  return known.length > 0
    ? { ...numbered, filter: { ...filter, tags: [tag, ...tags] } }
    : { ...numbered, requestHash: requestHash(id) };
}

function nothing(page: PageRequest, key: ListKey): RowPage {
  rowLimit(page);
  keyBefore(page, key);
  return { data: [], nextCursor: null, searchedToMs: null };
}

const timeOf = (order: LogOrder, parts: readonly KeyPart[]): number =>
  order === "ended" ? Number(parts[0]) : timeOfKey(parts[0] as bigint);

async function search(db: Db, page: PageRequest, numbered: NumberedFilter): Promise<RowPage> {
  const { order } = numbered.filter;
  const query = logQuery(page, numbered);
  const last = query.end === null ? undefined : (await query.end.execute(db)).rows[0];
  const end = last === undefined ? null : order === "ended" ? [last.at_ms, last.id] : [last.id];
  const { rows } = await query.rows(end).execute(db);
  const keyOf = (row: FoundRow): readonly KeyPart[] => (order === "ended" ? [row.end_ms as bigint, row.id] : [row.id]);
  const found = pageOf(rows, page, query.key, (row) => row, keyOf);
  if (end === null || found.nextCursor !== null) return { ...found, searchedToMs: null };
  return { ...found, nextCursor: cursorAt(query.key, end), searchedToMs: timeOf(order, end) };
}

/**
 * With `isBounded` the search has an end even where the index answers every condition, for what reads every call that
 * it finds.
 */
export function logQuery(page: PageRequest, numbered: NumberedFilter, isBounded = false): LogQuery {
  const way = wayOf(numbered);
  const { key } = way;
  const rest = restOf(numbered, way.by);
  const within = [...way.searched, ...startOf(page, way)];
  const low = way.fromMs === undefined ? [] : [timeBound(key, ">=", way.fromMs)];
  const high = way.toMs === undefined ? [] : [timeBound(key, "<", way.toMs)];
  const far = key.newestFirst ? low : high;
  const most = way.by === "time" || way.by === "end" ? MOST_IN_ORDER : MOST_SCATTERED;
  const order = inOrderOf(key);
  const limit = rowLimit(page);
  // Given two bounds on one side, the database would use the wider one.
  const matching = (end: readonly KeyPart[] | null): RawBuilder<unknown> =>
    sql`from ${way.from}${way.join?.to ?? sql``} where ${allOf([...within, ...(way.join === undefined ? [] : [way.join.by]), ...(end === null ? far : [keyBound(key, key.newestFirst ? ">=" : "<=", end)]), ...rest])}`;
  return {
    key,
    end:
      (rest.length === 0 && !isBounded) || numbered.callKey !== undefined
        ? null
        : sql`select ${sql.raw(key.columns[0]![0])} as at_ms, ${sql.raw(key.columns.at(-1)![0])} as id from ${way.from} where ${allOf([...within, ...far])} order by ${order} limit 1 offset ${sql.lit(most - 1)}`,
    rows: (end) => sql`select call.* ${matching(end)} order by ${order} limit ${sql.lit(limit)}`,
    matching,
  };
}

function keyBound({ columns }: ListKey, sign: string, parts: readonly KeyPart[]): Condition {
  const names = sql.raw(columns.map(([expression]) => expression).join(", "));
  return columns.length === 1
    ? sql<boolean>`${names} ${sql.raw(sign)} ${parts[0]!}`
    : sql<boolean>`(${names}) ${sql.raw(sign)} (${sql.join(parts)})`;
}
function timeBound({ columns }: ListKey, sign: string, ms: number): Condition {
  return sql<boolean>`${sql.raw(columns[0]![0])} ${sql.raw(sign)} ${columns.length === 1 ? keyBoundAt(ms) : toInteger(ms)}`;
}

/** Where the page begins: after the cursor, or at the time bound where that is nearer. */
function startOf(page: PageRequest, { key, fromMs, toMs }: Way): readonly Condition[] {
  const before = keyBefore(page, key);
  const nearMs = key.newestFirst ? toMs : fromMs;
  const near = nearMs === undefined ? null : key.columns.length === 1 ? keyBoundAt(nearMs) : toInteger(nearMs);
  const isBehind =
    before !== null &&
    (near === null || (key.newestFirst ? (before[0] as bigint) < near : (before[0] as bigint) >= near));
  if (!isBehind) return nearMs === undefined ? [] : [timeBound(key, key.newestFirst ? "<" : ">=", nearMs)];
  return [keyBound(key, key.newestFirst ? "<" : ">", before)];
}

/** Columns whose index has only the calls that have a value there. */
const SPARSE: Readonly<Partial<Record<string, Condition>>> = {
  end_user: sql<boolean>`end_user <> ''`,
  user_id: sql<boolean>`user_id <> 0`,
  code: sql<boolean>`code <> 0`,
};

/** The order of a list; `of` is the table in whose index it is. */
function keyOfOrder(order: LogOrder, of = "call"): ListKey {
  const id = [`${of}.id`, "integer"] as const;
  return {
    list: `logs ${order}`,
    columns: order === "ended" ? [["call.end_ms", "integer"], id] : [id],
    newestFirst: order === "newest",
  };
}

function wayOf({ filter, numbers, callKey }: NumberedFilter): Way {
  const { order, tags = [], fromMs, toMs, endedFromMs } = filter;
  const calls = sql`call`;
  const bounds = { fromMs, toMs };
  const key = keyOfOrder(order);
  const isCall = callKey === undefined ? [] : [sql<boolean>`call.id = ${callKey}`];
  if (order === "ended")
    return { by: "end", key, from: calls, searched: isCall, fromMs: latest(endedFromMs, fromMs), toMs: undefined };
  if (callKey !== undefined) return { by: "time", key, from: calls, searched: isCall, ...bounds };
  // SQLite joins in the order in which the tables are named here.
  if (tags.length > 0)
    return {
      by: "tag",
      key: keyOfOrder(order, "t"),
      from: sql`call_tag as t`,
      searched: [sql<boolean>`t.tag = ${tags[0]!}`],
      join: { to: sql` cross join call`, by: sql<boolean>`call.id = t.id` },
      ...bounds,
    };
  const by = NARROWEST.find((column) => filter[camelCase(column)] !== undefined);
  if (by === undefined) return { by: "time", key, from: calls, searched: [], ...bounds };
  const given = filter[camelCase(by)]!;
  const value = by === "end_user" ? given : BigInt(numbers.get(given)!);
  return {
    by,
    key,
    from: calls,
    searched: [
      sql<boolean>`${sql.ref(by)} = ${value}`,
      ...(SPARSE[by] === undefined ? [] : [SPARSE[by]]),
      ...(by === "tenant_id" ? fewOf(filter) : []),
    ],
    ...bounds,
  };
}

/** A call never ends before it begins. */
function latest(endedFromMs: number | undefined, fromMs: number | undefined): number | undefined {
  return endedFromMs === undefined || fromMs === undefined ? (endedFromMs ?? fromMs) : Math.max(endedFromMs, fromMs);
}

/** Failed calls of a tenant have an index of their own, and so have those with several attempts. */
function fewOf({ outcome, status = 0, statusClass = 0, atLeast }: LogFilter): readonly Condition[] {
  if (outcome === "failed" || status >= 400 || statusClass >= 4) return [sql<boolean>`status >= 400`];
  return (atLeast?.attempts ?? 0) > 1 ? [sql<boolean>`attempts > 1`] : [];
}
