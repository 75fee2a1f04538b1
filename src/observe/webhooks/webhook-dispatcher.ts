// Works through the queue of events: creates a delivery for each webhook that subscribes to an event, and attempts
// those that are due. Several gateways do the same on one database; each delivery is claimed by one at a time. A slow
// or unavailable receiver does not delay the deliveries to others.

// Decides (records and configuration): When is a webhook delivery tried again, and given up? By: `outcomeOf`. Also:
// `webhook-schedule.ts` (`waitAfter`). Rule: Up to `max_attempts` (10, which takes some three days), with waits from 5
// s to 24 h, or as long as the receiver asks for; never after 410. Beyond 10,000 that wait for one webhook, the oldest
// are deleted.
import { within } from "../../core/concurrency/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import type { Webhook, WebhookSet } from "../../core/record/event.ts";
import type {
  ClaimedDelivery,
  DeliveryOutcome,
  EventQueue,
  Recipient,
  AddressedEvent,
} from "../../store/events/events.ts";
import { openRepeatedWork } from "../repeated-work.ts";
import type { EventFigures } from "./event-figures.ts";
import { waitAfter } from "./webhook-schedule.ts";
import type { SentWebhook, WebhookSender } from "./webhook-sender.ts";
import { webhookSlots } from "./webhook-slots.ts";

export interface DispatcherOptions {
  readonly queue: EventQueue;
  readonly clock: Clock;
  readonly webhooks: () => WebhookSet;
  /**
   * Called while there are no webhooks: removes earlier events that were never assigned to a webhook, and returns whether
   * events of former webhooks are left.
   */
  readonly removeUnaddressed: (beforeMs: number) => Promise<boolean>;
  readonly send: WebhookSender;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  readonly figures: EventFigures;
  /** Called when the receiver says that it is gone for good (410). Never throws. */
  readonly onGone: (webhook: Webhook) => void;
  /** Called when a delivery is given up. */
  readonly onDead: (webhook: Webhook, claimed: ClaimedDelivery, why: string) => void;
  /** Called at the first failure of the queue, and when it works again. */
  readonly onState: (state: "away" | "back", error: unknown) => void;
  /** How often the queue is checked while there are webhooks; the default is 1,000. */
  readonly pollMs?: number;
}

const POLL_MS = 1000;
/** Without webhooks there are only events to remove and deliveries to give up. */
const IDLE_POLL_MS = 60_000;
const LONGEST_POLL_MS = 30_000;
/** Events that are turned into deliveries in one step, and the number of deliveries after which the step ends. */
const EVENTS_AT_ONCE = 100;
const DELIVERIES_AT_ONCE = 1000;
/** Added to the webhook's own timeout, for the work before and after the request. */
const LEASE_MARGIN_MS = 10_000;
/** How long another gateway may know a webhook that is not known here yet. */
const UNKNOWN_MS = 60_000;
const STATUS_EVERY_MS = 10_000;

const GONE = "given up: the receiver answered 410 Gone";
const NO_RECIPIENT = "given up: the webhook was deleted or disabled";

export function openDispatcher(options: DispatcherOptions) {
  const { queue, clock, webhooks, figures, onState, pollMs = POLL_MS } = options;
  const slots = webhookSlots();
  const deliveries = new Set<Promise<void>>();
  let isClosed = false;
  /** What is still in flight was cut off: its queue is closed as well. */
  let isOver = false;
  let checkedAtMs = Number.NEGATIVE_INFINITY;
  /** The last time at which there was no webhook: a webhook gets no events from before it existed. */
  let unusedAtMs = Number.NEGATIVE_INFINITY;
  let isInUse = false;

  /** Without any webhook, the queue is not even opened. */
  const turn = async (): Promise<boolean> => {
    let isMore = false;
    if (webhooks().size === 0) {
      unusedAtMs = clock.now();
      isInUse = (await options.removeUnaddressed(unusedAtMs - UNKNOWN_MS)) || isInUse;
      if (!isInUse) return false;
    } else {
      isInUse = true;
      isMore = await fanOutSome(options, unusedAtMs);
    }
    for (const { webhookId, sinceMs } of slots.inTurn(await queue.due(clock.now()))) await begin(webhookId, sinceMs);
    if (clock.monotonic() - checkedAtMs >= STATUS_EVERY_MS) {
      await check(options);
      checkedAtMs = clock.monotonic();
      slots.forget((id) => webhooks().find(id) !== null);
    }
    return isMore;
  };
  const turns = openRepeatedWork({
    turn,
    restMs: () => (webhooks().size > 0 ? pollMs : IDLE_POLL_MS),
    awayMs: pollMs,
    longestAwayMs: LONGEST_POLL_MS,
    onState,
  });
  const begin = async (webhookId: string, sinceMs: number): Promise<void> => {
    const webhook = webhooks().find(webhookId);
    const nowMs = clock.now();
    if (webhook?.isEnabled !== true) {
      if (nowMs - sinceMs >= UNKNOWN_MS) figures.dead += await queue.abandon(webhookId, NO_RECIPIENT, nowMs);
      return;
    }
    const free = slots.free(webhook);
    if (free === 0 || isClosed) return;
    for (const claimed of await queue.claim(webhookId, free, nowMs, webhook.timeoutMs + LEASE_MARGIN_MS)) {
      const end = slots.take(webhook);
      const run = async (): Promise<void> => {
        end(
          await deliver(options, webhook, claimed, (error) => {
            if (!isOver) turns.away(error);
          }),
        );
        deliveries.delete(delivery);
        // Further deliveries may wait for this slot.
        turns.wake();
      };
      const delivery = run();
      deliveries.add(delivery);
    }
  };

  turns.wake();
  return {
    /** Checks the queue at once, because something may be new. */
    wake: turns.wake,
    /** Whether there are webhooks, or there were some. */
    isInUse: () => isInUse,
    /**
     * Begins nothing more, and waits at most `timeoutMs` for deliveries in flight; those that are cut off are attempted
     * again when their lease ends.
     */
    async close(timeoutMs: number): Promise<void> {
      isClosed = true;
      // the turn under way may still begin deliveries
      await within(
        turns.close().then(() => Promise.all(deliveries)),
        timeoutMs,
      );
      isOver = true;
    },
  };
}

