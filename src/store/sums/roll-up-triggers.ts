// Sums that are made of other sums, so that reports over a long time read few rows: their tables, and the triggers that
// keep them. A change of a sum changes the roll-ups that contain it in the same transaction. Amounts are stored in two
// halves, because the sum of many rows may exceed what one column can hold.
// https://sqlite.org/lang_createtrigger.html, https://www.postgresql.org/docs/current/plpgsql-trigger.html
import { type Kysely, sql, type Transaction } from "kysely";
import { usesPostgres } from "../database/dialect.ts";
import { runStatements } from "../database/run-statements.ts";
import { DIMENSION_COLUMNS, SUM_COLUMNS } from "../calls/call-schema.ts";
import { FIGURE_COLUMNS, figuresFrom, partsFrom } from "./sum-halves.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A table of sums, and the time that each of its rows covers. */
export interface TimedTable {
  readonly table: string;
  readonly time: "hour_ms" | "day_ms" | "week_ms";
  readonly spanMs: number;
}

/** A table of sums of single calls. */
export interface SumsTable extends TimedTable {
  readonly table: "call_hour" | "call_user_day";
}
export const HOURS: SumsTable = { table: "call_hour", time: "hour_ms", spanMs: HOUR_MS };
/** Has only calls that name an end user. */
export const USER_DAYS: SumsTable = { table: "call_user_day", time: "day_ms", spanMs: DAY_MS };

export interface RollUp extends TimedTable {
  /** What it is made of. */
  readonly of: SumsTable;
  readonly dimensions: readonly string[];
}

export const PROJECT_HOURS: RollUp = {
  table: "call_project_hour",
  of: HOURS,
  time: "hour_ms",
  spanMs: HOUR_MS,
  dimensions: ["tenant_id", "project_id"],
};
export const DAYS: RollUp = {
  table: "call_day",
  of: HOURS,
  time: "day_ms",
  spanMs: DAY_MS,
  dimensions: DIMENSION_COLUMNS,
};
export const TARGET_HOURS: RollUp = {
  table: "call_target_hour",
  of: HOURS,
  time: "hour_ms",
  spanMs: HOUR_MS,
  dimensions: ["tenant_id", "project_id", "route", "provider", "model", "operation"],
};
export const TARGET_DAYS: RollUp = { ...TARGET_HOURS, table: "call_target_day", time: "day_ms", spanMs: DAY_MS };
export const USER_PROJECT_DAYS: RollUp = {
  table: "call_user_project_day",
  of: USER_DAYS,
  time: "day_ms",
  spanMs: DAY_MS,
  dimensions: ["tenant_id", "project_id"],
};
export const USER_WEEKS: RollUp = {
  table: "call_user_week",
  of: USER_DAYS,
  time: "week_ms",
  spanMs: 7 * DAY_MS,
  dimensions: ["tenant_id", "project_id", "end_user"],
};
export const ROLL_UPS: readonly RollUp[] = [
  PROJECT_HOURS,
  DAYS,
  TARGET_HOURS,
  TARGET_DAYS,
  USER_PROJECT_DAYS,
  USER_WEEKS,
];

const ROLL_UP_LOCK = 7_205_760;

/**
 * In PostgreSQL, keeps other transactions from changing sums until this one ends. Every writer of sums takes this lock,
 * because the rows of roll-ups are not written in one order, so that writers could wait for each other for ever.
 */
export async function lockRollUps<Schema>(tx: Transaction<Schema>): Promise<void> {
  await sql`select pg_advisory_xact_lock(${sql.lit(ROLL_UP_LOCK)})`.execute(tx);
}

const keyOf = ({ time, dimensions }: RollUp): readonly string[] => [
  "tenant_id",
  time,
  ...dimensions.filter((column) => column !== "tenant_id"),
];

/** The time of a roll-up in which a time of what it is made of is. */
const timeOf = ({ spanMs, of }: RollUp, time: string): string =>
  spanMs === of.spanMs ? time : `${time} - ${time} % ${spanMs}`;

const onConflict = (rollUp: RollUp): string =>
  `on conflict (${keyOf(rollUp).join(", ")}) do update set ${FIGURE_COLUMNS.map((column) => `${column} = ${rollUp.table}.${column} + excluded.${column}`).join(", ")}`;

const columnsOf = (rollUp: RollUp): string => [rollUp.time, ...rollUp.dimensions, ...FIGURE_COLUMNS].join(", ");

