// The table of claim links, and what makes it.
import type { Kysely } from "kysely";
import { belongsTo } from "../database/place-tables.ts";

export interface ClaimSchema {
  readonly token_claims: {
    readonly id: string;
    readonly code_hash: string;
    readonly tenant_id: string;
    readonly project_id: string | null;
    readonly request: string;
    readonly giver: string;
    readonly created_by: string;
    readonly created_at_ms: bigint;
    readonly expires_at_ms: bigint;
    readonly redeemed_at_ms: bigint | null;
    readonly token_id: string | null;
    readonly revoked_at_ms: bigint | null;
  };
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
