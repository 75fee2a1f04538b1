// Reads of claim links over any database that Kysely supports, and the conversion of their rows.
import type { Kysely } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import type { ClaimSchema } from "./claim-schema.ts";
import type { ClaimFilter, StoredClaim } from "./claims.ts";
import { type ListKey, pageOf, having, onPage } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { fromInteger, fromIntegerOrNull, toInteger, toIntegerOrNull } from "../schema.ts";

type Row = ClaimSchema["token_claims"];
type Db = Kysely<ClaimSchema>;

const NEWEST: ListKey = {
  list: "claims",
  columns: [
    ["created_at_ms", "integer"],
    ["id", "text"],
  ],
  newestFirst: true,
};

export async function listClaims<Schema extends ClaimSchema>(
  wider: Kysely<Schema>,
  page: PageRequest,
  { tenantId, projectId }: ClaimFilter,
): Promise<Page<StoredClaim>> {
  const rows = await (wider as unknown as Db)
    .selectFrom("token_claims")
    .selectAll()
    .where(having<Row>({ tenant_id: tenantId, project_id: projectId }))
    .$call(onPage(page, NEWEST))
    .execute();
  return pageOf(rows, page, NEWEST, (row) => [row.created_at_ms, row.id], claimOf);
}

export function claimRow(claim: StoredClaim): Row {
  return {
    id: claim.id,
    code_hash: claim.codeHash,
    tenant_id: claim.tenantId,
    project_id: claim.projectId,
    request: JSON.stringify(claim.request),
    giver: claim.giver,
    created_by: claim.createdBy,
    created_at_ms: toInteger(claim.createdAtMs),
    expires_at_ms: toInteger(claim.expiresAtMs),
    redeemed_at_ms: toIntegerOrNull(claim.redeemedAtMs),
    token_id: claim.tokenId,
    revoked_at_ms: toIntegerOrNull(claim.revokedAtMs),
  };
}

export function claimOf(row: Row): StoredClaim {
  return {
    id: row.id,
    codeHash: row.code_hash,
    tenantId: row.tenant_id,
    projectId: row.project_id,
    request: JSON.parse(row.request) as JsonObject,
    giver: row.giver,
    createdBy: row.created_by,
    createdAtMs: fromInteger(row.created_at_ms),
    expiresAtMs: fromInteger(row.expires_at_ms),
    redeemedAtMs: fromIntegerOrNull(row.redeemed_at_ms),
    tokenId: row.token_id,
    revokedAtMs: fromIntegerOrNull(row.revoked_at_ms),
  };
}
