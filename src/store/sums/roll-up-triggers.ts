// The tables of roll-ups and the triggers that keep them: whoever changes a sum changes what it is added to, in the same
// transaction. Amounts stand in two halves, because the sum of many columns may exceed what one can hold.
// https://sqlite.org/lang_createtrigger.html, https://www.postgresql.org/docs/current/plpgsql-trigger.html
import type { Kysely } from "kysely";
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

export interface RollUp extends TimedTable {
  readonly dimensions: readonly string[];
}

/** Roll-ups that were added together. They are complete from the same time on, which stands in the table `rolled`. */
export interface RollUpGroup {
  /** What they are made of. */
  readonly of: TimedTable;
  readonly rolled: string;
  /** The beginning of the names of the triggers. */
  readonly triggers: string;
  readonly rollUps: readonly RollUp[];
}

export const PROJECT_HOURS: RollUp = {
  table: "call_project_hour",
  time: "hour_ms",
  spanMs: HOUR_MS,
  dimensions: ["tenant_id", "project_id"],
};
export const DAYS: RollUp = { table: "call_day", time: "day_ms", spanMs: DAY_MS, dimensions: DIMENSION_COLUMNS };
const TARGET = ["tenant_id", "project_id", "route", "provider", "model", "operation"];
export const TARGET_HOURS: RollUp = {
  table: "call_target_hour",
  time: "hour_ms",
  spanMs: HOUR_MS,
  dimensions: TARGET,
};
export const TARGET_DAYS: RollUp = { ...TARGET_HOURS, table: "call_target_day", time: "day_ms", spanMs: DAY_MS };
export const USER_PROJECT_DAYS: RollUp = {
  table: "call_user_project_day",
  time: "day_ms",
  spanMs: DAY_MS,
  dimensions: ["tenant_id", "project_id"],
};
export const USER_WEEKS: RollUp = {
  table: "call_user_week",
  time: "week_ms",
  spanMs: 7 * DAY_MS,
  dimensions: ["tenant_id", "project_id", "end_user"],
};

/** A table of sums of single calls. */
export interface SumsTable extends TimedTable {
  readonly table: "call_hour" | "call_user_day";
}
export const HOURS: SumsTable = { table: "call_hour", time: "hour_ms", spanMs: HOUR_MS };
/** Has only calls that name an end user. */
export const USER_DAYS: SumsTable = { table: "call_user_day", time: "day_ms", spanMs: DAY_MS };

export const HOUR_ROLL_UPS: RollUpGroup = {
  of: HOURS,
  rolled: "call_rolled",
  triggers: "call_hour",
  rollUps: [PROJECT_HOURS, DAYS],
};
export const TARGET_ROLL_UPS: RollUpGroup = {
  of: HOURS,
  rolled: "call_rolled_targets",
  triggers: "call_target",
  rollUps: [TARGET_HOURS, TARGET_DAYS],
};
export const USER_ROLL_UPS: RollUpGroup = {
  of: USER_DAYS,
  rolled: "call_rolled_users",
  triggers: "call_user",
  rollUps: [USER_PROJECT_DAYS, USER_WEEKS],
};
export const ROLL_UP_GROUPS: readonly RollUpGroup[] = [HOUR_ROLL_UPS, TARGET_ROLL_UPS, USER_ROLL_UPS];

/** In PostgreSQL, who writes sums has this lock until its transaction ends: rows of roll-ups have no order. */
export const ROLL_UP_LOCK = 7_205_760;

const keyOf = ({ time, dimensions }: RollUp): readonly string[] => [
  "tenant_id",
  time,
  ...dimensions.filter((column) => column !== "tenant_id"),
];

/** The time of a roll-up in which a time of what it is made of is. */
const timeOf = ({ spanMs }: RollUp, of: TimedTable, time: string): string =>
  spanMs === of.spanMs ? time : `${time} - ${time} % ${spanMs}`;

const onConflict = (rollUp: RollUp): string =>
  `on conflict (${keyOf(rollUp).join(", ")}) do update set ${FIGURE_COLUMNS.map((column) => `${column} = ${rollUp.table}.${column} + excluded.${column}`).join(", ")}`;

const columnsOf = (rollUp: RollUp): string => [rollUp.time, ...rollUp.dimensions, ...FIGURE_COLUMNS].join(", ");

/** Adds sums, given as a query of what a roll-up is made of. `less` are some that are taken from it. */
export function rolledUp(rollUp: RollUp, of: TimedTable, added: string | null, less: string | null = null): string {
  const { time, dimensions } = rollUp;
  const arms = [
    ...(added === null ? [] : [armOf(rollUp, of, added, "")]),
    ...(less === null ? [] : [armOf(rollUp, of, less, "-")]),
  ];
  const by = [time, ...dimensions].join(", ");
  const sums = FIGURE_COLUMNS.map((column) => `cast(sum(${column}) as bigint) as ${column}`).join(", ");
  return `insert into ${rollUp.table} (${columnsOf(rollUp)}) select ${by}, ${sums} from (${arms.join(" union all ")}) as changed where 1 = 1 group by ${by} order by ${keyOf(rollUp).join(", ")} ${onConflict(rollUp)}`;
}

