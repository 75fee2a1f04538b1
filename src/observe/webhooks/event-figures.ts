// Counts of events and their deliveries in this process, and their Prometheus metrics.
import { Counter, Gauge, type Registry } from "prom-client";
import type { EventType } from "../../core/event.ts";

/**
 * The counts grow while the process lives; the gauges show the last reading of the queue, which all processes share.
 */
export interface EventFigures {
  readonly emitted: Map<EventType, number>;
  /** Events for which there was no room in memory, and deliveries that were dropped for newer ones. */
  shedEvents: number;
  shedDeliveries: number;
  readonly attempts: { delivered: number; failed: number };
  /** Deliveries that were given up. */
  dead: number;
  /** Events in memory that are not in the database yet. */
  held: number;
  pending: number;
  deadLetters: number;
  oldestPendingMs: number | null;
}

export function newEventFigures(): EventFigures {
  return {
    emitted: new Map(),
    shedEvents: 0,
    shedDeliveries: 0,
    attempts: { delivered: 0, failed: 0 },
    dead: 0,
    held: 0,
    pending: 0,
    deadLetters: 0,
    oldestPendingMs: null,
  };
}

/** `figures` returns null while no events are stored. */
export function eventGauges(registry: Registry, figures: () => EventFigures | null): void {
  const registers = [registry];
  const gauge = (name: string, help: string, of: (now: EventFigures) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const now = figures();
        this.set(now === null ? 0 : of(now));
      },
    });
  };
  const counter = (
    name: string,
    help: string,
    labelNames: readonly string[],
    of: (now: EventFigures) => readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[],
  ): void => {
    new Counter({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        const now = figures();
        if (now !== null) for (const [labels, value] of of(now)) this.inc(labels, value);
      },
    });
  };
  counter(
    "dragoman_events_total",
    "Events at this gateway, by type, with or without webhooks for them.",
    ["event"],
    ({ emitted }) => [...emitted].map(([event, count]) => [{ event }, count] as const),
  );
  counter(
    "dragoman_events_shed_total",
    "Events lost for lack of space: `memory` before they were stored, `queue` the oldest deliveries of a webhook.",
    ["where"],
    ({ shedEvents, shedDeliveries }) => [
      [{ where: "memory" }, shedEvents],
      [{ where: "queue" }, shedDeliveries],
    ],
  );
  counter(
    "dragoman_webhook_attempts_total",
    "Attempts to deliver an event to a webhook, by outcome.",
    ["outcome"],
    ({ attempts }) => [
      [{ outcome: "delivered" }, attempts.delivered],
      [{ outcome: "failed" }, attempts.failed],
    ],
  );
  counter("dragoman_webhook_dead_letters_total", "Deliveries that this gateway gave up.", [], ({ dead }) => [
    [{}, dead],
  ]);
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
  );
  gauge(
    "dragoman_webhook_dead_letters",
    "Given-up deliveries that are still kept, of all gateways on the database.",
    ({ deadLetters }) => deadLetters,
  );
}
