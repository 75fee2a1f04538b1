// The port to the queue of events: what happened, and what of it is still to be told to webhooks. Several processes work on one queue; each delivery is in one
// process's hands at a time. Drivers: sqlite-events.ts, postgres-events.ts. Both pass test/contract/event-queue.suite.ts.
import type { GatewayEvent } from "../core/event.ts";

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
  /** Null: no answer came. */
  readonly status: number | null;
  /** Null: it was taken. */
  readonly error: string | null;
  /** The begin of the receiver's answer. */
  readonly answer: string | null;
}

export interface Delivery extends Recipient {
  readonly id: string;
  readonly event: GatewayEvent;
  readonly state: DeliveryState;
  /** Since it was last put into the queue. */
  readonly attempts: number;
  readonly createdAtMs: number;
  /** Null: it has ended. */
  readonly nextAtMs: number | null;
  readonly endedAtMs: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
  /** The last ones, the oldest first. */
  readonly history: readonly DeliveryAttempt[];
}

/** Everything that is left out lets all pass. */
export interface DeliveryFilter {
  /** Where the webhook is. */
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

/** One that nobody else tries until its lease ends. */
export interface ClaimedDelivery {
  readonly id: string;
  readonly lease: string;
  readonly event: GatewayEvent;
  /** This one included. */
  readonly attempts: number;
  readonly history: readonly DeliveryAttempt[];
}

/** What became of an attempt. `nextAtMs`: it is tried again then. */
export interface DeliveryOutcome {
  readonly state: DeliveryState;
  readonly nextAtMs: number;
  readonly attempt: DeliveryAttempt;
}

export interface Spread {
  readonly event: GatewayEvent;
  readonly recipients: readonly Recipient[];
}

/** Deliveries of one webhook that wait at most; the oldest make room. */
export const MOST_WAITING = 10_000;
export const MOST_ATTEMPTS_KEPT = 20;

/** Every method throws StoreError. None of them delays calls: they run beside the process's own thread, or in the database. */
export interface EventQueue {
  /** Gives how many were new: one whose id is known is left out. */
  append(events: readonly GatewayEvent[]): Promise<number>;
  /** Events that have no deliveries yet, the oldest first. */
  unspread(most: number): Promise<readonly GatewayEvent[]>;
  /** Makes the deliveries of events, of each once, whoever else does the same. Gives how many waiting ones had to make room for them. */
  spread(spreads: readonly Spread[], nowMs: number): Promise<{ readonly deliveries: number; readonly shed: number }>;
  /** Webhooks that have a delivery to try now, and since when the longest waits. */
  due(nowMs: number): Promise<readonly { readonly webhookId: string; readonly sinceMs: number }[]>;
  claim(webhookId: string, most: number, nowMs: number, leaseMs: number): Promise<readonly ClaimedDelivery[]>;
  /** False: the lease had ended, and somebody else has it. */
  settle(claimed: ClaimedDelivery, outcome: DeliveryOutcome): Promise<boolean>;
  /** Gives up all that waits for a webhook. Gives how many those were. */
  abandon(webhookId: string, why: string, nowMs: number): Promise<number>;
  standing(): Promise<{ readonly pending: number; readonly dead: number; readonly oldestPendingMs: number | null }>;
  /** Removes events that happened before, with their deliveries, where none waits; at most some thousand. Gives how many. */
  prune(beforeMs: number): Promise<number>;
  close(): Promise<void>;
}
