// Prometheus metrics of events and webhooks.
import type { Registry } from "prom-client";
import type { EventFigures } from "../webhooks/event-figures.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** `figures` returns null while no events are stored. */
export function eventGauges(registry: Registry, figures: () => EventFigures | null): void {
  const { gauge, counter } = scrapedMetrics(registry, figures);
  counter(
    "dragoman_events_total",
    "Events at this gateway, by type, with or without webhooks for them.",
    ({ emitted }) => [...emitted].map(([event, count]) => [{ event }, count]),
    ["event"],
  );
  counter(
    "dragoman_events_shed_total",
    "Events lost for lack of space: `memory` before they were stored, `queue` the oldest deliveries of a webhook.",
    ({ shedEvents, shedDeliveries }) => [
      [{ where: "memory" }, shedEvents],
      [{ where: "queue" }, shedDeliveries],
    ],
    ["where"],
  );
  counter(
    "dragoman_webhook_attempts_total",
    "Attempts to deliver an event to a webhook, by outcome.",
    ({ attempts }) => [
      [{ outcome: "delivered" }, attempts.delivered],
      [{ outcome: "failed" }, attempts.failed],
    ],
    ["outcome"],
  );
  counter("dragoman_webhook_dead_letters_total", "Deliveries that this gateway gave up.", ({ dead }) => dead);
  gauge("dragoman_events_held", "Events in memory that are not yet in the database.", ({ held }) => held);
  gauge(
    "dragoman_webhook_queue_deliveries",
    "Waiting deliveries of all gateways on the database.",
    ({ pending }) => pending,
  );
  gauge(
    "dragoman_webhook_queue_age_seconds",
    "How long the oldest delivery has been waiting.",
    ({ oldestPendingMs }) => (oldestPendingMs ?? 0) / 1000,
    [],
    "max",
  );
  gauge(
    "dragoman_webhook_dead_letters",
    "Given-up deliveries that are still kept, of all gateways on the database.",
    ({ deadLetters }) => deadLetters,
  );
}
