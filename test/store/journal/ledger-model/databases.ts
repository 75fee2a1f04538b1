// The databases to which the model of the ledger ships: the program's own ingestion, and the faults that happen between
// a gateway and its database.
import { Database } from "bun:sqlite";
import { Kysely, sql } from "kysely";
import { bunSqliteDialect } from "../../../../src/store/database/bun-sqlite-dialect.ts";
import { incomingOf, ingestCalls } from "../../../../src/store/calls/call-ingest.ts";
import type { CallSchema } from "../../../../src/store/calls/call-schema.ts";
import { findPlaces } from "../../../../src/store/calls/journal-places.ts";
import type { LedgerRow, LedgerSink, ShippedPlace } from "../../../../src/store/journal/ledger.ts";
import { migrate } from "../../../../src/store/migrations.ts";
import { ROLL_UPS } from "../../../../src/store/sums/roll-up-triggers.ts";
import { postgresInserts } from "../../../../src/store/calls/postgres-inserts.ts";
import { openPostgresDatabase } from "../../../../src/store/postgres.ts";
import type { Schema } from "../../../../src/store/schema.ts";
import { openDatabase } from "../../../../src/store/database/sqlite-connection.ts";
import { sqliteInserts } from "../../../../src/store/calls/sqlite-inserts.ts";
import type { PostgresDatabases } from "../../../harness/servers/postgres-server.ts";

/** `mute`: it takes what comes, and its answer does not arrive. */
export type DatabaseMood = "up" | "away" | "mute";

export interface KeptCall {
  readonly traceId: string;
  readonly tokens: number;
  readonly isSettled: boolean;
}

export interface ModelDatabase {
  mood: DatabaseMood;
  readonly sink: LedgerSink;
  /** As of now; later ones of this database are gone with the next restore. */
  copy(): Promise<unknown>;
  restore(copy: unknown): Promise<void>;
  /** Resolves when nothing is in flight in it. */
  idle(): Promise<void>;
  calls(): Promise<readonly KeptCall[]>;
  /** Calls and tokens of its sums by hour. */
  sums(): Promise<{ readonly calls: number; readonly tokens: number }>;
  /** For the next world. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

interface Base {
  db(): Kysely<CallSchema>;
  ingest(rows: readonly LedgerRow[], place: ShippedPlace | undefined): Promise<void>;
  copy(): Promise<unknown>;
  restore(copy: unknown): Promise<void>;
  empty(): Promise<void>;
  close(): Promise<void>;
}

export async function sqliteModel(): Promise<ModelDatabase> {
  const { db: migrating, database: template, connection } = await openDatabase<Schema>({ file: ":memory:" });
  await migrate(migrating, "the model");
  const fresh = template.serialize();
  let database = Database.deserialize(fresh, { safeIntegers: true, strict: true });
  let db = new Kysely<CallSchema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  const replace = (bytes: Uint8Array): Promise<void> => {
    database.close();
    database = Database.deserialize(bytes, { safeIntegers: true, strict: true });
    db = new Kysely<CallSchema>({ dialect: bunSqliteDialect({ database, ...connection }) });
    return Promise.resolve();
  };
  return withMoods({
    db: () => db,
    ingest: (rows, place) => ingestCalls(db, rows.map(incomingOf), place, sqliteInserts(database, connection.explain)),
    copy: () => Promise.resolve(database.serialize()),
    restore: (copy) => replace(copy as Uint8Array),
    empty: () => replace(fresh),
    close: () => Promise.resolve(database.close()),
  });
}

const TABLES = ["call", "call_block", "call_name", "call_tag", "call_hour", "call_user_day", "journal_place"] as const;

export async function postgresModel(server: PostgresDatabases): Promise<ModelDatabase> {
  const url = await server.newDatabase();
  const { store, db: opened } = openPostgresDatabase({ url, poolSize: 4 });
  await store.migrate();
  const db = opened as unknown as Kysely<CallSchema>;
  const inserts = postgresInserts();
  let copies = 0;
  const run = async (statements: readonly string[]): Promise<void> => {
    await db.transaction().execute(async (tx) => {
      for (const statement of statements) await sql.raw(statement).execute(tx);
    });
  };
  // what is restored of the sums is rolled up again
  const truncate = `truncate ${[...TABLES, ...ROLL_UPS.map(({ table }) => table)].join(", ")}`;
  return withMoods({
    db: () => db,
    ingest: (rows, place) => ingestCalls(db, rows.map(incomingOf), place, inserts),
    async copy() {
      const name = `copy_${++copies}`;
      await run(TABLES.map((table) => `create table ${name}_${table} as table ${table}`));
      return name;
    },
    restore: (name) =>
      run([truncate, ...TABLES.map((table) => `insert into ${table} select * from ${String(name)}_${table}`)]),
    empty: () =>
      run([
        truncate,
        ...Array.from({ length: copies }, (_, index) =>
          TABLES.map((table) => `drop table if exists copy_${index + 1}_${table}`),
        ).flat(),
      ]),
    close: () => store.close(),
  });
}

/** Turns are taken, so that a copy holds no half of a transaction: SQLite's own copy, and pg_dump, do not either. */
function withMoods(base: Base): ModelDatabase {
  let turn: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
  };
  const heard = async <T>(work: () => Promise<T>): Promise<T> => {
    if (model.mood === "away") throw new Error("the database is away");
    const result = await inTurn(work);
    if (model.mood === "mute") throw new Error("the connection broke before the answer came");
    return result;
  };
  const model: ModelDatabase = {
    mood: "up",
    sink: {
      ingest: (rows, place) => heard(() => base.ingest(rows, place)),
      places: (journals, runs) => heard(() => findPlaces(base.db(), journals, runs)),
    },
    copy: () => inTurn(() => base.copy()),
    restore: (copy) => inTurn(() => base.restore(copy)),
    idle: () => inTurn(() => Promise.resolve()),
    async calls() {
      const rows = await inTurn(() =>
        base.db().selectFrom("call").select(["trace_id", "prompt_tokens", "completion_tokens", "settled"]).execute(),
      );
      return rows.map((row) => ({
        traceId: row.trace_id,
        tokens: Number(row.prompt_tokens) + Number(row.completion_tokens),
        isSettled: Number(row.settled) === 1,
      }));
    },
    async sums() {
      const { rows } = await inTurn(() =>
        sql<{
          calls: bigint;
          tokens: bigint;
        }>`select coalesce(sum(calls), 0) as calls, coalesce(sum(prompt_tokens + completion_tokens), 0) as tokens from call_hour`.execute(
          base.db(),
        ),
      );
      return { calls: Number(rows[0]!.calls), tokens: Number(rows[0]!.tokens) };
    },
    empty: () => inTurn(() => base.empty()),
    close: () => inTurn(() => base.close()),
  };
  return model;
}