export async function createRollUps(db: Kysely<unknown>): Promise<void> {
  const isPostgres = usesPostgres(db);
  const run = (text: string): Promise<void> => runStatements(db, text);
  const [wide, name] = isPostgres ? ["int8", "int4"] : ["integer", "integer"];
  for (const rollUp of ROLL_UPS) {
    await run(
      `create table ${rollUp.table} (${[
        `${rollUp.time} ${wide} not null`,
        ...rollUp.dimensions.map((column) => `${column} ${column === "end_user" ? "text" : name} not null`),
        ...FIGURE_COLUMNS.map((column) => `${column} ${wide} not null`),
      ].join(", ")}, primary key (${keyOf(rollUp).join(", ")}))${isPostgres ? "" : " without rowid"}`,
    );
    await run(`create index ${rollUp.table}_in_time on ${rollUp.table} (${rollUp.time})`);
  }
  for (const sums of [HOURS, USER_DAYS]) {
    const rollUps = ROLL_UPS.filter(({ of }) => of === sums);
    await (isPostgres ? createPostgresTriggers(run, sums, rollUps) : createSqliteTriggers(run, sums, rollUps));
  }
}

const CHANGES = ["insert", "update", "delete"] as const;

async function createSqliteTriggers(
  run: (text: string) => Promise<void>,
  sums: SumsTable,
  rollUps: readonly RollUp[],
): Promise<void> {
  const [added, less] = [figuresOf("new"), figuresOf("old")];
  const figures = {
    insert: added,
    update: added.map((figure, index) => `${figure} - ${less[index]!}`),
    delete: less.map((figure) => `-${figure}`),
  };
  for (const change of CHANGES) {
    const row = change === "delete" ? "old" : "new";
    const statements = rollUps.flatMap((rollUp) => {
      const at = timeOf(rollUp, `${row}.${sums.time}`);
      const values = [at, ...rollUp.dimensions.map((column) => `${row}.${column}`), ...figures[change]];
      const same = keyOf(rollUp).map((column) => `${column} = ${column === rollUp.time ? at : `${row}.${column}`}`);
      return [
        `insert into ${rollUp.table} (${columnsOf(rollUp)}) values (${values.join(", ")}) ${onConflict(rollUp)};`,
        ...(change === "delete" ? [`delete from ${rollUp.table} where ${same.join(" and ")} and calls = 0;`] : []),
      ];
    });
    await run(
      `create trigger ${sums.table}_${change} after ${change} on ${sums.table} begin ${statements.join(" ")} end`,
    );
  }
}

/** In the order of FIGURE_COLUMNS. */
const figuresOf = (row: string): readonly string[] =>
  SUM_COLUMNS.flatMap((column) => partsFrom(column, `${row}."${column}"`)).map((part) => `(${part})`);

/** One trigger for each statement: the rows of a statement are added up before they are added. */
async function createPostgresTriggers(
  run: (text: string) => Promise<void>,
  sums: SumsTable,
  rollUps: readonly RollUp[],
): Promise<void> {
  const bodies = {
    insert: rollUps.map((rollUp) => rolledUp(rollUp, ["added"])),
    update: rollUps.map((rollUp) => rolledUp(rollUp, ["added", "less"])),
    delete: rollUps.flatMap((rollUp) => [
      rolledUp(rollUp, ["less"]),
      `delete from ${rollUp.table} where calls = 0 and (${keyOf(rollUp).join(", ")}) in (select ${keyOf(rollUp)
        .map((column) => (column === rollUp.time ? timeOf(rollUp, sums.time) : column))
        .join(", ")} from less)`,
    ]),
  };
  const tables = {
    insert: "new table as added",
    update: "old table as less new table as added",
    delete: "old table as less",
  };
  for (const change of CHANGES) {
    const name = `${sums.table}_${change}`;
    await run(
      `create function ${name}() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(${ROLL_UP_LOCK}); ${bodies[change].join("; ")}; return null; end $$`,
    );
    await run(
      `create trigger ${name} after ${change} on ${sums.table} referencing ${tables[change]} for each statement execute function ${name}()`,
    );
  }
}

const SIGNS = { added: "", less: "-" } as const;

/** Adds rows of what a roll-up is made of, and takes those of `less` from it. */
function rolledUp(rollUp: RollUp, changed: readonly (keyof typeof SIGNS)[]): string {
  const { time, of, dimensions } = rollUp;
  const arms = changed.map(
    (rows) =>
      `select ${timeOf(rollUp, of.time)} as ${time}, ${dimensions.join(", ")}, ${figuresFrom((column) => column, { sign: SIGNS[rows] })} from ${rows}`,
  );
  const by = [time, ...dimensions].join(", ");
  const figures = FIGURE_COLUMNS.map((column) => `cast(sum(${column}) as bigint) as ${column}`).join(", ");
  return `insert into ${rollUp.table} (${columnsOf(rollUp)}) select ${by}, ${figures} from (${arms.join(" union all ")}) as changed group by ${by} order by ${keyOf(rollUp).join(", ")} ${onConflict(rollUp)}`;
}
