// Writes of claim links, within a change of the store.
import type { JsonObject } from "../../core/json.ts";
import { CLAIM, type StoredClaim } from "./claims.ts";
import type { ClaimSchema } from "./claim-schema.ts";
import { exactly, readFirst } from "../database/pages.ts";
import { MOST_STORED, requireRoomFor, requireTexts, type Work } from "../kysely-work.ts";
import { keptIn, rowOf, toInteger } from "../database/columns.ts";
import type { StoredUser } from "../records.ts";
import type { Writer } from "../writer.ts";

type Row = ClaimSchema["token_claims"];

/** Neither redeemed nor revoked. */
const OPEN = exactly<Row>({ redeemed_at_ms: null, revoked_at_ms: null });

/** Each adds a row to the audit log. */
export function claimWrites(work: Work): Pick<Writer, "createClaim" | "redeemedClaim" | "revokeClaim"> {
  const { tx, nowMs } = work;
  return {
    async createClaim(claim) {
      requireTexts(JSON.stringify(claim.request));
      await requireRoomFor(work, openOf(work, claim.tenantId), MOST_STORED.claims, "open links that give a token");
      await tx.insertInto("token_claims").values(rowOf(CLAIM, claim)).execute();
      noted(work, "create", claim, { after: claim.request });
    },
    async redeemedClaim(claim, tokenId) {
      await tx
        .updateTable("token_claims")
        .set({ redeemed_at_ms: toInteger(nowMs), token_id: tokenId })
        .where("id", "=", claim.id)
        .execute();
      noted(work, "redeem", claim, {
        before: claim.request,
        after: { ...claim.request, token_id: tokenId },
        note: `It has made the access token ${tokenId}.`,
      });
    },
    async revokeClaim(id, { tenantId, projectId }) {
      const asked = exactly<Row>({ id, tenant_id: tenantId, project_id: projectId });
      const claim = await readFirst(tx.selectFrom("token_claims").selectAll().where(asked).where(OPEN), (row) =>
        keptIn(CLAIM, row),
      );
      if (claim === null) return false;
      await revoke(work, claim);
      return true;
    },
  };
}

/** Those that can still be opened. */
const openOf = ({ tx, nowMs }: Work, tenantId: string) =>
  tx
    .selectFrom("token_claims")
    .where(exactly<Row>({ tenant_id: tenantId }))
    .where(OPEN)
    .where("expires_at_ms", ">", toInteger(nowMs));

/** Revokes the open links that the user has made, and those that give a token of the user. */
export async function revokeClaimsOf(work: Work, { id, tenantId }: Pick<StoredUser, "id" | "tenantId">): Promise<void> {
  const rows = await openOf(work, tenantId).selectAll().execute();
  for (const claim of rows.map((row) => keptIn(CLAIM, row)))
    if (claim.createdBy === id || claim.request["user_id"] === id) await revoke(work, claim);
}

async function revoke(work: Work, claim: StoredClaim): Promise<void> {
  await work.tx
    .updateTable("token_claims")
    .set({ revoked_at_ms: toInteger(work.nowMs) })
    .where("id", "=", claim.id)
    .execute();
  noted(work, "revoke", claim, { before: claim.request, after: { ...claim.request, revoked: true } });
}

function noted(
  { entries }: Work,
  action: string,
  { tenantId, projectId, id, request }: StoredClaim,
  change: { readonly before?: JsonObject; readonly after: JsonObject; readonly note?: string },
): void {
  entries.push({
    action,
    outcome: "done",
    kind: "claim",
    tenantId,
    projectId,
    targetId: id,
    targetName: typeof request["name"] === "string" ? request["name"] : null,
    ...change,
    isChange: false,
  });
}
