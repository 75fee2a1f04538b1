// Counts of events and their deliveries in this process.
import type { EventType } from "../../core/record/event.ts";

export type EventFigures = ReturnType<typeof newEventFigures>;

/**
 * The counts grow while the process lives; the gauges show the last reading of the queue, which all processes share.
 */
export function newEventFigures() {
  return {
    emitted: new Map<EventType, number>(),
    /** Events for which there was no room in memory, and deliveries that were dropped for newer ones. */
    shedEvents: 0,
    shedDeliveries: 0,
    attempts: { delivered: 0, failed: 0 },
    /** Deliveries that were given up. */
    dead: 0,
    /** Events in memory that are not in the database yet. */
    held: 0,
    pending: 0,
    deadLetters: 0,
    oldestPendingMs: null as number | null,
  };
}
