// The tables of calls as Kysely sees them, and their migration. Absent texts are stored as empty strings, because they
// are parts of keys. Written for SQLite and PostgreSQL alike.
import { type Kysely, PostgresAdapter, sql } from "kysely";
import { LATENCY_BOUNDS_MS } from "./calls.ts";
import type { ReplicaSchema } from "./replicas.ts";

/** The caller of a call, and the target that answered it. */
export interface DimensionColumns {
  readonly tenant_id: string;
  readonly project_id: string;
  readonly token_id: string;
  readonly user_id: string;
  readonly route: string;
  readonly provider: string;
  readonly model: string;
}
export const DIMENSION_COLUMNS = [
  "tenant_id",
  "project_id",
  "token_id",
  "user_id",
  "route",
  "provider",
  "model",
] as const satisfies readonly (keyof DimensionColumns)[];

/** The columns of a call, in the order of the statements that write them. */
const CALL_COLUMN_TYPES = {
  trace_id: "text",
  time_ms: "integer",
  tenant_id: "text",
  project_id: "text",
  token_id: "text",
  user_id: "text",
  route: "text",
  provider: "text",
  model: "text",
  end_user: "text",
  status: "integer",
  code: "text",
  stream: "integer",
  cancelled: "integer",
  /** 1 for an explanation, which sent no request to a provider and is in no sum. */
  explained: "integer",
  attempts: "integer",
  prompt_tokens: "integer",
  completion_tokens: "integer",
  cached_tokens: "integer",
  reasoning_tokens: "integer",
  cost_nano_usd: "integer or null",
  total_ms: "integer",
  first_content_ms: "integer or null",
  settled: "integer",
  /** `model` as the client wrote it. */
  model_asked: "text",
  /** Of the first choice. */
  finish_reason: "text",
  /** JSON list of the call's rows in `call_tag`; empty when it has none. */
  tags: "text",
} as const;

interface ColumnValues {
  readonly text: string;
  readonly integer: bigint;
  readonly "integer or null": bigint | null;
}
export type CallColumns = {
  readonly [Name in keyof typeof CALL_COLUMN_TYPES]: ColumnValues[(typeof CALL_COLUMN_TYPES)[Name]];
};
export const CALL_COLUMNS = Object.keys(CALL_COLUMN_TYPES) as readonly (keyof CallColumns)[];

export const DETAIL_COLUMNS = ["trace_id", "time_ms", "record"] as const;
export const TAG_COLUMNS = ["tag", "time_ms", "trace_id", "tenant_id", "project_id"] as const;

export const LATENCY_COLUMNS: readonly string[] = [...LATENCY_BOUNDS_MS.map((bound) => `within_${bound}_ms`), "beyond"];
export const SUM_COLUMNS: readonly string[] = [
  "calls",
  "errors",
  "unpriced",
  "prompt_tokens",
  "completion_tokens",
  "cached_tokens",
  "reasoning_tokens",
  "cost_nano_usd",
  "total_ms",
  ...LATENCY_COLUMNS,
];

export interface ContentColumns {
  readonly trace_id: string;
  readonly tenant_id: string;
  readonly project_id: string;
  readonly expires_ms: bigint;
  /** Encrypted. */
  readonly body: Uint8Array;
}

export interface PlaceColumns {
  readonly journal: string;
  readonly run: string;
  readonly segment: bigint;
  readonly position: bigint;
  readonly shipped_rows: bigint;
  readonly last_ms: bigint;
}

export interface CallSchema extends ReplicaSchema {
  readonly call: CallColumns;
  /** `record` is the JSON of the whole record. */
  readonly call_detail: { readonly trace_id: string; readonly time_ms: bigint; readonly record: string };
  /** Look-up keys that most calls do not have; see call-tags.ts. */
  readonly call_tag: {
    readonly tag: string;
    readonly time_ms: bigint;
    readonly trace_id: string;
    readonly tenant_id: string;
    readonly project_id: string;
  };
  /** The content of calls, where a tenant keeps it; see call-contents.ts. */
  readonly call_content: ContentColumns;
  /** The encrypted key of a tenant's contents. */
  readonly content_key: { readonly tenant_id: string; readonly sealed: string };
  /** How far the journals of gateways have been shipped; see journal-places.ts. */
  readonly journal_place: PlaceColumns;
  /** Sums of an hour; the table also has the columns SUM_COLUMNS. */
  readonly call_hour: DimensionColumns & { readonly hour_ms: bigint };
  /** Sums of a day for each end user, of the calls that name one. */
  readonly call_user_day: DimensionColumns & { readonly day_ms: bigint; readonly end_user: string };
}

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
  for (const column of SUM_COLUMNS) sums = sums.addColumn(column, "bigint", (definition) => definition.notNull());
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
