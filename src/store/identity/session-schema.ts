// The tables of sessions, login codes and failed logins, and what makes them.
import type { Kysely } from "kysely";
import type { RowOf } from "../columns.ts";
import type { CODE, SESSION } from "./sessions.ts";

export interface SessionSchema {
  readonly console_sessions: RowOf<typeof SESSION>;
  readonly console_codes: RowOf<typeof CODE>;
  readonly login_failures: {
    readonly failure_key: string;
    readonly failures: bigint;
    readonly since_ms: bigint;
  };
}

export async function createSessions(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("console_sessions")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("secret_hash", "text", (column) => column.notNull().unique())
    .addColumn("way", "text", (column) => column.notNull())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("user_id", "text")
    .addColumn("token_id", "text")
    .addColumn("identity", "text", (column) => column.notNull())
    .addColumn("rights", "text", (column) => column.notNull())
    .addColumn("address", "text")
    .addColumn("browser", "text")
    .addColumn("started_at_ms", "bigint", (column) => column.notNull())
    .addColumn("seen_at_ms", "bigint", (column) => column.notNull())
    .addColumn("ends_at_ms", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex("console_sessions_by_tenant")
    .on("console_sessions")
    .columns(["tenant_id", "user_id"])
    .execute();
  await db.schema
    .createTable("console_codes")
    .addColumn("code_hash", "text", (column) => column.primaryKey())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("user_id", "text", (column) => column.notNull())
    .addColumn("permissions", "text", (column) => column.notNull())
    .addColumn("expires_at_ms", "bigint", (column) => column.notNull())
    .execute();
  await db.schema
    .createTable("login_failures")
    .addColumn("failure_key", "text", (column) => column.primaryKey())
    .addColumn("failures", "bigint", (column) => column.notNull())
    .addColumn("since_ms", "bigint", (column) => column.notNull())
    .execute();
}
