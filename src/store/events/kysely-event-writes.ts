// What a change adds to the event queue, within its own transaction: a change to an access token emits an event if and
// only if it is committed. Also deliveries that are put into the queue by hand.
import { type Kysely, sql, type Transaction } from "kysely";
import type { GatewayEvent } from "../../core/record/event.ts";
import { newEventId } from "../../core/record/event-id.ts";
import { deliveryColumns, eventColumns, findDelivery } from "./event-rows.ts";
import type { Recipient } from "./events.ts";
import { requireFound, type Work } from "../kysely-work.ts";
import type { Actor, Change } from "../records.ts";
import { toInteger } from "../database/columns.ts";
import type { Schema } from "../schema.ts";
import type { Writer } from "../writer.ts";

function typeOf({ action, before, after }: Change): "token.created" | "token.rotated" | "token.revoked" | null {
  if (action === "create") return "token.created";
  const isRevoked = before?.["revoked_at"] != null;
  if (action === "remove" || (after?.["revoked_at"] != null && !isRevoked)) return isRevoked ? null : "token.revoked";
  // Only a rotation changes the number of live secrets, or the end.
  return before?.["expires_at"] === after?.["expires_at"] && before?.["live_secrets"] === after?.["live_secrets"]
    ? null
    : "token.rotated";
}

function tokenEvents(
  changes: readonly Change[],
  { tokenId, userId, role }: Actor,
  atMs: number,
): readonly GatewayEvent[] {
  return changes.flatMap((change): readonly GatewayEvent[] => {
    const type = change.kind === "token" ? typeOf(change) : null;
    const token = change.after ?? change.before;
    if (type === null || token === null) return [];
    const { kind, user_id, role: cap, expires_at } = token;
    const data = {
      token_id: change.id,
      name: change.name,
      kind: kind ?? null,
      user_id: user_id ?? null,
      role: cap ?? null,
      expires_at: expires_at ?? null,
      by: { token_id: tokenId, user_id: userId, role },
    };
    return [{ id: newEventId(), type, atMs, tenantId: change.tenantId, projectId: change.projectId, data }];
  });
}

/** Called after everything else that a change does. */
export async function addEvents(
  tx: Transaction<Schema>,
  changes: readonly Change[],
  actor: Actor,
  atMs: number,
): Promise<void> {
  for (const event of tokenEvents(changes, actor, atMs))
    await tx.insertInto("event").values(eventColumns(event, false)).execute();
  // Another tenant or project may take the name later, and must not see what was sent here.
  for (const { action, kind, id } of changes)
    if (action === "remove" && (kind === "tenant" || kind === "project"))
      await tx
        .deleteFrom("webhook_delivery")
        .where(kind === "tenant" ? "tenant_id" : "project_id", "=", id)
        .execute();
}

const REMOVED_AT_ONCE = 1000;

/**
 * Events about tokens are emitted whether or not a webhook subscribes to them. Those without a subscriber would
 * otherwise stay forever, and be sent to a later subscriber. Returns whether events of former webhooks are left, whose
 * deliveries are to be given up, and removed with them when they are old.
 */
export async function removeUnaddressedEvents(db: Kysely<Schema>, beforeMs: number): Promise<boolean> {
  const old = db
    .selectFrom("event")
    .select("id")
    .where("spread", "=", 0n)
    .where("at_ms", "<", toInteger(beforeMs))
    .limit(sql.lit(REMOVED_AT_ONCE));
  await db.deleteFrom("event").where("spread", "=", 0n).where("id", "in", old).execute();
  const left = await db.selectFrom("event").select("id").where("spread", "=", 1n).limit(sql.lit(1)).executeTakeFirst();
  return left !== undefined;
}

export function deliveryWrites(work: Work): Pick<Writer, "redeliver" | "queueEvent"> {
  const { tx, nowMs } = work;
  const entry = (
    action: string,
    deliveryId: string,
    event: GatewayEvent,
    { webhookId, webhookName, tenantId, projectId }: Recipient,
    before: string | null,
  ): void => {
    const shown = (state: string) => ({ webhook_id: webhookId, event_id: event.id, type: event.type, state });
    work.entries.push({
      action,
      outcome: "done",
      kind: "webhook_delivery",
      targetId: deliveryId,
      targetName: webhookName,
      tenantId,
      projectId,
      before: before === null ? null : shown(before),
      after: shown("pending"),
      isChange: true,
    });
  };
  return {
    async redeliver(id) {
      const delivery = requireFound(await findDelivery(tx, id), "webhook delivery", id);
      await tx
        .updateTable("webhook_delivery")
        .set({ state: "pending", attempts: 0n, next_at_ms: toInteger(nowMs), ended_at_ms: null, lease: null })
        .where("id", "=", id)
        .execute();
      entry("change", id, delivery.event, delivery, delivery.state);
    },
    async queueEvent(event, recipient) {
      const row = deliveryColumns(event.id, recipient, nowMs);
      await tx.insertInto("event").values(eventColumns(event, true)).execute();
      await tx.insertInto("webhook_delivery").values(row).execute();
      entry("create", row.id, event, recipient, null);
      return row.id;
    },
  };
}
