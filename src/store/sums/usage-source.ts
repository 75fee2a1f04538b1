// The rows of sums of any period, as one table of SQL: the sums of whole hours or days (of end users: days), and single
// calls in the form of sums where a period begins, ends or is cut within an hour. Every call is in it exactly once.
import { type Kysely, type RawBuilder, sql } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { firstKeyAt, keyBoundAt, timeOfKey, timeOfKeySql } from "../calls/call-keys.ts";
import { scopeConditions } from "../calls/call-reads.ts";
import { type CallSchema, LATENCY_COLUMNS, SUM_COLUMNS } from "../calls/call-schema.ts";
import { SUM_FIGURES, SUMMED_COLUMNS, type SumFigureName } from "./sum-figures.ts";
import { type CallScope, DIMENSIONS, LATENCY_BOUNDS_MS, type UsageDimension } from "../calls/calls.ts";
import { HOURS, type SumsTable } from "./roll-up-triggers.ts";
import { figuresFrom, partsOf } from "./sum-halves.ts";
import { type AskedDimension, choicesFor, type Stretch, stretchesOf } from "./sum-stretches.ts";
import { cutHours, type DividedPeriod, dividedPeriod, type Piece } from "./usage-periods.ts";

type Db = Kysely<CallSchema>;
type Condition = RawBuilder<unknown>;

export interface SourceQuery {
  readonly scope: CallScope;
  readonly sums: SumsTable;
  /** `null` is open. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
  /** Moments between them at which sums must not run on, in ascending order. */
  readonly cuts: readonly number[];
  /** What rows have to tell, as far as calls tell it. */
  readonly by: readonly UsageDimension[];
  /** Those of SUM_COLUMNS that are needed; all, if left out. */
  readonly figures?: readonly string[];
}

export interface SummedCalls {
  /**
   * With the columns `at_ms`, those of the figures, and those of what was asked for. `at_ms` is a moment before the
   * next cut.
   */
  readonly table: RawBuilder<unknown>;
  /** Hours that had to count as a whole where they begin, because their calls are not kept any more. */
  readonly undivided: readonly number[];
}

/** `null` when a name of the scope has never occurred. */
export async function usageSource(db: Db, query: SourceQuery): Promise<SummedCalls | null> {
  const { scope, sums, fromMs, toMs, cuts } = query;
  const inSums = await scopeConditions(db, scope, "sums");
  if (inSums === null) return null;
  const ends = [...(fromMs === null ? [] : [fromMs]), ...(toMs === null ? [] : [toMs])];
  const hours = cutHours([...ends, ...cuts], sums.spanMs);
  const kept = hours.length === 0 ? new Set<number>() : await keptHours(db, sums, hours);
  const period = dividedPeriod(fromMs, toMs, cuts, sums.spanMs, (hourMs) => kept.has(hourMs));
  const choices = choicesFor(sums.table, askedDimensions(query), query.by.includes("day"));
  const stretches = stretchesOf({ sums, period, cuts, choices });
  const arms = [...stretches.map((stretch) => sumArm(query, stretch, inSums)), ...(await pieceArms(db, query, period))];
  return {
    table: sql`(${sql.join(arms, sql` union all `)}) as sums`,
    undivided: period.undivided,
  };
}

/** The dimensions that tables of sums must have for the query. The day is not one of them: it follows from the time. */
function askedDimensions({ scope, by }: SourceQuery): readonly AskedDimension[] {
  const names = Object.keys(DIMENSIONS) as (keyof typeof DIMENSIONS)[];
  return [...by, ...names.filter((name) => scope[DIMENSIONS[name].scoped] !== undefined)].filter(
    (dimension) => dimension !== "day",
  );
}

/** The columns that an arm has for what was asked. */
const askedColumns = ({ by }: SourceQuery): readonly string[] =>
  by.flatMap((dimension) => (dimension === "day" ? [] : [DIMENSIONS[dimension].column]));

/**
 * Which of these hours can be divided: all of their calls are kept, or there were none. Calls are removed in the order
 * of time, so that only the hour of the oldest one has to be counted.
 */
