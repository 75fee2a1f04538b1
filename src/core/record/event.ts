// Events that operators are notified of by webhooks, apart from the record that every call makes, and the webhooks that
// receive them.

// Decides (records and configuration): Which events are there, and who is notified? By: `EVENT_TYPES`. Also:
// `observe/webhooks/open-events.ts`. Rule: The webhooks of the gateway, and those of the tenant and the project that
// the event is about, as far as they subscribe to its type.
import type { JsonObject } from "../json.ts";

/** The types of events that the gateway emits by itself. */
export const EVENT_TYPES = [
  "audit.head",
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
/**
 * The type of an event that a user requests in order to test delivery. It goes to one webhook, whatever that webhook
 * subscribes to.
 */
export const TEST_EVENT = "webhook.test";
export type EventType = (typeof EVENT_TYPES)[number] | typeof TEST_EVENT;

export interface GatewayEvent {
  /** `evt_` and 32 hex digits; the same at each delivery. */
  readonly id: string;
  readonly type: EventType;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** `null` for an event of the gateway itself. */
  readonly tenantId: string | null;
  readonly projectId: string | null;
  /** The members are in snake_case, as they are sent. They never contain a secret or text of a prompt or an answer. */
  readonly data: JsonObject;
}

export interface NewEvent extends Omit<GatewayEvent, "id" | "atMs"> {
  /**
   * The id is derived from this key, so that an event that several processes see is reported once. When it is absent,
   * each process reports the event.
   */
  readonly onceKey?: string;
}

/** Reports events. `emit` never throws and never waits. */
export interface Events {
  emit(event: NewEvent): void;
}

export const NO_EVENTS: Events = { emit: () => {} };

/** A configured destination of events. */
export interface Webhook {
  /** The id in the admin API; for a webhook of the file, its path there. */
  readonly id: string;
  readonly name: string | null;
  /** `null` when the webhook receives events of all tenants and of the gateway itself. */
  readonly tenantId: string | null;
  /** `null` when the webhook receives events of the whole tenant. */
  readonly projectId: string | null;
  readonly origin: "file" | "store";
  readonly url: string;
  readonly isEnabled: boolean;
  subscribesTo(type: EventType): boolean;
  /** `whsec_` and base64. */
  readonly secret: string;
  /** The previous secret, which also signs deliveries until `untilMs`. */
  readonly previous: { readonly secret: string; readonly untilMs: number } | null;
  readonly timeoutMs: number;
  readonly maxAttempts: number;
}

/** All configured webhooks. */
export interface WebhookSet {
  readonly size: number;
  /** The enabled webhooks that subscribe to this type of event for its tenant and project. */
  recipients(event: Pick<GatewayEvent, "type" | "tenantId" | "projectId">): readonly Webhook[];
  find(id: string): Webhook | null;
}

export const NO_WEBHOOKS: WebhookSet = { size: 0, recipients: () => [], find: () => null };
