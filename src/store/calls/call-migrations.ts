// The history of the tables of calls. A released migration is never edited.
import { type Kysely, PostgresAdapter, sql } from "kysely";
import { CALL_COLUMN_TYPES, type ColumnType, DIMENSION_COLUMNS, SUM_COLUMNS } from "./call-schema.ts";

/** Columns that `addOperations` and `addCallFigures` add. */
const LATER_COLUMNS: ReadonlySet<string> = new Set(["operation", "cache", "estimated", "request_hash"]);
/** Sums without those that `addCallFigures` adds. */
const FIRST_SUM_COLUMNS = SUM_COLUMNS.filter((column) => column !== "estimated");

const WORDS = [...DIMENSION_COLUMNS, "end_user", "code"] as const;
const COUNTS = [
  "status",
  "stream",
  "cancelled",
  "explained",
  "attempts",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "total_ms",
  "settled",
] as const;

export async function createCalls(db: Kysely<unknown>): Promise<void> {
  let call = db.schema
    .createTable("call")
    .addColumn("trace_id", "text", (column) => column.primaryKey())
    .addColumn("time_ms", "bigint", (column) => column.notNull());
  for (const word of WORDS) call = call.addColumn(word, "text", (column) => column.notNull());
  for (const count of COUNTS) call = call.addColumn(count, "bigint", (column) => column.notNull());
  await call.addColumn("cost_nano_usd", "bigint").addColumn("first_content_ms", "bigint").execute();
  // The order of the listing, by itself and within its most frequent filters.
  await db.schema.createIndex("call_by_time").on("call").columns(["time_ms", "trace_id"]).execute();
  for (const [name, column] of [
    ["tenant", "tenant_id"],
    ["project", "project_id"],
    ["token", "token_id"],
  ] as const)
    await db.schema.createIndex(`call_by_${name}`).on("call").columns([column, "time_ms", "trace_id"]).execute();
  await db.schema
    .createIndex("call_failed")
    .on("call")
    .columns(["tenant_id", "time_ms", "trace_id"])
    .where(sql.ref("status"), ">=", sql.lit(400))
    .execute();
  await db.schema
    .createTable("call_detail")
    .addColumn("trace_id", "text", (column) => column.primaryKey())
    .addColumn("time_ms", "bigint", (column) => column.notNull())
    .addColumn("record", "text", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("call_detail_by_time").on("call_detail").column("time_ms").execute();
  await createSums(db, "call_hour", "hour_ms", []);
  await createSums(db, "call_user_day", "day_ms", ["end_user"]);
}

/**
 * Columns and indexes for looking calls up. Each index costs only the calls that it covers. The index on the end times
 * covers every call, but is cheap because calls are written in that order.
 */
export async function createLookUps(db: Kysely<unknown>): Promise<void> {
  for (const column of ["model_asked", "finish_reason", "tags"])
    await db.schema
      .alterTable("call")
      .addColumn(column, "text", (definition) => definition.notNull().defaultTo(""))
      .execute();
  for (const [name, column] of [
    ["end_user", "end_user"],
    ["user", "user_id"],
    ["code", "code"],
  ] as const)
    await db.schema
      .createIndex(`call_by_${name}`)
      .on("call")
      .columns([column, "time_ms", "trace_id"])
      .where(sql.ref(column), "<>", sql.lit(""))
      .execute();
  await sql`create index call_by_end on call ((time_ms + total_ms), trace_id)`.execute(db);
  const tags = db.schema
    .createTable("call_tag")
    .addColumn("tag", "text", (column) => column.notNull())
    .addColumn("time_ms", "bigint", (column) => column.notNull())
    .addColumn("trace_id", "text", (column) => column.notNull())
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text", (column) => column.notNull())
    .addPrimaryKeyConstraint("call_tag_key", ["tag", "time_ms", "trace_id"]);
  // In SQLite the rows are then stored in the index itself.
  await (db.getExecutor().adapter instanceof PostgresAdapter ? tags : tags.modifyEnd(sql`without rowid`)).execute();
}

export async function createContents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("call_content")
    .addColumn("trace_id", "text", (column) => column.primaryKey())
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text", (column) => column.notNull())
    .addColumn("expires_ms", "bigint", (column) => column.notNull())
    .addColumn("body", "bytea", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("call_content_by_place")
    .on("call_content")
    .columns(["tenant_id", "project_id"])
    .execute();
  await db.schema.createIndex("call_content_by_end").on("call_content").column("expires_ms").execute();
  await db.schema
    .createTable("content_key")
    .addColumn("tenant_id", "text", (column) => column.primaryKey())
    .addColumn("sealed", "text", (column) => column.notNull())
    .execute();
}

async function createSums(db: Kysely<unknown>, table: string, time: string, further: readonly string[]): Promise<void> {
  // The key begins with the tenant, then the time, because a report covers one tenant or one period.
  const key = ["tenant_id", time, ...DIMENSION_COLUMNS.filter((column) => column !== "tenant_id"), ...further];
  let sums = db.schema.createTable(table).addColumn(time, "bigint", (column) => column.notNull());
  for (const column of [...DIMENSION_COLUMNS, ...further])
    sums = sums.addColumn(column, "text", (definition) => definition.notNull());
  for (const column of FIRST_SUM_COLUMNS) sums = sums.addColumn(column, "bigint", (definition) => definition.notNull());
  await sums.addPrimaryKeyConstraint(`${table}_key`, key).execute();
  await db.schema.createIndex(`${table}_by_time`).on(table).column(time).execute();
}

export async function createPlaces(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("journal_place")
    .addColumn("journal", "text", (column) => column.notNull())
    .addColumn("run", "text", (column) => column.notNull())
    .addColumn("segment", "bigint", (column) => column.notNull())
    .addColumn("position", "bigint", (column) => column.notNull())
    .addColumn("shipped_rows", "bigint", (column) => column.notNull())
    .addColumn("last_ms", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("journal_place_key", ["journal", "run"])
    .execute();
  await db.schema.createIndex("journal_place_by_run").on("journal_place").column("run").execute();
  await db.schema
    .createIndex("journal_place_by_rows")
    .on("journal_place")
    .columns(["journal", "shipped_rows"])
    .execute();
}

/** SQLite stores every integer in as few bytes as it needs. */
const SQLITE_TYPES: Readonly<Record<ColumnType, string>> = {
  key: "integer",
  "key or null": "integer",
  text: "text",
  name: "integer",
  integer: "integer",
  "integer or null": "integer",
  flag: "integer",
};
export const POSTGRES_TYPES: Readonly<Record<ColumnType, string>> = {
  key: "int8",
  "key or null": "int8",
  text: "text",
  name: "int4",
  integer: "int8",
  "integer or null": "int8",
  flag: "int2",
};

/**
 * Calls in the order of time, with numbers in place of names and records in blocks. Earlier calls are set aside, and
 * moved while the gateway runs (earlier-calls.ts); sums are converted here.
 */
export async function reorderCalls(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  for (const table of ["call", "call_detail"]) await run(`alter table ${table} rename to earlier_${table}`);
  await run("drop table call_tag");
  // Moving a call would have to remove it from each of them.
  for (const index of ["tenant", "project", "token", "end_user", "user", "code"])
    await run(`drop index call_by_${index}`);
  for (const index of ["call_failed", "call_detail_by_time"]) await run(`drop index ${index}`);
  await run(
    isPostgres
      ? "create table call_name (number int4 generated by default as identity primary key, name text not null unique)"
      : "create table call_name (number integer primary key, name text not null unique)",
  );
  await run(`create table call_alias (trace_id text primary key, id ${isPostgres ? "int8" : "integer"} not null)`);
  await run("create index call_alias_by_id on call_alias (id)");
  await createCallTables(run, isPostgres);
  await convertSums(db, "call_hour", "hour_ms", [], isPostgres);
  await convertSums(db, "call_user_day", "day_ms", ["end_user"], isPostgres);
}

async function createCallTables(run: (text: string) => Promise<void>, isPostgres: boolean): Promise<void> {
  const types = isPostgres ? POSTGRES_TYPES : SQLITE_TYPES;
  const columns = (Object.entries(CALL_COLUMN_TYPES) as [string, ColumnType][])
    .filter(([name]) => !LATER_COLUMNS.has(name))
    .map(([name, type]) =>
      name === "id"
        ? `id ${types.key} primary key`
        : `${name} ${types[type]}${type.endsWith("or null") ? "" : " not null"}`,
    );
  const byDay = isPostgres ? " partition by range (id)" : "";
  await run(`create table call (${columns.join(", ")})${byDay}`);
  await run(
    `create table call_block (id ${types.key} primary key, first_ms ${types.integer} not null, last_ms ${types.integer} not null, records ${types.integer} not null, body ${isPostgres ? "bytea" : "blob"} not null)${byDay}`,
  );
  await run(
    `create table call_tag (tag text not null, id ${types.key} not null, tenant_id ${types.name} not null, project_id ${types.name} not null, primary key (tag, id))${isPostgres ? byDay : " without rowid"}`,
  );
  // Each costs only the calls that it covers.
  for (const [name, column, covered] of [
    ["call_of_tenant", "tenant_id", ""],
    ["call_of_project", "project_id", ""],
    ["call_of_token", "token_id", ""],
    ["call_of_user", "user_id", " where user_id <> 0"],
    ["call_of_end_user", "end_user", " where end_user <> ''"],
    ["call_of_code", "code", " where code <> 0"],
    ["call_failing", "tenant_id", " where status >= 400"],
    ["call_ending", "end_ms", ""],
  ])
    await run(`create index ${name} on call (${column}, id)${covered}`);
}

async function convertSums(
  db: Kysely<unknown>,
  table: string,
  time: string,
  further: readonly string[],
  isPostgres: boolean,
): Promise<void> {
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  const types = isPostgres ? POSTGRES_TYPES : SQLITE_TYPES;
  const earlier = `earlier_${table}`;
  await run(`alter table ${table} rename to ${earlier}`);
  // The key begins with the tenant, then the time, because a report covers one tenant or one period.
  const key = ["tenant_id", time, ...DIMENSION_COLUMNS.filter((column) => column !== "tenant_id"), ...further];
  await run(
    `create table ${table} (${[
      `${time} ${types.integer} not null`,
      ...DIMENSION_COLUMNS.map((column) => `${column} ${types.name} not null`),
      ...further.map((column) => `${column} text not null`),
      ...FIRST_SUM_COLUMNS.map((column) => `${column} ${types.integer} not null`),
    ].join(", ")}, primary key (${key.join(", ")}))${isPostgres ? "" : " without rowid"}`,
  );
  await run(`create index ${table}_in_time on ${table} (${time})`);
  const names = DIMENSION_COLUMNS.map((column) => `coalesce(name_${column}.number, 0)`);
  const joins = DIMENSION_COLUMNS.map(
    (column) => `left join call_name as name_${column} on name_${column}.name = ${earlier}.${column}`,
  );
  const values = [time, ...further, ...FIRST_SUM_COLUMNS].map((column) => `${earlier}.${column}`);
  for (const part of await partsOf(db, earlier, time)) {
    for (const column of DIMENSION_COLUMNS)
      await run(
        `insert into call_name (name) select distinct ${column} from ${earlier} where ${column} <> '' and ${part} on conflict (name) do nothing`,
      );
    await run(
      `insert into ${table} (${[...DIMENSION_COLUMNS, time, ...further, ...FIRST_SUM_COLUMNS].join(", ")}) select ${[...names, ...values].join(", ")} from ${earlier} ${joins.join(" ")} where ${part}`,
    );
  }
  await run(`drop table ${earlier}`);
}

const PART_MS = 7 * 86_400_000;

/** Conditions for parts of the sums: one statement over all of them could take longer than a statement may. */
async function partsOf(db: Kysely<unknown>, table: string, time: string): Promise<readonly string[]> {
  const { rows } = await sql<{
    readonly first: bigint | null;
    readonly last: bigint;
  }>`select min(${sql.ref(time)}) as first, max(${sql.ref(time)}) as last from ${sql.table(table)}`.execute(db);
  const { first, last } = rows[0]!;
  if (first === null) return [];
  return Array.from({ length: Math.floor(Number(last - first) / PART_MS) + 1 }, (_, index) => {
    const from = Number(first) + index * PART_MS;
    return `${time} >= ${from} and ${time} < ${from + PART_MS}`;
  });
}

/**
 * The operation of each call, and sums of those of other operations than chat completions. The other tables stay as they
 * were, so that gateways of the former version go on beside this one: all that they serve is chat completions.
 */
export async function addOperations(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  const types = isPostgres ? POSTGRES_TYPES : SQLITE_TYPES;
  await run(`alter table call add column operation ${types.name} not null default 0`);
  for (const [table, time, further] of [
    ["call_operation_hour", "hour_ms", []],
    ["call_operation_user_day", "day_ms", ["end_user"]],
  ] as const) {
    const names = [...DIMENSION_COLUMNS, "operation"];
    const key = ["tenant_id", time, ...names.filter((column) => column !== "tenant_id"), ...further];
    await run(
      `create table ${table} (${[
        `${time} ${types.integer} not null`,
        ...names.map((column) => `${column} ${types.name} not null`),
        ...further.map((column) => `${column} text not null`),
        ...FIRST_SUM_COLUMNS.map((column) => `${column} ${types.integer} not null`),
      ].join(", ")}, primary key (${key.join(", ")}))${isPostgres ? "" : " without rowid"}`,
    );
    await run(`create index ${table}_in_time on ${table} (${time})`);
  }
}

/**
 * Further figures of each call: what became of it in the cache, whether its usage is estimated, and the provider's id of
 * its request; and how many calls of a sum are estimated. What was stored before has none of them. Gateways of the
 * former version go on beside this one: they leave the new columns as they are by default.
 */
export async function addCallFigures(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const run = async (text: string): Promise<void> => void (await sql.raw(text).execute(db));
  const types = isPostgres ? POSTGRES_TYPES : SQLITE_TYPES;
  for (const column of ["cache", "estimated", "request_hash"] as const)
    await run(`alter table call add column ${column} ${types[CALL_COLUMN_TYPES[column]]} not null default 0`);
  for (const table of ["call_hour", "call_user_day", "call_operation_hour", "call_operation_user_day"])
    await run(`alter table ${table} add column estimated ${types.integer} not null default 0`);
  // Calls with a retry or a fallback are few, and are looked for.
  await run("create index call_retried on call (tenant_id, id) where attempts > 1");
}

/**
 * An index with all that facets ask of failed calls, so that they are counted without being looked up. Searches go on
 * along `call_failing`: SQLite takes a wide index only where it covers what is asked.
 */
export async function coverFailing(db: Kysely<unknown>): Promise<void> {
  const asked = ["status", "code", "explained", ...DIMENSION_COLUMNS.filter((column) => column !== "tenant_id")];
  await sql
    .raw(`create index call_failing_counted on call (tenant_id, id, ${asked.join(", ")}) where status >= 400`)
    .execute(db);
}