async function keptHours(db: Db, sums: SumsTable, hours: readonly number[]): Promise<ReadonlySet<number>> {
  const oldestMs = await oldestCall(db);
  const kept = new Set(hours.filter((hourMs) => hourMs >= oldestMs));
  const others = hours.filter((hourMs) => !kept.has(hourMs));
  if (others.length === 0) return kept;
  const { rows } = await sql<{ readonly at_ms: bigint; readonly calls: bigint | number | string }>`select ${sql.ref(
    sums.time,
  )} as at_ms, sum(calls) as calls from ${sql.table(sums.table)} where ${sql.ref(sums.time)} in (${sql.join(
    others.map((hourMs) => sql.lit(hourMs)),
  )}) group by ${sql.ref(sums.time)}`.execute(db);
  const counted = new Map(rows.map(({ at_ms: atMs, calls }) => [Number(atMs), Number(calls)]));
  for (const hourMs of others) {
    const calls = counted.get(hourMs) ?? 0;
    if (calls === 0 || (hourMs + sums.spanMs > oldestMs && calls === (await callsWithin(db, sums, hourMs))))
      kept.add(hourMs);
  }
  return kept;
}

/**
 * Since when all calls are kept of a period that begins at `fromMs`: `null` where that is the whole period. An earlier
 * time than `fromMs` within its hour may count, because sums do not tell when in an hour a call was.
 */
export async function keptFrom(db: Db, fromMs: number): Promise<number | null> {
  const oldestMs = await oldestCall(db);
  if (oldestMs <= fromMs) return null;
  const firstMs = fromMs - (fromMs % HOURS.spanMs);
  const oldestHourMs = Number.isFinite(oldestMs) ? oldestMs - (oldestMs % HOURS.spanMs) : Infinity;
  const before = Number.isFinite(oldestHourMs) ? sql` and hour_ms < ${sql.lit(oldestHourMs)}` : sql``;
  const { rows } = await sql`select 1 from call_hour where hour_ms >= ${sql.lit(firstMs)}${before} limit 1`.execute(db);
  const isWhole =
    rows.length === 0 && (oldestHourMs === Infinity || (await keptHours(db, HOURS, [oldestHourMs])).size > 0);
  return isWhole ? null : oldestMs;
}

/** As `sumsOfCalls` of call-sums.ts has it. */
const IN_SUMS = sql<boolean>`explained = 0 and mirror_of = ''`;

/** Infinity when no call is kept. */
async function oldestCall(db: Db): Promise<number> {
  const { rows } = await sql<{ readonly id: bigint | null }>`select min(id) as id from call`.execute(db);
  const { id } = rows[0]!;
  return id === null ? Infinity : timeOfKey(id);
}

async function callsWithin(db: Db, { table, spanMs }: SumsTable, fromMs: number): Promise<number> {
  const named = table === "call_user_day" ? sql` and end_user <> ''` : sql``;
  const { rows } = await sql<{
    readonly calls: bigint | number | string;
  }>`select count(*) as calls from call where id >= ${sql.lit(firstKeyAt(fromMs))} and id < ${sql.lit(
    firstKeyAt(fromMs + spanMs),
  )} and ${IN_SUMS}${named}`.execute(db);
  return Number(rows[0]!.calls);
}

function sumArm(
  query: SourceQuery,
  { from, isRolledUp, fromMs, toMs }: Stretch,
  inScope: readonly Condition[],
): RawBuilder<unknown> {
  const time = sql.ref(from.time);
  const within: readonly Condition[] = [
    sql`1 = 1`,
    ...(fromMs === -Infinity ? [] : [sql`${time} >= ${sql.lit(fromMs)}`]),
    ...(toMs === Infinity ? [] : [sql`${time} < ${sql.lit(toMs)}`]),
  ];
  const figures = isRolledUp ? partsIn(query).join(", ") : figuresFrom((column) => column, figuresIn(query));
  const columns = [`${from.time} as at_ms`, ...askedColumns(query), figures].join(", ");
  return sql`select ${sql.raw(`${columns} from ${from.table}`)} where ${sql.join([...within, ...inScope], sql` and `)}`;
}

const figuresIn = ({ figures = SUM_COLUMNS }: SourceQuery) => ({ figures });
const partsIn = (query: SourceQuery): readonly string[] => figuresIn(query).figures.flatMap(partsOf);

