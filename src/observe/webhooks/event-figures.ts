// Counts of events and their deliveries in this process.
import type { EventType } from "../../core/record/event.ts";

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
