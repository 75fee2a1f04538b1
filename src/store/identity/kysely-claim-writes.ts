// Writes of claim links, within a change of the store.
import type { JsonObject } from "../../core/json.ts";
import { CLAIM, type StoredClaim } from "./claims.ts";
import type { ClaimSchema } from "./claim-schema.ts";
import { exactly, readFirst } from "../database/pages.ts";
import { requireTexts, type Work } from "../kysely-work.ts";
import { keptIn, rowOf, toInteger } from "../database/columns.ts";
import type { Writer } from "../writer.ts";

type Row = ClaimSchema["token_claims"];

/** Each adds a row to the audit log. */
export function claimWrites(work: Work): Pick<Writer, "createClaim" | "findClaim" | "redeemedClaim" | "revokeClaim"> {
  const { tx, nowMs } = work;
  const noted = (
    action: string,
    { tenantId, projectId, id, request }: StoredClaim,
    change: { readonly before?: JsonObject; readonly after: JsonObject; readonly note?: string },
  ): void =>
    void work.entries.push({
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
  return {
    async createClaim(claim) {
      requireTexts(JSON.stringify(claim.request));
      await tx.insertInto("token_claims").values(rowOf(CLAIM, claim)).execute();
      noted("create", claim, { after: claim.request });
    },
    findClaim: (codeHash) =>
      readFirst(tx.selectFrom("token_claims").selectAll().where("code_hash", "=", codeHash), (row) =>
        keptIn(CLAIM, row),
      ),
    async redeemedClaim(claim, tokenId) {
      await tx
        .updateTable("token_claims")
        .set({ redeemed_at_ms: toInteger(nowMs), token_id: tokenId })
        .where("id", "=", claim.id)
        .execute();
      noted("redeem", claim, {
        before: claim.request,
        after: { ...claim.request, token_id: tokenId },
        note: `It has made the access token ${tokenId}.`,
      });
    },
    async revokeClaim(id, { tenantId, projectId }) {
      const revoking = tx
        .updateTable("token_claims")
        .set({ revoked_at_ms: toInteger(nowMs) })
        .where(exactly<Row>({ id, tenant_id: tenantId, project_id: projectId }))
        .where(exactly<Row>({ redeemed_at_ms: null, revoked_at_ms: null }))
        .returningAll();
      const claim = await readFirst(revoking, (row) => keptIn(CLAIM, row));
      if (claim === null) return false;
      noted("revoke", claim, { before: claim.request, after: { ...claim.request, revoked: true } });
      return true;
    },
  };
}
