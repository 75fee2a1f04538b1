// Makes the tables of resources and their versions, of the audit log, and of answers to repeated requests.
import { sql, type CreateTableBuilder, type Kysely } from "kysely";
import { belongsTo, createUniqueInPlace } from "../database/place-tables.ts";

type Db = Kysely<unknown>;

async function createResources(db: Db): Promise<void> {
  await db.schema
    .createTable("resources")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("project_id", "text")
    .addColumn("name", "text")
    .addColumn("document", "text", (column) => column.notNull())
    .addColumn("set_by", "text", (column) => column.notNull())
    .addColumn("version", "bigint", (column) => column.notNull())
    .addColumn("created_at_ms", "bigint", (column) => column.notNull())
    .addColumn("updated_at_ms", "bigint", (column) => column.notNull())
    .addColumn("by_operator", "bigint", (column) => column.notNull().defaultTo(0))
    .$call(belongsTo("project", "resources"))
    .execute();
  await createUniqueInPlace(db, "resources", ["tenant_id", "project_id", "kind", "name"]);
}

const withActor = <T extends string>(table: CreateTableBuilder<T>): CreateTableBuilder<T> =>
  table
    .addColumn("actor_token_id", "text")
    .addColumn("actor_user_id", "text")
    .addColumn("actor_role", "text")
    .addColumn("actor_tenant_id", "text")
    .addColumn("actor_address", "text") as CreateTableBuilder<T>;

async function createHistory(db: Db): Promise<void> {
  await withActor(
    db.schema
      .createTable("audit_log")
      .addColumn("id", "text", (column) => column.primaryKey())
      .addColumn("at_ms", "bigint", (column) => column.notNull())
      .addColumn("action", "text", (column) => column.notNull())
      .addColumn("outcome", "text", (column) => column.notNull())
      .addColumn("kind", "text", (column) => column.notNull())
      .addColumn("target_id", "text")
      .addColumn("target_name", "text")
      .addColumn("tenant_id", "text")
      .addColumn("project_id", "text")
      .addColumn("value_before", "text")
      .addColumn("value_after", "text")
      .addColumn("note", "text")
      .addColumn("version", "bigint")
      .addColumn("revision", "bigint")
      .addColumn("via", "text")
      .addColumn("session_id", "text")
      .addColumn("chain", "text", (column) => column.notNull())
      .addColumn("hash", "text", (column) => column.notNull())
      .addColumn("sequence", "bigint", (column) => column.notNull()),
  ).execute();
  await db.schema.createIndex("audit_log_by_time").on("audit_log").columns(["at_ms", "id"]).execute();
  await db.schema.createIndex("audit_log_of_tenant").on("audit_log").columns(["tenant_id", "at_ms", "id"]).execute();
  await db.schema.createIndex("audit_log_of_target").on("audit_log").columns(["kind", "target_id", "at_ms"]).execute();
  await db.schema
    .createIndex("audit_log_by_revision")
    .on("audit_log")
    .column("revision")
    .where(sql.ref("revision"), "is not", null)
    .execute();
  await withActor(
    db.schema
      .createTable("versions")
      .addColumn("number", "bigint", (column) => column.primaryKey())
      .addColumn("at_ms", "bigint", (column) => column.notNull())
      .addColumn("rolled_back_to", "bigint")
      .addColumn("note", "text"),
  ).execute();
  await db.schema
    .createTable("version_changes")
    .addColumn("version", "bigint", (column) => column.notNull().references("versions.number").onDelete("cascade"))
    .addColumn("ordinal", "bigint", (column) => column.notNull())
    .addColumn("action", "text", (column) => column.notNull())
    .addColumn("kind", "text", (column) => column.notNull())
    .addColumn("resource_id", "text", (column) => column.notNull())
    .addColumn("name", "text")
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text")
    .addColumn("value_before", "text")
    .addColumn("value_after", "text")
    .addPrimaryKeyConstraint("version_changes_key", ["version", "ordinal"])
    .execute();
  await db.schema
    .createIndex("version_changes_of_scope")
    .on("version_changes")
    .columns(["tenant_id", "project_id", "version"])
    .execute();
  await db.schema
    .createIndex("version_changes_of_resource")
    .on("version_changes")
    .columns(["resource_id", "version"])
    .execute();
}

async function createKeptAnswers(db: Db): Promise<void> {
  await db.schema
    .createTable("kept_answers")
    .addColumn("token_id", "text", (column) => column.notNull())
    .addColumn("answer_key", "text", (column) => column.notNull())
    .addColumn("request_hash", "text", (column) => column.notNull())
    .addColumn("status", "bigint", (column) => column.notNull())
    .addColumn("body", "text", (column) => column.notNull())
    .addColumn("at_ms", "bigint", (column) => column.notNull())
    .addPrimaryKeyConstraint("kept_answers_key", ["token_id", "answer_key"])
    .execute();
  await db.schema.createIndex("kept_answers_by_time").on("kept_answers").column("at_ms").execute();
}

export async function createConfiguration(db: Kysely<unknown>): Promise<void> {
  await createResources(db);
  await createHistory(db);
  await createKeptAnswers(db);
}
