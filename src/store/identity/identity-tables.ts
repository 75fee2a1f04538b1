// Makes the tables of tenants, projects, users, memberships and access tokens. Composite foreign keys keep every row inside
// its tenant, whatever errors the code above makes.
import { sql, type Kysely } from "kysely";
import { belongsTo, createUniqueInPlace } from "../database/place-tables.ts";

type Db = Kysely<unknown>;

export async function createIdentities(db: Db): Promise<void> {
  await createTenants(db);
  await createMemberships(db);
  await createAccessTokens(db);
}

async function createTenants(db: Db): Promise<void> {
  await db.schema
    .createTable("tenants")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("personal_token_max_ms", "bigint")
    .addColumn("project_token_max_ms", "bigint")
    .addColumn("version", "bigint", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at_ms", "bigint")
    .addColumn("updated_at_ms", "bigint")
    .execute();
  await db.schema
    .createTable("projects")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("version", "bigint", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at_ms", "bigint")
    .addColumn("updated_at_ms", "bigint")
    .addUniqueConstraint("projects_by_tenant", ["tenant_id", "id"])
    .execute();
  await db.schema
    .createTable("users")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("name", "text", (column) => column.notNull())
    .addColumn("email", "text")
    .addColumn("issuer", "text")
    .addColumn("subject", "text")
    .addColumn("is_operator", "bigint", (column) => column.notNull().defaultTo(0))
    .addColumn("version", "bigint", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at_ms", "bigint")
    .addColumn("updated_at_ms", "bigint")
    .addUniqueConstraint("users_by_tenant", ["tenant_id", "id"])
    .execute();
  // One login may belong to several tenants, with a different user in each.
  await db.schema
    .createIndex("users_by_login")
    .unique()
    .on("users")
    .columns(["tenant_id", "issuer", "subject"])
    .where(sql.ref("issuer"), "is not", null)
    .execute();
}

async function createMemberships(db: Db): Promise<void> {
  await db.schema
    .createTable("memberships")
    .addColumn("tenant_id", "text", (column) => column.notNull())
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("project_id", "text")
    .addColumn("role", "text", (column) => column.notNull())
    .addColumn("version", "bigint", (column) => column.notNull().defaultTo(1))
    .addColumn("created_at_ms", "bigint")
    .addColumn("updated_at_ms", "bigint")
    .$call(belongsTo("user", "memberships"))
    .$call(belongsTo("project", "memberships"))
    .execute();
  await createUniqueInPlace(db, "memberships", ["user_id", "project_id"]);
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
    .addColumn("version", "bigint", (column) => column.notNull().defaultTo(1))
    .addColumn("updated_at_ms", "bigint")
    .addColumn("models", "text", (column) => column.notNull().defaultTo("[]"))
    .addColumn("routes", "text", (column) => column.notNull().defaultTo("[]"))
    .addColumn("tools", "text", (column) => column.notNull().defaultTo("[]"))
    .addColumn("ip_ranges", "text", (column) => column.notNull().defaultTo("[]"))
    .addColumn("created_by", "text")
    .$call(belongsTo("project", "access_tokens"))
    .$call(belongsTo("user", "access_tokens"))
    .addCheckConstraint(
      "access_tokens_kind",
      sql`(kind = 'project' and project_id is not null and user_id is null) or (kind = 'personal' and user_id is not null and project_id is null)`,
    )
    .execute();
  await db.schema.createIndex("access_tokens_by_user").on("access_tokens").column("user_id").execute();
  await db.schema
    .createIndex("access_tokens_by_scope")
    .on("access_tokens")
    .columns(["tenant_id", "project_id"])
    .execute();
  await db.schema
    .createTable("token_secrets")
    .addColumn("token_id", "text", (column) => column.notNull().references("access_tokens.id").onDelete("cascade"))
    .addColumn("sha256", "text", (column) => column.notNull())
    .addColumn("retires_at_ms", "bigint")
    .addPrimaryKeyConstraint("token_secrets_key", ["token_id", "sha256"])
    .execute();
}
