// The tables of events and of their deliveries to webhooks as Kysely sees them, and their migration. Written for SQLite
// and PostgreSQL alike.
import type { Kysely } from "kysely";
import type { JsonObject } from "../../core/json.ts";
import type { EventType } from "../../core/record/event.ts";
import { integer, integerOrNull, json, oneOf, type RowOf, text, textOrNull, word } from "../database/columns.ts";
import { runStatements } from "../database/run-statements.ts";
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

export const createEvents = (db: Kysely<unknown>): Promise<void> =>
  runStatements(
    db,
    `create table event (
      id text primary key, type text not null, at_ms bigint not null, tenant_id text, project_id text,
      data text not null, spread bigint not null
    )`,
    "create index event_by_time on event (spread, at_ms)",
    `create table webhook_delivery (
      id text primary key, event_id text not null references event (id) on delete cascade,
      webhook_id text not null, webhook_name text, tenant_id text, project_id text,
      state text not null, attempts bigint not null,
      created_at_ms bigint not null, next_at_ms bigint not null, ended_at_ms bigint,
      lease text, last_status bigint, last_error text, history text not null,
      constraint webhook_delivery_once unique (event_id, webhook_id)
    )`,
    "create index webhook_delivery_due on webhook_delivery (state, webhook_id, next_at_ms)",
    "create index webhook_delivery_by_time on webhook_delivery (created_at_ms, id)",
    "create index webhook_delivery_of_tenant on webhook_delivery (tenant_id, created_at_ms, id)",
  );