/** Single calls in the form of sums. `totalMs` is the expression of how long one took. */
function figuresOfCall(totalMs: string, { figures }: { readonly figures?: readonly string[] } = {}): string {
  const latency = new Map(LATENCY_COLUMNS.map((column, index) => [column, oneWithin(totalMs, index)]));
  return figuresFrom((column) => latency.get(column) ?? SUM_FIGURES[column as SumFigureName].sql(totalMs), {
    ...(figures !== undefined && { figures }),
  });
}

/** 1 for a call whose duration is in this bucket of LATENCY_COLUMNS. */
function oneWithin(totalMs: string, index: number): string {
  const above = index === 0 ? [] : [`${totalMs} > ${LATENCY_BOUNDS_MS[index - 1]!}`];
  const bound = LATENCY_BOUNDS_MS[index];
  const conditions = [...above, ...(bound === undefined ? [] : [`${totalMs} <= ${bound}`])];
  return `case when ${conditions.join(" and ")} then 1 else 0 end`;
}

const TOTAL_MS = `(end_ms - ${timeOfKeySql("call.id")})`;
export const FIGURES_OF_CALL = figuresOfCall(TOTAL_MS);

/** Where a piece is taken from that is taken from nowhere. */
const NOWHERE = -1;

async function pieceArms(
  db: Db,
  query: SourceQuery,
  { pieces }: DividedPeriod,
): Promise<readonly RawBuilder<unknown>[]> {
  if (pieces.length === 0) return [];
  const inScope = await scopeConditions(db, query.scope, "calls");
  return inScope === null ? [] : [pieceArm(query, pieces, inScope, usesPostgres(db))];
}

/** The calls of pieces, added up for each of them; once more with the other sign, where they are taken from. */
function pieceArm(
  query: SourceQuery,
  pieces: readonly Piece[],
  inScope: readonly Condition[],
  isPostgres: boolean,
): RawBuilder<unknown> {
  const names = askedColumns(query);
  const ofUsers = query.sums.table === "call_user_day" ? [sql`end_user <> ''`] : [];
  const ofPiece = sql`call.id >= piece.from_key and call.id < piece.to_key`;
  const condition = sql.join([ofPiece, ...inScope, IN_SUMS, ...ofUsers], sql` and `);
  const values = sql.join(
    pieces.map(
      ({ fromMs, toMs, takenFromMs }) =>
        sql`(${sql.lit(fromMs)}, ${sql.lit(takenFromMs ?? NOWHERE)}, ${sql.lit(keyBoundAt(fromMs))}, ${sql.lit(keyBoundAt(toMs))})`,
    ),
  );
  // PostgreSQL would compare each call with each piece: it looks up the calls of one piece after the other only if told.
  const within = isPostgres
    ? sql`lateral (select * from call where ${condition} offset 0) as call`
    : sql`call where ${condition}`;
  const read = [
    "piece.from_ms as at_ms",
    "piece.taken_ms as taken_ms",
    ...names,
    ...SUMMED_COLUMNS,
    `${TOTAL_MS} as took_ms`,
  ].join(", ");
  // Without the limit SQLite would work out how long each call took for each count of durations.
  const called = sql`with piece (from_ms, taken_ms, from_key, to_key) as (values ${values}) select ${sql.raw(read)} from piece cross join ${within} ${isPostgres ? sql`` : sql`limit -1`}`;
  const by = sql.raw(["at_ms", "taken_ms", ...names].join(", "));
  const figures = sql.raw(figuresOfCall("took_ms", figuresIn(query)));
  const parts = partsIn(query);
  const addedUp = sql.raw(parts.map((part) => `cast(sum(${part}) as bigint) as ${part}`).join(", "));
  const signed = sql.raw(
    [
      "case when sign = 1 then at_ms else taken_ms end as at_ms",
      ...names,
      ...parts.map((part) => `${part} * sign as ${part}`),
    ].join(", "),
  );
  // Added up before they are sorted together with what the other arms have.
  const added = sql`select ${by}, ${addedUp} from (select ${by}, ${figures} from (${called}) as called) as counted group by ${by}`;
  return sql`select ${signed} from (${added}) as added cross join (select 1 as sign union all select -1 as sign) as side where sign = 1 or taken_ms <> ${sql.lit(NOWHERE)}`;
}
