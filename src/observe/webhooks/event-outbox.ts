// Accepts events in memory and writes them to the database from there, so that emitting an event never waits. Events
// that the database does not accept are kept and retried within a bound; beyond it the oldest event is dropped and
// counted.
import type { Clock } from "../../core/clock.ts";
import type { GatewayEvent, NewEvent, WebhookSet } from "../../core/record/event.ts";
import { eventIdOf, newEventId } from "../../core/record/event-id.ts";
import type { EventQueue } from "../../store/events/events.ts";
import { openRepeatedWork } from "../repeated-work.ts";
import type { EventFigures } from "./event-figures.ts";

export interface OutboxOptions {
  readonly queue: Pick<EventQueue, "append">;
  readonly clock: Pick<Clock, "now">;
  readonly webhooks: () => WebhookSet;
  readonly figures: EventFigures;
  /** Called when something new is in the queue. */
  readonly onWritten: () => void;
  /** Called at the first failure of the database, and when it works again. */
  readonly onState: (state: "away" | "back", error: unknown) => void;
  readonly mostHeld?: number;
}

const MOST_HELD = 10_000;
const BATCH = 200;
/** Events of the same moment are written in one statement. */
const GATHER_MS = 20;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

export function openEventOutbox({
  queue,
  clock,
  webhooks,
  figures,
  onWritten,
  onState,
  mostHeld = MOST_HELD,
}: OutboxOptions) {
  const held: GatewayEvent[] = [];
  const writes = openRepeatedWork({
    turn: async () => {
      const batch = held.slice(0, BATCH);
      if (batch.length === 0) return false;
      await queue.append(batch);
      const written = new Set(batch);
      const unwritten = held.filter((event) => !written.has(event));
      held.splice(0, held.length, ...unwritten);
      figures.held = held.length;
      onWritten();
      return held.length > 0;
    },
    awayMs: FIRST_WAIT_MS,
    longestAwayMs: LONGEST_WAIT_MS,
    onState,
  });

  return {
    emit({ onceKey, ...event }: NewEvent): void {
      figures.emitted.set(event.type, (figures.emitted.get(event.type) ?? 0) + 1);
      if (webhooks().recipients(event).length === 0) return;
      if (held.length >= mostHeld) {
        held.shift();
        figures.shedEvents += 1;
      }
      held.push({ ...event, id: onceKey === undefined ? newEventId() : eventIdOf(onceKey), atMs: clock.now() });
      figures.held = held.length;
      writes.wakeIn(GATHER_MS);
    },
    /** Tries to write the held events, and gives up after `timeoutMs`. */
    async close(timeoutMs: number): Promise<void> {
      await writes.finish(timeoutMs);
      figures.shedEvents += held.length;
      held.length = 0;
    },
  };
}