const armOf = (rollUp: RollUp, of: TimedTable, query: string, sign: "" | "-"): string =>
  `select ${timeOf(rollUp, of, of.time)} as ${rollUp.time}, ${rollUp.dimensions.join(", ")}, ${figuresFrom((column) => column, { sign })} from (${query}) as summed`;

export async function createRollUps(db: Kysely<unknown>): Promise<void> {
  for (const group of ROLL_UP_GROUPS) await createRollUpGroup(db, group);
}

/** Sums that are there already are added later, in steps. */
export async function createRollUpGroup(db: Kysely<unknown>, group: RollUpGroup): Promise<void> {
  const isPostgres = usesPostgres(db);
  const run = (text: string): Promise<void> => runStatements(db, text);
  const [wide, name] = isPostgres ? ["int8", "int4"] : ["integer", "integer"];
  const { of, rolled, rollUps } = group;
  for (const rollUp of rollUps) {
    await run(
      `create table ${rollUp.table} (${[
        `${rollUp.time} ${wide} not null`,
        ...rollUp.dimensions.map((column) => `${column} ${column === "end_user" ? "text" : name} not null`),
        ...FIGURE_COLUMNS.map((column) => `${column} ${wide} not null`),
      ].join(", ")}, primary key (${keyOf(rollUp).join(", ")}))${isPostgres ? "" : " without rowid"}`,
    );
    await run(`create index ${rollUp.table}_in_time on ${rollUp.table} (${rollUp.time})`);
  }
  await run(`create table ${rolled} (from_ms ${wide} not null)`);
  // Whoever writes sums now is waited for; whoever does so later is seen by the triggers.
  if (isPostgres) await run(`lock table ${of.table} in share row exclusive mode`);
  // From behind the last time that has sums; from the first one, where there are none.
  await run(`insert into ${rolled} (from_ms) select coalesce(max(${of.time}) + ${of.spanMs}, 0) from ${of.table}`);
  await (isPostgres ? createPostgresTriggers(run, group) : createSqliteTriggers(run, group));
}

const CHANGES = ["insert", "update", "delete"] as const;

async function createSqliteTriggers(
  run: (text: string) => Promise<void>,
  { of, rolled, triggers, rollUps }: RollUpGroup,
): Promise<void> {
  const [added, less] = [figuresOf("new"), figuresOf("old")];
  const figures = {
    insert: added,
    update: added.map((figure, index) => `${figure} - ${less[index]!}`),
    delete: less.map((figure) => `-${figure}`),
  };
  for (const change of CHANGES) {
    const row = change === "delete" ? "old" : "new";
    const at = `${row}.${of.time}`;
    const statements = rollUps.flatMap((rollUp) => {
      const values = [
        timeOf(rollUp, of, at),
        ...rollUp.dimensions.map((column) => `${row}.${column}`),
        ...figures[change],
      ];
      const same = keyOf(rollUp).map(
        (column) => `${column} = ${column === rollUp.time ? timeOf(rollUp, of, at) : `${row}.${column}`}`,
      );
      return [
        `insert into ${rollUp.table} (${columnsOf(rollUp)}) values (${values.join(", ")}) ${onConflict(rollUp)};`,
        ...(change === "delete" ? [`delete from ${rollUp.table} where ${same.join(" and ")} and calls = 0;`] : []),
      ];
    });
    await run(
      `create trigger ${triggers}_${change} after ${change} on ${of.table} when ${at} >= (select from_ms from ${rolled}) begin ${statements.join(" ")} end`,
    );
  }
}

/** In the order of FIGURE_COLUMNS. */
const figuresOf = (row: string): readonly string[] =>
  SUM_COLUMNS.flatMap((column) => partsFrom(column, `${row}."${column}"`)).map((part) => `(${part})`);

/** One trigger for each statement: the rows of a statement are added up before they are added. */
async function createPostgresTriggers(
  run: (text: string) => Promise<void>,
  { of, rolled, triggers, rollUps }: RollUpGroup,
): Promise<void> {
  const from = (table: string): string => `select * from ${table} where ${of.time} >= rolled_from`;
  const [added, less] = [from("added"), from("less")];
  const bodies = {
    insert: rollUps.map((rollUp) => rolledUp(rollUp, of, added)),
    update: rollUps.map((rollUp) => rolledUp(rollUp, of, added, less)),
    delete: rollUps.flatMap((rollUp) => [
      rolledUp(rollUp, of, null, less),
      `delete from ${rollUp.table} where calls = 0 and (${keyOf(rollUp).join(", ")}) in (select ${keyOf(rollUp)
        .map((column) => (column === rollUp.time ? timeOf(rollUp, of, of.time) : column))
        .join(", ")} from less)`,
    ]),
  };
  const tables = {
    insert: "new table as added",
    update: "old table as less new table as added",
    delete: "old table as less",
  };
  for (const change of CHANGES) {
    const name = `${triggers}_${change}`;
    // The lock comes before the time is read: whoever has the lock may be moving it.
    await run(
      `create function ${name}() returns trigger language plpgsql as $$ declare rolled_from int8; begin perform pg_advisory_xact_lock(${ROLL_UP_LOCK}); select from_ms into rolled_from from ${rolled}; ${bodies[change].join("; ")}; return null; end $$`,
    );
    await run(
      `create trigger ${name} after ${change} on ${of.table} referencing ${tables[change]} for each statement execute function ${name}()`,
    );
  }
}
