// Calls over time: sums for each of some buckets of time. Where only callers and targets are filtered, they are exact
// sums of any period. Any other filter has to look at single calls, the newest first, and at a bounded number of them.
import { type Kysely, sql } from "kysely";
import { timeOfKey, timeOfKeySql } from "../calls/call-keys.ts";
import { SCOPE_NAMES } from "../calls/call-reads.ts";
import type { CallSchema } from "../calls/call-schema.ts";
import type { CallHistogram, CallScope, HistogramQuery, LogFilter, UsageSums } from "../calls/calls.ts";
import { logQuery, numberedFilter } from "./log-search.ts";
import { cursorAt } from "../database/pages.ts";
import { inOneView } from "../database/transactions.ts";
import { StoreError } from "../store-error.ts";
import { addedSums, ALL_SUMS, NO_SUMS, type Sums, sumsInRow } from "../sums/usage-figures.ts";
import { HOURS } from "../sums/roll-up-triggers.ts";
import { FIGURES_OF_CALL, keptFrom, usageSource } from "../sums/usage-source.ts";

type Db = Kysely<CallSchema>;

export const MOST_BUCKETS = 750;
/** How many searches of a bounded number of calls one histogram makes. */
const MOST_STEPS = 5;
/** Buckets that are shorter than an hour are counted from single calls. */
const HOUR_MS = 3_600_000;

export async function histogram(db: Db, query: HistogramQuery): Promise<CallHistogram> {
  const { edges, filter } = query;
  requireEdges(edges);
  const scope = scopeAlone(filter);
  return scope !== null && isOfHours(edges)
    ? await inOneView(db, (view) => summed(view, edges, scope))
    : await inOneView(db, (view) => counted(view, edges, filter));
}

/** Throws StoreError `invalid`. */
function requireEdges(edges: readonly number[]): void {
  if (
    edges.length < 2 ||
    edges.length > MOST_BUCKETS + 1 ||
    edges.some((edge, index) => edge <= (edges[index - 1] ?? -Infinity))
  )
    throw new StoreError("invalid", `A histogram must have 1 to ${MOST_BUCKETS} buckets, in the order of time.`);
}

/** The filter, if it has nothing that sums lack: they have neither explanations nor copies for mirrors. */
function scopeAlone({ explained = false, mirrored = false, ...filter }: HistogramQuery["filter"]): CallScope | null {
  if (explained || mirrored) return null;
  return Object.entries(filter).every(([name, value]) => SCOPE_NAMES.has(name) || isEmpty(value)) ? filter : null;
}

const isEmpty = (value: unknown): boolean =>
  value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Whether most of the period is whole hours: only the edges at both ends may divide one. */
function isOfHours(edges: readonly number[]): boolean {
  return (
    edges.slice(1, -1).every((edge) => edge % HOUR_MS === 0 || edge % HOUR_MS === edges[1]! % HOUR_MS) &&
    widthOf(edges) >= HOUR_MS
  );
}

/** Of the widest bucket, because the first and the last may be cut. */
const widthOf = (edges: readonly number[]): number =>
  Math.max(...edges.slice(1).map((edge, index) => edge - edges[index]!));

/** The sums of each bucket, from sums at moments. */
function inBuckets(edges: readonly number[], rows: readonly { readonly atMs: number; readonly sums: UsageSums }[]) {
  const buckets = Array.from({ length: edges.length - 1 }, () => NO_SUMS);
  for (const { atMs, sums } of rows) {
    const index = edges.findLastIndex((edge) => edge <= atMs);
    if (index >= 0 && index < buckets.length) buckets[index] = addedSums(buckets[index]!, sums);
  }
  return buckets;
}

type TimedSums = Sums & { readonly at_ms: bigint };
const timed = (row: TimedSums) => ({ atMs: Number(row.at_ms), sums: sumsInRow(row) });

async function summed(db: Db, edges: readonly number[], scope: CallScope): Promise<CallHistogram> {
  const source = await usageSource(db, {
    scope,
    sums: HOURS,
    fromMs: edges[0]!,
    toMs: edges.at(-1)!,
    cuts: edges.slice(1, -1),
    by: [],
  });
  if (source === null) return { buckets: inBuckets(edges, []), searchedToMs: null, wholeUntilMs: null };
  const { rows } = await sql<TimedSums>`select at_ms, ${ALL_SUMS} from ${source.table} group by at_ms`.execute(db);
  return {
    buckets: inBuckets(edges, rows.map(timed)),
    searchedToMs: null,
    wholeUntilMs: source.undivided.length === 0 ? null : Math.max(...source.undivided) + HOURS.spanMs,
  };
}

async function counted(db: Db, edges: readonly number[], filter: HistogramQuery["filter"]): Promise<CallHistogram> {
  const fromMs = edges[0]!;
  const keptFromMs = await keptFrom(db, fromMs);
  const given: LogFilter = {
    explained: false,
    mirrored: false,
    ...filter,
    order: "newest",
    fromMs,
    toMs: edges.at(-1)!,
  };
  const numbered = await numberedFilter(db, given);
  const unit = unitOf(edges);
  const found: UsageSums[] = inBuckets(edges, []);
  const begin = keptFromMs === null ? fromMs : Math.min(keptFromMs, edges.at(-1)!);
  const complete = { buckets: found, searchedToMs: begin > fromMs ? begin : null, wholeUntilMs: null };
  if (numbered === null) return complete;
  let cursor: string | null = null;
  let { searchedToMs } = complete;
  for (let step = 0; step < MOST_STEPS; step++) {
    const query = logQuery({ limit: 1, cursor }, numbered);
    const end = query.end === null ? undefined : (await query.end.execute(db)).rows[0];
    const time = timeOfKeySql("call.id");
    const { rows } =
      await sql<TimedSums>`select at_ms, ${ALL_SUMS} from (select ${sql.raw(`(${time} - ${time} % ${unit}) as at_ms, ${FIGURES_OF_CALL}`)} ${query.matching(end === undefined ? null : [end.id])}) as counted group by at_ms`.execute(
        db,
      );
    for (const [index, sums] of inBuckets(
      edges,
      rows.map(timed).map(({ atMs, sums: own }) => ({ atMs: Math.max(atMs, edges[0]!), sums: own })),
    ).entries())
      found[index] = addedSums(found[index]!, sums);
    if (end === undefined) return complete;
    cursor = cursorAt(query.key, [end.id]);
    searchedToMs = timeOfKey(end.id);
  }
  return { ...complete, searchedToMs };
}

const MINUTE_MS = 60_000;

/** Calls are summed by this time first, which divides every bucket but those at both ends. */
const unitOf = (edges: readonly number[]): number =>
  edges.slice(1, -1).every((edge) => edge % MINUTE_MS === 0) ? MINUTE_MS : 1000;
