// Drains in any database that Kysely supports: reading all of them for a snapshot, and the writes within a change.
import type { Drain } from "../../core/configured/drain.ts";
import type { JsonObject } from "../../core/json.ts";
import type { Db } from "../kysely-reader.ts";
import { MOST_STORED, requireRoomFor, requireTenant, requireTexts, rowsOfTenant, type Work } from "../kysely-work.ts";
import { keptIn, rowOf, toInteger } from "../database/columns.ts";
import { DRAIN, type DrainSchema } from "./drain-schema.ts";
import { exactly, readFirst } from "../database/pages.ts";
import type { Writer } from "../writer.ts";

/** The kind of their rows in the audit log, by which readers of changes find them. */
export const DRAIN_KIND = "drain";

export async function readDrains(db: Db): Promise<readonly Drain[]> {
  const rows = await db
    .selectFrom("provider_drains")
    .selectAll()
    .orderBy("tenant_id")
    .orderBy("provider")
    .orderBy("model")
    .execute();
  return rows.map((row) => keptIn(DRAIN, row));
}

/** Each adds a row to the audit log, and removes what has ended in the tenant. */
export function drainWrites(work: Work): Pick<Writer, "beginDrain" | "endDrain"> {
  const { tx, nowMs } = work;
  const take = async ({ tenantId, provider, model }: Pick<Drain, "tenantId" | "provider" | "model">) => {
    await tx
      .deleteFrom("provider_drains")
      .where("tenant_id", "=", tenantId)
      .where("until_ms", "<=", toInteger(nowMs))
      .execute();
    const taking = tx
      .deleteFrom("provider_drains")
      .where(exactly<DrainSchema["provider_drains"]>({ tenant_id: tenantId, provider, model: model ?? "" }))
      .returningAll();
    return await readFirst(taking, (row) => keptIn(DRAIN, row));
  };
  const noted = (action: string, { tenantId, provider, model }: Drain, before: Drain | null, after: Drain | null) =>
    void work.entries.push({
      action,
      outcome: "done",
      kind: DRAIN_KIND,
      tenantId,
      targetId: model === null ? provider : `${provider}:${model}`,
      targetName: provider,
      before: shown(before),
      after: shown(after),
      isChange: true,
    });
  return {
    async beginDrain(drain) {
      requireTexts(drain.provider, drain.model, drain.note);
      await requireTenant(tx, drain.tenantId);
      const before = await take(drain);
      if (before === null)
        await requireRoomFor(work, rowsOfTenant(work, "provider_drains", drain.tenantId), MOST_STORED.drains, "drains");
      await tx.insertInto("provider_drains").values(rowOf(DRAIN, drain)).execute();
      noted(before === null ? "create" : "change", drain, before, drain);
    },
    async endDrain(place) {
      const before = await take(place);
      if (before === null) return false;
      noted("remove", before, before, null);
      return true;
    },
  };
}

function shown(drain: Drain | null): JsonObject | null {
  return drain === null ? null : { model: drain.model, until: new Date(drain.untilMs).toISOString(), note: drain.note };
}
