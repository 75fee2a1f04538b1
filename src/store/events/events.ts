// The port to the event queue: what happened, and which deliveries to webhooks are still due. Several processes share
// one queue; one process at a time handles a delivery. The drivers sqlite-events.ts and postgres-events.ts both pass
// test/contract/store/event-queue.suite.ts.
import type { GatewayEvent } from "../../core/record/event.ts";

export const DELIVERY_STATES = ["pending", "delivered", "dead"] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A webhook as a delivery names it. */
export interface Recipient {
  readonly webhookId: string;
  readonly webhookName: string | null;
  readonly tenantId: string | null;
  readonly projectId: string | null;
}

export interface DeliveryAttempt {
  readonly atMs: number;
  readonly durationMs: number;
  /** `null` when no response arrived. */
  readonly status: number | null;
  /** `null` when the receiver accepted the delivery. */
  readonly error: string | null;
  /** The beginning of the receiver's response. */
  readonly answer: string | null;
}

export interface Delivery extends Recipient {
  readonly id: string;
  readonly event: GatewayEvent;
  readonly state: DeliveryState;
  /** Since the delivery was last put into the queue. */
  readonly attempts: number;
  readonly createdAtMs: number;
  /** `null` when the delivery has ended. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  /** The latest attempts, the oldest first. */
  readonly history: readonly DeliveryAttempt[];
}

/** Members that are left out do not restrict the result. */
export interface DeliveryFilter {
  /** The place of the webhook. */
  readonly tenantId?: string;
  readonly projectId?: string;
  readonly webhookId?: string;
  readonly eventId?: string;
  readonly type?: string;
  readonly state?: DeliveryState;
  /** Inclusive. */
  readonly fromMs?: number;
  /** Exclusive. */
  readonly toMs?: number;
}

/** A delivery that no other process attempts until its lease ends. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly lease: string;
  readonly event: GatewayEvent;
  /** Including the current one. */
  readonly attempts: number;
  readonly history: readonly DeliveryAttempt[];
}

/** The result of an attempt. `nextAtMs` is the time of the next attempt. */
export interface DeliveryOutcome {
  readonly state: DeliveryState;
  readonly nextAtMs: number;
  readonly attempt: DeliveryAttempt;
}

export interface AddressedEvent {
  readonly event: GatewayEvent;
  readonly recipients: readonly Recipient[];
}

/** The most deliveries of one webhook that may wait; beyond it the oldest are removed. */
export const MOST_WAITING = 10_000;
export const MOST_ATTEMPTS_KEPT = 20;

/** Every method throws StoreError. None of them delays calls: they run outside the main thread, or in the database. */
export interface EventQueue {
  /** Returns how many were new; an event with a known id is skipped. */
  append(events: readonly GatewayEvent[]): Promise<number>;
  /** Events that have no deliveries yet, the oldest first. */
  awaitingFanOut(most: number): Promise<readonly GatewayEvent[]>;
  /**
   * Makes the deliveries of events, each once, even if other processes do the same. Also returns how many waiting
   * deliveries were removed to make room.
   */
  fanOut(
    addressed: readonly AddressedEvent[],
    nowMs: number,
  ): Promise<{ readonly deliveries: number; readonly shed: number }>;
  /** Webhooks with a delivery that is due now, and since when the oldest has waited. */
  due(nowMs: number): Promise<readonly { readonly webhookId: string; readonly sinceMs: number }[]>;
  claim(webhookId: string, most: number, nowMs: number, leaseMs: number): Promise<readonly ClaimedDelivery[]>;
  /** Returns false when the lease had ended and another process has taken the delivery. */
  settle(claimed: ClaimedDelivery, outcome: DeliveryOutcome): Promise<boolean>;
  /** Gives up all waiting deliveries of a webhook. Returns how many there were. */
  abandon(webhookId: string, why: string, nowMs: number): Promise<number>;
  status(): Promise<{ readonly pending: number; readonly dead: number; readonly oldestPendingMs: number | null }>;
  /**
   * Removes events before this time with their deliveries, except those with a waiting delivery; at most some thousand.
   * Returns how many.
   */
  prune(beforeMs: number): Promise<number>;
  close(): Promise<void>;
}
