// Reads of claim links over any database that Kysely supports.
import type { Kysely } from "kysely";
import { CLAIM, type ClaimFilter, type StoredClaim } from "./claims.ts";
import { byNewest, having, readPage } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { keptIn } from "../columns.ts";
import type { Schema } from "../schema.ts";

const NEWEST = byNewest("claims", "created_at_ms");

export async function listClaims(
  db: Kysely<Schema>,
  page: PageRequest,
  { tenantId, projectId }: ClaimFilter,
): Promise<Page<StoredClaim>> {
  const query = db
    .selectFrom("token_claims")
    .selectAll()
    .where(having<Schema["token_claims"]>({ tenant_id: tenantId, project_id: projectId }));
  return await readPage(query, page, NEWEST, (row) => keptIn(CLAIM, row));
}
