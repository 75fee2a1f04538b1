// The table of claim links, and what makes it.
import type { Kysely } from "kysely";
import type { RowOf } from "../columns.ts";
import type { CLAIM } from "./claims.ts";
import { belongsTo } from "../database/place-tables.ts";

export interface ClaimSchema {
  readonly token_claims: RowOf<typeof CLAIM>;
}

export async function createClaims(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("token_claims")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("code_hash", "text", (column) => column.notNull().unique())
    .addColumn("tenant_id", "text", (column) => column.notNull().references("tenants.id").onDelete("cascade"))
    .addColumn("project_id", "text")
    .addColumn("request", "text", (column) => column.notNull())
    .addColumn("giver", "text", (column) => column.notNull())
    .addColumn("created_by", "text", (column) => column.notNull())
    .addColumn("created_at_ms", "bigint", (column) => column.notNull())
    .addColumn("expires_at_ms", "bigint", (column) => column.notNull())
    .addColumn("redeemed_at_ms", "bigint")
    .addColumn("token_id", "text")
    .addColumn("revoked_at_ms", "bigint")
    .$call(belongsTo("project", "token_claims"))
    .execute();
  await db.schema
    .createIndex("token_claims_by_place")
    .on("token_claims")
    .columns(["tenant_id", "project_id", "created_at_ms"])
    .execute();
}
