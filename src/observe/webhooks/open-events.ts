// Opens everything about events and webhooks: the outbox, the sources of events, the queue, and the dispatcher that
// delivers.
import type { Clock } from "../../core/clock.ts";
import type { Events, Webhook, WebhookSet } from "../../core/record/event.ts";
import type { Snapshot } from "../../core/snapshot.ts";
import { messageOf } from "../../core/thrown.ts";
import type { EventQueue } from "../../store/events/events.ts";
import { DAY_MS, everyHour, pruneInRounds } from "../../store/database/pruning.ts";
import { LOCAL_ACTOR } from "../../store/records.ts";
import type { Store } from "../../store/store.ts";
import type { UpstreamClient } from "../../wire/upstream.ts";
import { auditHeads } from "./audit-heads.ts";
import { type EventFigures, newEventFigures } from "./event-figures.ts";
import { openEventOutbox } from "./event-outbox.ts";
import type { Log } from "../log.ts";
import type { Observer } from "../observer.ts";
import { type RefusedCalls, refusalEvents } from "./refusal-events.ts";
import { watchTokenExpiry } from "./token-expiry.ts";
import { openDispatcher } from "./webhook-dispatcher.ts";
import { webhookSender } from "./webhook-sender.ts";

export interface OpenEvents extends Events {
  readonly figures: EventFigures;
  /** Emits events for calls that were refused. */
  readonly observer: Observer;
  /** Takes over calls that were refused in another process. */
  refused(refused: RefusedCalls): void;
  /** Called when the configuration or the store has changed. */
  wake(): void;
  close(timeoutMs: number): Promise<void>;
}

export interface EventsOptions {
  readonly queue: EventQueue;
  readonly store: Pick<Store, "change" | "removeUnaddressedEvents" | "auditChains" | "auditHead">;
  readonly clock: Clock;
  readonly upstream: UpstreamClient;
  readonly snapshot: () => Snapshot;
  readonly random: () => number;
  readonly log: Pick<Log, "info" | "warn">;
}

/** Longer than a repeated event may occur: the expiry of a token is reported for a week. */
const KEPT_DAYS = 30;

export function openEvents(options: EventsOptions): OpenEvents {
  const { queue, store, clock, upstream, snapshot, random, log } = options;
  const figures = newEventFigures();
  const gone = goneReceivers(options);
  const webhooks = (): WebhookSet => gone.without(snapshot().webhooks);
  const onState =
    (source: string) =>
    (state: "away" | "back", error: unknown): void => {
      if (state === "back") log.info({ source }, "the event queue can be reached again");
      else
        log.warn(
          { source, error_detail: messageOf(error) },
          "the event queue cannot be reached: events wait in memory and are delivered later",
        );
    };
  const dispatcher = openDispatcher({
    queue,
    clock,
    webhooks,
    random,
    figures,
    removeUnaddressed: (beforeMs) => store.removeUnaddressedEvents(beforeMs),
    send: webhookSender({ upstream, clock, allowPrivateAddresses: () => snapshot().allowPrivateAddresses }),
    onGone: gone.add,
    onDead: ({ id, name, tenantId }, { id: delivery, event, attempts }, why) =>
      log.warn(
        {
          event: "webhook_dead_letter",
          webhook: name,
          webhook_id: id,
          tenant: tenantId,
          delivery,
          type: event.type,
          attempts,
          why,
        },
        "a delivery to a webhook was given up",
      ),
    onState: onState("webhooks"),
  });
  const outbox = openEventOutbox({
    queue,
    clock,
    webhooks,
    figures,
    onWritten: () => dispatcher.wake(),
    onState: onState("events"),
  });
  const refusals = refusalEvents(outbox, clock);
  const expiry = watchTokenExpiry(outbox, snapshot, clock);
  expiry.check();
  const heads = auditHeads(outbox, store, webhooks);
  const endHeads = everyHour(
    () => heads.report(),
    (message) => log.warn({ error_detail: message }, "the heads of the audit log could not be read"),
  );
  const endPruning = everyHour(
    async (isEnding) =>
      dispatcher.isInUse() && pruneInRounds(() => queue.prune(clock.now() - KEPT_DAYS * DAY_MS), isEnding),
    (message) => log.warn({ error_detail: message }, "old events could not be deleted"),
  );
  return {
    figures,
    observer: refusals,
    refused: (refused) => refusals.add(refused),
    emit: (event) => outbox.emit(event),
    wake() {
      expiry.check();
      dispatcher.wake();
    },
    async close(timeoutMs) {
      expiry.close();
      refusals.close();
      await outbox.close(timeoutMs / 2);
      await dispatcher.close(timeoutMs / 2);
      await endHeads();
      await endPruning();
      await queue.close();
    },
  };
}

/**
 * Receivers that answered 410. A stored webhook is switched off; one of the file gets no deliveries until its address
 * changes or this process ends.
 */
function goneReceivers({ store, log }: EventsOptions) {
  const gone = new Set<string>();
  const isGone = ({ id, url }: Webhook): boolean => gone.has(`${id} ${url}`);
  return {
    add: ({ id, name, tenantId, origin, url }: Webhook): void => {
      log.warn(
        { event: "webhook_gone", webhook: name, webhook_id: id, tenant: tenantId },
        "a webhook was disabled: its receiver answered 410 Gone",
      );
      if (origin === "file") gone.add(`${id} ${url}`);
      else
        store
          .change(LOCAL_ACTOR, (writer) =>
            writer.changeResource("webhook", id, ({ name: kept, document }) => ({
              name: kept,
              document: { ...document, enabled: false },
            })),
          )
          .catch((error: unknown) =>
            log.warn(
              { webhook_id: id, error_detail: messageOf(error) },
              "a webhook whose receiver is gone could not be disabled",
            ),
          );
    },
    without(set: WebhookSet): WebhookSet {
      if (gone.size === 0) return set;
      return {
        size: set.size,
        recipients: (event) => set.recipients(event).filter((one) => !isGone(one)),
        find(id) {
          const found = set.find(id);
          return found !== null && isGone(found) ? { ...found, isEnabled: false } : found;
        },
      };
    },
  };
}
