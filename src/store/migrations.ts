// The history of the schema, embedded so that the single binary contains it. A released migration is never edited: a
// new one is added instead. Written for SQLite and PostgreSQL alike.
import type { Kysely } from "kysely";
import { Migrator, type Migration } from "kysely/migration";
import { createAuditChain } from "./audit/audit-schema.ts";
import { createCalls, createContents, createPlaces } from "./calls/call-tables.ts";
import { createConfiguration } from "./configuration/configuration-tables.ts";
import { createDrafts } from "./configuration/draft-schema.ts";
import { createDrains } from "./configuration/drain-schema.ts";
import { createViews } from "./configuration/view-schema.ts";
import { createContractions } from "./database/contraction-schema.ts";
import { contract, requireAble, type SchemaHistory, stepOfProgram } from "./database/contractions.ts";
import { createMoves } from "./database/move-schema.ts";
import { isMissingTable } from "./database/dialect.ts";
import { createReplicas } from "./database/replicas.ts";
import { runStatements } from "./database/run-statements.ts";
import { createEvents } from "./events/event-schema.ts";
import { createClaims } from "./identity/claim-schema.ts";
import { createIdentities } from "./identity/identity-tables.ts";
import { createSessions } from "./identity/session-schema.ts";
import type { Schema } from "./schema.ts";
import { StoreError } from "./store-error.ts";
import { createAttemptSums } from "./sums/attempt-sums.ts";
import { createRollUps } from "./sums/roll-up-triggers.ts";
import { createVendorObjects } from "./calls/vendor-objects.ts";

type Db = Kysely<unknown>;

/** The row of `revisions` that changes with everything from which the snapshot is compiled. */
export const WATCHED = "snapshot";

async function createRevisions(db: Db): Promise<void> {
  await runStatements(db, "create table revisions (name text primary key, counter bigint not null)");
  await db
    .$extendTables<Pick<Schema, "revisions">>()
    .insertInto("revisions")
    .values({ name: WATCHED, counter: 0n })
    .execute();
}

/** Those that others refer to come first. */
const TABLES: readonly ((db: Db) => Promise<void>)[] = [
  createRevisions,
  createIdentities,
  createConfiguration,
  createDrafts,
  createDrains,
  createViews,
  createAuditChain,
  createClaims,
  createSessions,
  createEvents,
  createCalls,
  createRollUps,
  createAttemptSums,
  createContents,
  createVendorObjects,
  createPlaces,
  createReplicas,
  createMoves,
  createContractions,
];

const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-baseline": {
    async up(db) {
      for (const create of TABLES) await create(db);
    },
  },
};

/** What this program knows. A migration adds, and a contraction removes (contractions.ts). */
export const HISTORY: SchemaHistory = { migrations: MIGRATIONS, contractions: {} };

/** Whether the first migration has not been committed in this database. */
export async function isNew(db: Kysely<Schema>): Promise<boolean> {
  const tables = await db.introspection.getTables();
  return !tables.some(({ name }) => name === "tenants");
}

export interface MigrateOptions {
  /** Turns an error of the driver into the one that is thrown. */
  readonly explain?: ((error: unknown) => unknown) | undefined;
  /** The last migration that is made; by default all are. */
  readonly last?: string;
  readonly history?: SchemaHistory;
}

/**
 * Makes the migrations that are missing, and in a new database the contractions as well. A database with migrations of a
 * newer version is left as it is. Throws StoreError `unusable`, also when only newer versions can use the database.
 */
export async function migrate(
  db: Kysely<Schema>,
  databaseName: string,
  { explain = (error) => error, last, history = HISTORY }: MigrateOptions = {},
): Promise<void> {
  const { migrations } = history;
  const before = await migrationsRun(db);
  const isNewer = (run: readonly string[]): boolean => run.some((name) => !(name in migrations));
  if (isNewer(before)) return await requireAble(db, databaseName, { run: before, history });
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error: thrown } = await (last === undefined ? migrator.migrateToLatest() : migrator.migrateTo(last));
  if (thrown === undefined) {
    if (before.length === 0 && last === undefined) await contract(db, history, stepOfProgram(history));
    return;
  }
  const error = explain(thrown);
  if (error instanceof StoreError) throw error;
  const run = await migrationsRun(db);
  // A newer version has migrated the database meanwhile.
  if (isNewer(run)) return await requireAble(db, databaseName, { run, history });
  throw new StoreError(
    "unusable",
    `${databaseName} could not be migrated: ${error instanceof Error ? error.message : JSON.stringify(error)}. The failed step was rolled back. Does the database contain tables of another program?`,
    error,
  );
}

/** In their order. */
export const MIGRATION_NAMES: readonly string[] = Object.keys(MIGRATIONS);

/** The names of the migrations that the database has had, in their order; empty where there is no such table yet. */
export async function migrationsRun(db: Kysely<Schema>): Promise<readonly string[]> {
  try {
    const rows = await db
      .$extendTables<{ kysely_migration: { name: string } }>()
      .selectFrom("kysely_migration")
      .select("name")
      .orderBy("name")
      .execute();
    return rows.map((row) => row.name);
  } catch (error) {
    // a database that did not answer is not a new one
    if (!isMissingTable(error)) throw error;
    return [];
  }
}