async function check({ queue, clock, figures }: DispatcherOptions): Promise<void> {
  const { pending, dead, oldestPendingMs } = await queue.status();
  figures.pending = pending;
  figures.deadLetters = dead;
  figures.oldestPendingMs = oldestPendingMs === null ? null : Math.max(0, clock.now() - oldestPendingMs);
}

/**
 * Creates deliveries for the recipients of waiting events. Returns whether there may be more: it ends after a bounded
 * number, so that due deliveries do not wait for all of many events.
 */
async function fanOutSome({ queue, clock, webhooks, figures }: DispatcherOptions, afterMs: number): Promise<boolean> {
  const events = await queue.awaitingFanOut(EVENTS_AT_ONCE);
  const known = webhooks();
  const addressed: AddressedEvent[] = [];
  let deliveries = 0;
  for (const event of events) {
    if (deliveries >= DELIVERIES_AT_ONCE) break;
    const recipients = event.atMs <= afterMs ? [] : known.recipients(event).map(recipientOf);
    addressed.push({ event, recipients });
    deliveries += recipients.length;
  }
  if (addressed.length > 0) figures.shedDeliveries += (await queue.fanOut(addressed, clock.now())).shed;
  return addressed.length < events.length || events.length === EVENTS_AT_ONCE;
}

export function recipientOf({ id, name, tenantId, projectId }: Webhook): Recipient {
  return { webhookId: id, webhookName: name, tenantId, projectId };
}

/**
 * Returns whether the receiver accepted the delivery. Never rejects: a delivery whose outcome cannot be stored is
 * attempted again when its lease ends.
 */
async function deliver(
  options: DispatcherOptions,
  webhook: Webhook,
  claimed: ClaimedDelivery,
  away: (error: unknown) => void,
): Promise<boolean> {
  const { queue, clock, figures } = options;
  let isDelivered = false;
  try {
    const sent = await options.send(webhook, claimed.event);
    isDelivered = sent.attempt.error === null;
    const outcome = outcomeOf(webhook, claimed, sent, clock.now(), options.random());
    const isOurs = await queue.settle(claimed, outcome);
    figures.attempts[outcome.state === "delivered" ? "delivered" : "failed"] += 1;
    if (!isOurs || outcome.state !== "dead") return isDelivered;
    figures.dead += 1;
    options.onDead(webhook, claimed, outcome.attempt.error ?? "");
    // The webhook may have another address by now, which did not answer 410.
    if (sent.attempt.status !== 410 || options.webhooks().find(webhook.id)?.url !== webhook.url) return isDelivered;
    options.onGone(webhook);
    figures.dead += await queue.abandon(webhook.id, GONE, clock.now());
  } catch (error) {
    away(error);
  }
  return isDelivered;
}

function outcomeOf(
  { maxAttempts }: Webhook,
  { attempts }: ClaimedDelivery,
  { attempt, askedMs }: SentWebhook,
  nowMs: number,
  random: number,
): DeliveryOutcome {
  if (attempt.error === null) return { state: "delivered", nextAtMs: nowMs, attempt };
  if (attempt.status === 410 || attempts >= maxAttempts) return { state: "dead", nextAtMs: nowMs, attempt };
  return { state: "pending", nextAtMs: nowMs + waitAfter(attempts, random, askedMs), attempt };
}
