// Writes of access tokens and their secrets, within a change of the store.
import { findToken, type Db } from "../kysely-reader.ts";
import {
  changed,
  MOST_STORED,
  requireInTenant,
  requireRoomFor,
  requireTexts,
  record,
  refuseUsedId,
  requireFound,
  type Work,
} from "../kysely-work.ts";
import type { Kept, StoredToken } from "../records.ts";
import { auditedToken } from "../database/row-values.ts";
import { rowOf, toInteger } from "../database/columns.ts";
import { CHANGEABLE_OF_TOKEN, TOKEN, TOKEN_SECRET } from "../schema.ts";
import type { Writer } from "../writer.ts";

function recordToken(
  work: Work,
  token: StoredToken,
  before: StoredToken | null,
  after: StoredToken | null,
  note: string | null = null,
): void {
  const { id, tenantId, projectId } = token;
  record(
    work,
    {
      kind: "token",
      id,
      name: (after ?? before)!.name,
      tenantId,
      projectId,
      before: before && auditedToken(before, work.nowMs),
      after: after && auditedToken(after, work.nowMs),
    },
    note,
  );
}

export function tokenWrites(work: Work): Pick<Writer, "createToken" | "changeToken" | "removeToken"> {
  const { tx, nowMs } = work;
  return {
    async createToken(token) {
      requireTexts(token.name);
      if (token.projectId !== null) await requireInTenant(tx, "projects", token.projectId, token.tenantId);
      if (token.userId !== null) await requireInTenant(tx, "users", token.userId, token.tenantId);
      await refuseUsedId(tx, "access_tokens", token.id);
      const live = tx
        .selectFrom("access_tokens")
        .where("tenant_id", "=", token.tenantId)
        .where("revoked_at_ms", "is", null)
        .where("expires_at_ms", ">", toInteger(nowMs));
      await requireRoomFor(work, live, MOST_STORED.liveTokens, "live access tokens");
      await tx
        .insertInto("access_tokens")
        .values({ ...rowOf(TOKEN, token), created_by: token.createdBy ?? null, updated_at_ms: toInteger(nowMs) })
        .execute();
      await insertSecrets(tx, token);
      recordToken(work, token, null, token);
      return (await findToken(tx, token.id))!;
    },
    changeToken: (id, change) => changeToken(work, id, change),
    async removeToken(id) {
      const token = requireFound(await findToken(tx, id), "access token", id);
      await tx.deleteFrom("access_tokens").where("id", "=", id).execute();
      recordToken(work, token, token, null);
    },
  };
}

export async function changeToken(
  work: Work,
  id: string,
  change: (token: Kept<StoredToken>) => StoredToken,
  note: string | null = null,
): Promise<Kept<StoredToken>> {
  const { tx, nowMs } = work;
  const before = requireFound(await findToken(tx, id), "access token", id);
  const after = { ...change(before), id };
  requireTexts(after.name);
  await tx
    .updateTable("access_tokens")
    .set({ ...rowOf(CHANGEABLE_OF_TOKEN, after), ...changed(before, nowMs) })
    .where("id", "=", id)
    .execute();
  if (after.secrets !== before.secrets) {
    await tx.deleteFrom("token_secrets").where("token_id", "=", id).execute();
    await insertSecrets(tx, after);
  }
  recordToken(work, before, before, after, note);
  return { ...after, version: before.version + 1, updatedAtMs: nowMs };
}

async function insertSecrets(tx: Db, token: StoredToken): Promise<void> {
  if (token.secrets.length === 0) return;
  const rows = token.secrets.map((secret) => ({ token_id: token.id, ...rowOf(TOKEN_SECRET, secret) }));
  await tx.insertInto("token_secrets").values(rows).execute();
}
