// The table of claim links, and what makes it.
import type { Kysely } from "kysely";
import type { RowOf } from "../database/columns.ts";
import type { CLAIM } from "./claims.ts";
import { belongsTo } from "../database/place-tables.ts";
import { runStatements } from "../database/run-statements.ts";

export interface ClaimSchema {
  readonly token_claims: RowOf<typeof CLAIM>;
}

export const createClaims = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table token_claims (
      id text primary key, code_hash text not null unique,
      tenant_id text not null references tenants (id) on delete cascade, project_id text,
      request text not null, giver text not null, created_by text not null,
      created_at_ms bigint not null, expires_at_ms bigint not null, redeemed_at_ms bigint,
      token_id text, revoked_at_ms bigint,
      ${belongsTo("project", "token_claims")}
    )`,
    "create index token_claims_by_place on token_claims (tenant_id, project_id, created_at_ms)",
  );
