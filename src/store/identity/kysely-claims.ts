// Reads of claim links over any database that Kysely supports.
import type { Kysely } from "kysely";
import { CLAIM, type ClaimFilter, type StoredClaim } from "./claims.ts";
import { type ListKey, pageOf, having, onPage } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { keptIn } from "../columns.ts";
import type { Schema } from "../schema.ts";

const NEWEST: ListKey = {
  list: "claims",
  columns: [
    ["created_at_ms", "integer"],
    ["id", "text"],
  ],
  newestFirst: true,
};

export async function listClaims(
  db: Kysely<Schema>,
  page: PageRequest,
  { tenantId, projectId }: ClaimFilter,
): Promise<Page<StoredClaim>> {
  const rows = await db
    .selectFrom("token_claims")
    .selectAll()
    .where(having<Schema["token_claims"]>({ tenant_id: tenantId, project_id: projectId }))
    .$call(onPage(page, NEWEST))
    .execute();
  return pageOf(
    rows,
    page,
    NEWEST,
    (row) => [row.created_at_ms, row.id],
    (row) => keptIn(CLAIM, row),
  );
}
