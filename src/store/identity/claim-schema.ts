// The table of claim links, and what makes it.
import type { Kysely } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import { integer, integerOrNull, json, type RowOf, text, textOrNull } from "../columns.ts";
import { belongsTo } from "../database/place-tables.ts";

/** What the table keeps of StoredClaim. */
export const CLAIM = {
  id: text,
  code_hash: text,
  tenant_id: text,
  project_id: textOrNull,
  request: json<JsonObject>(),
  giver: text,
  created_by: text,
  created_at_ms: integer,
  expires_at_ms: integer,
  redeemed_at_ms: integerOrNull,
  token_id: textOrNull,
  revoked_at_ms: integerOrNull,
};

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
