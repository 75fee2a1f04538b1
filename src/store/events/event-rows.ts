// Converts events and deliveries between rows and values, the same for every database, and lists them.
import type { Kysely, Selectable } from "kysely";
import type { GatewayEvent } from "../../core/record/event.ts";
import { DELIVERY, EVENT, type EventSchema } from "./event-schema.ts";
import type { Delivery, DeliveryFilter, Recipient } from "./events.ts";
import { byNewest, during, having, readFirst, readPage } from "../database/pages.ts";
import type { Page, PageRequest } from "../reader.ts";
import { keptIn, rowOf, type RowOf } from "../database/columns.ts";

type Db = Kysely<EventSchema>;
type EventRow = Selectable<EventSchema["event"]>;
type DeliveryRow = Selectable<EventSchema["webhook_delivery"]>;

export const eventOf = (row: RowOf<typeof EVENT>): GatewayEvent => keptIn(EVENT, row);

export const eventColumns = (event: GatewayEvent, isSpread: boolean): EventRow => ({
  ...rowOf(EVENT, event),
  spread: isSpread ? 1n : 0n,
});

export function deliveryColumns(eventId: string, recipient: Recipient, nowMs: number): DeliveryRow {
  const delivery = {
    ...recipient,
    id: newDeliveryId(nowMs),
    state: "pending",
    attempts: 0,
    createdAtMs: nowMs,
    nextAtMs: nowMs,
    endedAtMs: null,
    lastStatus: null,
    lastError: null,
    history: [],
  } as const;
  return { ...rowOf(DELIVERY, delivery), event_id: eventId, lease: null };
}

function newDeliveryId(nowMs: number): string {
  return `dlv_${Bun.randomUUIDv7("hex", nowMs).replaceAll("-", "")}`;
}

type JoinedRow = DeliveryRow &
  Pick<EventRow, "type" | "at_ms" | "data"> & {
    readonly event_tenant_id: string | null;
    readonly event_project_id: string | null;
  };

function deliveryOf(row: JoinedRow): Delivery {
  const delivery = keptIn(DELIVERY, row);
  const { event_id: id, event_tenant_id: tenantId, event_project_id: projectId } = row;
  return {
    ...delivery,
    event: eventOf({ ...row, id, tenant_id: tenantId, project_id: projectId }),
    nextAtMs: delivery.state === "pending" ? delivery.nextAtMs : null,
  };
}

const DELIVERIES = byNewest("webhook deliveries", "webhook_delivery.created_at_ms", "webhook_delivery.id");

function joined(db: Db) {
  return db
    .selectFrom("webhook_delivery")
    .innerJoin("event", "event.id", "webhook_delivery.event_id")
    .selectAll("webhook_delivery")
    .select([
      "event.type",
      "event.at_ms",
      "event.data",
      "event.tenant_id as event_tenant_id",
      "event.project_id as event_project_id",
    ]);
}

/** The newest first. */
export async function listDeliveries(db: Db, page: PageRequest, filter: DeliveryFilter): Promise<Page<Delivery>> {
  const query = joined(db)
    .where(
      having({
        "webhook_delivery.tenant_id": filter.tenantId,
        "webhook_delivery.project_id": filter.projectId,
        "webhook_delivery.webhook_id": filter.webhookId,
        "webhook_delivery.event_id": filter.eventId,
        "webhook_delivery.state": filter.state,
        "event.type": filter.type,
      }),
    )
    .where(during("webhook_delivery.created_at_ms", filter));
  return await readPage(query, page, DELIVERIES, deliveryOf);
}

export function findDelivery(db: Db, id: string): Promise<Delivery | null> {
  return readFirst(joined(db).where("webhook_delivery.id", "=", id), deliveryOf);
}
