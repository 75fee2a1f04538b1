// The tables of events and of their deliveries to webhooks as Kysely sees them, and their migration. Written for SQLite
// and PostgreSQL alike.
import type { Kysely } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import type { EventType } from "../../core/record/event.ts";
import { integer, integerOrNull, json, oneOf, type RowOf, text, textOrNull, word } from "../columns.ts";
import { type DeliveryAttempt, DELIVERY_STATES } from "./events.ts";

/** What the table keeps of GatewayEvent. */
export const EVENT = {
  /** Derived from what happened where several processes may see it, so that the second process writes nothing. */
  id: text,
  type: word<EventType>(),
  at_ms: integer,
  tenant_id: textOrNull,
  project_id: textOrNull,
  data: json<JsonObject>(),
};

/** What the table keeps of Delivery. */
export const DELIVERY = {
  id: text,
  webhook_id: text,
  webhook_name: textOrNull,
  /** The place of the webhook. */
  tenant_id: textOrNull,
  project_id: textOrNull,
  state: oneOf(DELIVERY_STATES, "dead"),
  /** Since the delivery was last put into the queue. */
  attempts: integer,
  created_at_ms: integer,
  /** When the next attempt is due, or when the lease ends. */
  next_at_ms: integer,
  ended_at_ms: integerOrNull,
  last_status: integerOrNull,
  last_error: textOrNull,
  /** The latest attempts. */
  history: json<readonly DeliveryAttempt[]>(),
};

export interface EventSchema {
  readonly event: RowOf<typeof EVENT> & {
    /** 1 when each webhook that subscribes to the event has its delivery. */
    readonly spread: bigint;
  };
  readonly webhook_delivery: RowOf<typeof DELIVERY> & {
    readonly event_id: string;
    /** Held by the process that makes the current attempt. */
    readonly lease: string | null;
  };
}

export async function createEvents(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable("event")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("type", "text", (column) => column.notNull())
    .addColumn("at_ms", "bigint", (column) => column.notNull())
    .addColumn("tenant_id", "text")
    .addColumn("project_id", "text")
    .addColumn("data", "text", (column) => column.notNull())
    .addColumn("spread", "bigint", (column) => column.notNull())
    .execute();
  await db.schema.createIndex("event_by_time").on("event").columns(["spread", "at_ms"]).execute();
  await db.schema
    .createTable("webhook_delivery")
    .addColumn("id", "text", (column) => column.primaryKey())
    .addColumn("event_id", "text", (column) => column.notNull().references("event.id").onDelete("cascade"))
    .addColumn("webhook_id", "text", (column) => column.notNull())
    .addColumn("webhook_name", "text")
    .addColumn("tenant_id", "text")
    .addColumn("project_id", "text")
    .addColumn("state", "text", (column) => column.notNull())
    .addColumn("attempts", "bigint", (column) => column.notNull())
    .addColumn("created_at_ms", "bigint", (column) => column.notNull())
    .addColumn("next_at_ms", "bigint", (column) => column.notNull())
    .addColumn("ended_at_ms", "bigint")
    .addColumn("lease", "text")
    .addColumn("last_status", "bigint")
    .addColumn("last_error", "text")
    .addColumn("history", "text", (column) => column.notNull())
    .addUniqueConstraint("webhook_delivery_once", ["event_id", "webhook_id"])
    .execute();
  await db.schema
    .createIndex("webhook_delivery_due")
    .on("webhook_delivery")
    .columns(["state", "webhook_id", "next_at_ms"])
    .execute();
  await db.schema
    .createIndex("webhook_delivery_by_time")
    .on("webhook_delivery")
    .columns(["created_at_ms", "id"])
    .execute();
  await db.schema
    .createIndex("webhook_delivery_of_tenant")
    .on("webhook_delivery")
    .columns(["tenant_id", "created_at_ms", "id"])
    .execute();
}
