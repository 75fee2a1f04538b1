// The tables of roll-ups and the triggers that keep them: whoever changes an hourly sum changes what it is added to, in
// the same transaction. Amounts stand in two halves, because the sum of many columns may exceed what one can hold.
// https://sqlite.org/lang_createtrigger.html, https://www.postgresql.org/docs/current/plpgsql-trigger.html
import { type Kysely, PostgresAdapter, sql } from "kysely";
import { DIMENSION_COLUMNS, SUM_COLUMNS } from "./call-schema.ts";
import { FIGURE_COLUMNS, figuresFrom, partsFrom } from "./sum-halves.ts";

export interface RollUp {
  readonly table: "call_project_hour" | "call_day";
  readonly time: "hour_ms" | "day_ms";
  readonly spanMs: number;
  readonly dimensions: readonly string[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

export const PROJECT_HOURS: RollUp = {
  table: "call_project_hour",
  time: "hour_ms",
  spanMs: HOUR_MS,
  dimensions: ["tenant_id", "project_id"],
};
export const DAYS: RollUp = { table: "call_day", time: "day_ms", spanMs: DAY_MS, dimensions: DIMENSION_COLUMNS };
export const ROLL_UPS: readonly RollUp[] = [PROJECT_HOURS, DAYS];

/** In PostgreSQL, who writes hourly sums has this lock until its transaction ends: rows of roll-ups have no order. */
export const ROLL_UP_LOCK = 7_205_760;

const keyOf = ({ time, dimensions }: RollUp): readonly string[] => [
  "tenant_id",
  time,
  ...dimensions.filter((column) => column !== "tenant_id"),
];

/** The time of a roll-up in which an hour is. */
const timeOf = ({ spanMs }: RollUp, hour: string): string =>
  spanMs === HOUR_MS ? hour : `${hour} - ${hour} % ${spanMs}`;

const onConflict = (rollUp: RollUp): string =>
  `on conflict (${keyOf(rollUp).join(", ")}) do update set ${FIGURE_COLUMNS.map((column) => `${column} = ${rollUp.table}.${column} + excluded.${column}`).join(", ")}`;

const columnsOf = (rollUp: RollUp): string => [rollUp.time, ...rollUp.dimensions, ...FIGURE_COLUMNS].join(", ");

/** Adds hourly sums, given as a query, to a roll-up. `less` are some that are taken from it. */
export function rolledUp(rollUp: RollUp, added: string | null, less: string | null = null): string {
  const { time, dimensions } = rollUp;
  const arms = [
    ...(added === null ? [] : [armOf(rollUp, added, "")]),
    ...(less === null ? [] : [armOf(rollUp, less, "-")]),
  ];
  const by = [time, ...dimensions].join(", ");
  const sums = FIGURE_COLUMNS.map((column) => `cast(sum(${column}) as bigint) as ${column}`).join(", ");
  return `insert into ${rollUp.table} (${columnsOf(rollUp)}) select ${by}, ${sums} from (${arms.join(" union all ")}) as changed where 1 = 1 group by ${by} order by ${keyOf(rollUp).join(", ")} ${onConflict(rollUp)}`;
}

const armOf = (rollUp: RollUp, query: string, sign: "" | "-"): string =>
  `select ${timeOf(rollUp, "hour_ms")} as ${rollUp.time}, ${rollUp.dimensions.join(", ")}, ${figuresFrom((column) => column, sign)} from (${query}) as summed`;

/** Sums of hours that are there already are added later, in steps. */
export async function createRollUps(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  const [wide, name] = isPostgres ? ["int8", "int4"] : ["integer", "integer"];
  for (const rollUp of ROLL_UPS) {
    await run(
      `create table ${rollUp.table} (${[
        `${rollUp.time} ${wide} not null`,
        ...rollUp.dimensions.map((column) => `${column} ${name} not null`),
        ...FIGURE_COLUMNS.map((column) => `${column} ${wide} not null`),
      ].join(", ")}, primary key (${keyOf(rollUp).join(", ")}))${isPostgres ? "" : " without rowid"}`,
    );
    await run(`create index ${rollUp.table}_in_time on ${rollUp.table} (${rollUp.time})`);
  }
  await run(`create table call_rolled (from_ms ${wide} not null)`);
  // From the hour behind the last one that has sums; from the first one, where there are none.
  await run(`insert into call_rolled (from_ms) select coalesce(max(hour_ms) + ${HOUR_MS}, 0) from call_hour`);
  await (isPostgres ? createPostgresTriggers(run) : createSqliteTriggers(run));
}

const CHANGES = ["insert", "update", "delete"] as const;

async function createSqliteTriggers(run: (text: string) => Promise<void>): Promise<void> {
  const [added, less] = [figuresOf("new"), figuresOf("old")];
  const figures = {
    insert: added,
    update: added.map((figure, index) => `${figure} - ${less[index]!}`),
    delete: less.map((figure) => `-${figure}`),
  };
  for (const change of CHANGES) {
    const row = change === "delete" ? "old" : "new";
    const statements = ROLL_UPS.flatMap((rollUp) => {
      const values = [
        timeOf(rollUp, `${row}.hour_ms`),
        ...rollUp.dimensions.map((column) => `${row}.${column}`),
        ...figures[change],
      ];
      const same = keyOf(rollUp).map(
        (column) => `${column} = ${column === rollUp.time ? timeOf(rollUp, `${row}.hour_ms`) : `${row}.${column}`}`,
      );
      return [
        `insert into ${rollUp.table} (${columnsOf(rollUp)}) values (${values.join(", ")}) ${onConflict(rollUp)};`,
        ...(change === "delete" ? [`delete from ${rollUp.table} where ${same.join(" and ")} and calls = 0;`] : []),
      ];
    });
    await run(
      `create trigger call_hour_${change} after ${change} on call_hour when ${row}.hour_ms >= (select from_ms from call_rolled) begin ${statements.join(" ")} end`,
    );
  }
}

/** In the order of FIGURE_COLUMNS. */
const figuresOf = (row: string): readonly string[] =>
  SUM_COLUMNS.flatMap((column) => partsFrom(column, `${row}."${column}"`)).map((part) => `(${part})`);

/** One trigger for each statement: the rows of a statement are added up before they are added. */
async function createPostgresTriggers(run: (text: string) => Promise<void>): Promise<void> {
  const from = (table: string): string => `select * from ${table} where hour_ms >= rolled_from`;
  const [added, less] = [from("added"), from("less")];
  const bodies = {
    insert: ROLL_UPS.map((rollUp) => rolledUp(rollUp, added)),
    update: ROLL_UPS.map((rollUp) => rolledUp(rollUp, added, less)),
    delete: ROLL_UPS.flatMap((rollUp) => [
      rolledUp(rollUp, null, less),
      `delete from ${rollUp.table} where calls = 0 and (${keyOf(rollUp).join(", ")}) in (select ${keyOf(rollUp)
        .map((column) => (column === rollUp.time ? timeOf(rollUp, "hour_ms") : column))
        .join(", ")} from less)`,
    ]),
  };
  const tables = {
    insert: "new table as added",
    update: "old table as less new table as added",
    delete: "old table as less",
  };
  for (const change of CHANGES) {
    const name = `call_hour_${change}`;
    // The lock comes before the time is read: whoever has the lock may be moving it.
    await run(
      `create function ${name}() returns trigger language plpgsql as $$ declare rolled_from int8; begin perform pg_advisory_xact_lock(${ROLL_UP_LOCK}); select from_ms into rolled_from from call_rolled; ${bodies[change].join("; ")}; return null; end $$`,
    );
    await run(
      `create trigger ${name} after ${change} on call_hour referencing ${tables[change]} for each statement execute function ${name}()`,
    );
  }
}
