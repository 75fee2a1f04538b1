// Something that happened which people want to be told of (webhooks), apart from the record that every call makes.
import type { JsonObject } from "./json.ts";

export const EVENT_TYPES = [
  "budget.threshold_reached", "call.refused", "target.breaker_opened", "target.breaker_closed",
  "token.created", "token.rotated", "token.revoked", "token.expiring", "token.expired",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

export interface GatewayEvent {
  /** `evt_` and random characters: the same at each delivery. */
  readonly id: string;
  readonly type: EventType;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** Null: of the gateway itself. */
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** snake_case, as it is sent. Never a secret, never text of a prompt or an answer. */
  readonly data: JsonObject;
}

/** Told at once; never throws and never waits. */
export interface Events {
  emit(event: Omit<GatewayEvent, "id" | "atMs">): void;
}

export const NO_EVENTS: Events = { emit: () => {} };
