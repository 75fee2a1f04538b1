// Claim links over any database that Kysely supports.
import type { Kysely } from "kysely";
import type { JsonObject } from "../core/json.ts";
import type { ClaimSchema } from "./claim-schema.ts";
import type { ClaimFilter, StoredClaim } from "./claims.ts";
import type { Work } from "./kysely-work.ts";
import { requireTexts } from "./kysely-work.ts";
import { afterCursor, inOrderOf, type ListKey, pageOf, rowLimit } from "./pages.ts";
import type { Page, PageRequest } from "./reader.ts";
import { fromInteger, fromIntegerOrNull, toInteger, toIntegerOrNull } from "./schema.ts";
import type { Writer } from "./writer.ts";

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
    .where("tenant_id", "=", tenantId)
    .where("project_id", projectId === null ? "is" : "=", projectId)
    .where(afterCursor(page, NEWEST))
    .orderBy(inOrderOf(NEWEST))
    .limit(rowLimit(page))
    .execute();
  return pageOf(rows, page, NEWEST, (row) => [row.created_at_ms, row.id], claimOf);
}

/** Each adds a row to the audit log. */
export function claimWrites(work: Work): Pick<Writer, "createClaim" | "findClaim" | "redeemedClaim" | "revokeClaim"> {
  const { tx, nowMs } = work;
  const noted = (action: string, { tenantId, projectId, id, request }: StoredClaim, note: string | null): void =>
    void work.entries.push({
      action,
      outcome: "done",
      kind: "claim",
      tenantId,
      projectId,
      targetId: id,
      targetName: typeof request["name"] === "string" ? request["name"] : null,
      note,
      isChange: false,
    });
  return {
    async createClaim(claim) {
      requireTexts(JSON.stringify(claim.request));
      await tx.insertInto("token_claims").values(rowOf(claim)).execute();
      noted("create", claim, null);
    },
    async findClaim(codeHash) {
      const row = await tx.selectFrom("token_claims").selectAll().where("code_hash", "=", codeHash).executeTakeFirst();
      return row === undefined ? null : claimOf(row);
    },
    async redeemedClaim(claim, tokenId) {
      await tx
        .updateTable("token_claims")
        .set({ redeemed_at_ms: toInteger(nowMs), token_id: tokenId })
        .where("id", "=", claim.id)
        .execute();
      noted("redeem", claim, `It has made the access token ${tokenId}.`);
    },
    async revokeClaim(id, { tenantId, projectId }) {
      const row = await tx
        .updateTable("token_claims")
        .set({ revoked_at_ms: toInteger(nowMs) })
        .where("id", "=", id)
        .where("tenant_id", "=", tenantId)
        .where("project_id", projectId === null ? "is" : "=", projectId)
        .where("redeemed_at_ms", "is", null)
        .where("revoked_at_ms", "is", null)
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) noted("revoke", claimOf(row), null);
      return row !== undefined;
    },
  };
}

function rowOf(claim: StoredClaim): Row {
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

function claimOf(row: Row): StoredClaim {
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
