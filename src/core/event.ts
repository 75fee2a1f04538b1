// Something that happened which people want to be told of (webhooks), apart from the record that every call makes; and who is to be told.
import type { JsonObject } from "./json.ts";

/** What happens by itself. */
export const EVENT_TYPES = [
  "budget.threshold_reached",
  "call.refused",
  "target.breaker_opened",
  "target.breaker_closed",
  "token.created",
  "token.rotated",
  "token.revoked",
  "token.expiring",
  "token.expired",
] as const;
/** What somebody asks for, in order to see whether it arrives: it goes to one webhook, whatever that listens to. */
export const TEST_EVENT = "webhook.test";
export type EventType = (typeof EVENT_TYPES)[number] | typeof TEST_EVENT;

export interface GatewayEvent {
  /** `evt_` and 32 hex digits: the same at each delivery. */
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

export interface NewEvent extends Omit<GatewayEvent, "id" | "atMs"> {
  /** What several processes may see happen, and is to be told once: the id is made of it. Left out: it is told as often as it is seen. */
  readonly onceKey?: string;
}

/** Told at once; never throws and never waits. */
export interface Events {
  emit(event: NewEvent): void;
}

export const NO_EVENTS: Events = { emit: () => {} };

/** Whom events are sent to. */
export interface Webhook {
  /** As the admin API has it; of one in the file the place where it stands. */
  readonly id: string;
  readonly name: string | null;
  /** Null: it hears of all tenants, and of the gateway itself. */
  readonly tenantId: string | null;
  /** Null: it hears of the whole tenant. */
  readonly projectId: string | null;
  readonly origin: "file" | "store";
  readonly url: string;
  readonly isEnabled: boolean;
  hears(type: EventType): boolean;
  /** `whsec_` and base64. */
  readonly secret: string;
  /** Signs as well until then. */
  readonly previous: { readonly secret: string; readonly untilMs: number } | null;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/** All that are configured. */
export interface WebhookSet {
  readonly size: number;
  /** Those that are switched on and hear of such an event of that place. */
  recipients(event: Pick<GatewayEvent, "type" | "tenantId" | "projectId">): readonly Webhook[];
  find(id: string): Webhook | null;
}

export const NO_WEBHOOKS: WebhookSet = { size: 0, recipients: () => [], find: () => null };
