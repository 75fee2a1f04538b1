// The history of the schema, embedded so that the single binary contains it. A released migration is never edited: a
// new one is added instead. Written for SQLite and PostgreSQL alike. Composite foreign keys keep every row inside its
// tenant, whatever errors the code above makes.
import { sql, type Kysely } from "kysely";
import { Migrator, type Migration } from "kysely/migration";
import {
  addCallFigures,
  addOperations,
  coverFailing,
  createCalls,
  createContents,
  createLookUps,
  createPlaces,
  reorderCalls,
} from "./calls/call-migrations.ts";
import { createAttemptSums } from "./sums/attempt-sums.ts";
import { createContractions } from "./database/contraction-schema.ts";
import { contract, requireAble, type SchemaHistory, stepOfProgram } from "./database/contractions.ts";
import { createAuditChain } from "./audit/audit-schema.ts";
import { createClaims } from "./identity/claim-schema.ts";
import { createViews } from "./configuration/view-schema.ts";
import { createDrains } from "./configuration/drain-schema.ts";
import { createConfiguration } from "./configuration/configuration-migration.ts";
import { createDrafts } from "./configuration/draft-schema.ts";
import { createEvents } from "./events/event-schema.ts";
import { addOperators } from "./identity/operator-migration.ts";
import { chainUnchained } from "./audit/kysely-audit.ts";
import { createMoves } from "./database/move-schema.ts";
import { createReplicas } from "./database/replicas.ts";
import { createRollUps, createTargetAndUserRollUps } from "./sums/roll-up-triggers.ts";
import type { Schema } from "./schema.ts";
import { createSessions } from "./identity/session-schema.ts";
import { StoreError } from "./store.ts";
import { createVendorObjects } from "./vendor-objects.ts";

type Db = Kysely<unknown>;

async function createTenants(db: Db): Promise<void> {
  await db.schema
    .createTable("tenants")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("personal_token_max_ms", "bigint")
    .addColumn("project_token_max_ms", "bigint")
    .execute();
  for (const table of ["projects", "users"]) {
    await db.schema
      .createTable(table)
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
      .addColumn("name", "text", (column) => column.notNull())
      .addUniqueConstraint(`${table}_by_tenant`, ["tenant_id", "id"])
      .execute();
  }
}

async function createMemberships(db: Db): Promise<void> {
  await db.schema
    .createTable("memberships")
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text")
    .addColumn("role", "text", (column) => column.notNull())
    .addForeignKeyConstraint("memberships_user", ["tenant_id", "user_id"], "users", ["tenant_id", "id"], (key) =>
      key.onDelete("cascade"),
    )
    .addForeignKeyConstraint(
      "memberships_project",
      ["tenant_id", "project_id"],
      "projects",
      ["tenant_id", "id"],
      (key) => key.onDelete("cascade"),
    )
    .execute();
  // Two indexes, because a unique index treats nulls as different from each other.
  await db.schema
    .createIndex("memberships_in_project")
    .unique()
    .on("memberships")
    .columns(["user_id", "project_id"])
    .where(sql.ref("project_id"), "is not", null)
    .execute();
  await db.schema
    .createIndex("memberships_in_tenant")
    .unique()
    .on("memberships")
    .column("user_id")
    .where(sql.ref("project_id"), "is", null)
    .execute();
}

async function createAccessTokens(db: Db): Promise<void> {
  await db.schema
    .createTable("access_tokens")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text")
    .addColumn("user_id", "text")
    .addColumn("role", "text")
    .addColumn("permissions", "text", (column) => column.notNull())
    .addColumn("created_at_ms", "bigint", (column) => column.notNull())
    .addColumn("lifetime_ms", "bigint", (column) => column.notNull())
    .addColumn("expires_at_ms", "bigint", (column) => column.notNull())
    .addColumn("revoked_at_ms", "bigint")
    .addForeignKeyConstraint(
      "access_tokens_project",
      ["tenant_id", "project_id"],
      "projects",
      ["tenant_id", "id"],
      (key) => key.onDelete("cascade"),
    )
    .addForeignKeyConstraint("access_tokens_user", ["tenant_id", "user_id"], "users", ["tenant_id", "id"], (key) =>
      key.onDelete("cascade"),
    )
    .addCheckConstraint(
      "access_tokens_kind",
      sql`(kind = 'project' and project_id is not null and user_id is null) or (kind = 'personal' and user_id is not null and project_id is null)`,
    )
    .execute();
  await db.schema.createIndex("access_tokens_by_user").on("access_tokens").column("user_id").execute();
  await db.schema
    .createTable("token_secrets")
    .addColumn("token_id", "text", (column) => column.notNull().references("access_tokens.id").onDelete("cascade"))
    .addColumn("sha256", "text", (column) => column.notNull())
    .addColumn("retires_at_ms", "bigint")
    .addPrimaryKeyConstraint("token_secrets_key", ["token_id", "sha256"])
    .execute();
}

/** The row of `revisions` that changes with everything from which the snapshot is compiled. */
export const WATCHED = "snapshot";

async function createRevisions(db: Db): Promise<void> {
  await db.schema
    .createTable("revisions")
    .addColumn("name", "text", (column) => column.primaryKey())
    .addColumn("counter", "bigint", (column) => column.notNull())
    .execute();
  await db
    .$extendTables<Pick<Schema, "revisions">>()
    .insertInto("revisions")
    .values({ name: WATCHED, counter: 0n })
    .execute();
}

/** One login may belong to several tenants, with a different user in each. */
async function keepLoginsByTenant(db: Db): Promise<void> {
  await db.schema.dropIndex("users_by_login").execute();
  await db.schema
    .createIndex("users_by_login")
    .unique()
    .on("users")
    .columns(["tenant_id", "issuer", "subject"])
    .where(sql.ref("issuer"), "is not", null)
    .execute();
}

const MIGRATIONS: Readonly<Record<string, Migration>> = {
  "0001-identities": {
    async up(db) {
      await createRevisions(db);
      await createTenants(db);
      await createMemberships(db);
      await createAccessTokens(db);
    },
  },
  "0002-configuration": { up: createConfiguration },
  "0010-calls": { up: createCalls },
  "0011-logins": { up: keepLoginsByTenant },
  "0012-look-ups": { up: createLookUps },
  "0013-contents": { up: createContents },
  "0014-events": { up: createEvents },
  "0015-operators": { up: addOperators },
  "0016-journal-places": { up: createPlaces },
  "0017-replicas": { up: createReplicas },
  "0018-calls-in-order": { up: reorderCalls },
  "0019-operations": { up: addOperations },
  "0020-vendor-objects": { up: createVendorObjects },
  "0021-sessions": { up: createSessions },
  "0022-call-figures": { up: addCallFigures },
  "0023-claims": { up: createClaims },
  "0024-audit-chain": {
    async up(db) {
      await createAuditChain(db);
      await chainUnchained(db);
    },
  },
  "0025-views": { up: createViews },
  "0026-drains": { up: createDrains },
  "0027-drafts": { up: createDrafts },
  "0028-roll-ups": { up: createRollUps },
  "0029-target-and-user-roll-ups": {
    async up(db) {
      await createTargetAndUserRollUps(db);
      await coverFailing(db);
    },
  },
  "0030-moves": { up: createMoves },
  "0031-contractions": { up: createContractions },
  "0032-attempt-sums": { up: createAttemptSums },
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
  } catch {
    return [];
  }
}
