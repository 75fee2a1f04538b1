// Accepts events in memory and writes them to the database from there, so that emitting an event never waits. Events
// that the database does not accept are kept and retried within a bound; beyond it the oldest event is dropped and
// counted.
import { within } from "../../core/concurrency/timeout.ts";
import type { Clock } from "../../core/clock.ts";
import type { Events, GatewayEvent, NewEvent, WebhookSet } from "../../core/record/event.ts";
import { eventIdOf, newEventId } from "../../core/record/event-id.ts";
import type { EventQueue } from "../../store/events/events.ts";
import type { EventFigures } from "./event-figures.ts";

export interface EventOutbox extends Events {
  /** Tries to write the held events, and gives up after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>;
}

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
}: OutboxOptions): EventOutbox {
  const held: GatewayEvent[] = [];
  let waitMs = 0;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let writing: Promise<void> | null = null;

  const later = (ms: number): void => {
    timer ??= setTimeout(begin, ms);
  };
  const begin = (): void => {
    timer = null;
    writing ??= write().finally(() => {
      writing = null;
      figures.held = held.length;
      if (held.length > 0) later(waitMs);
    });
  };
  const write = async (): Promise<void> => {
    const batch = held.slice(0, BATCH);
    if (batch.length === 0) return;
    try {
      await queue.append(batch);
      const written = new Set(batch);
      const unwritten = held.filter((event) => !written.has(event));
      held.splice(0, held.length, ...unwritten);
      if (waitMs > 0) onState("back", null);
      waitMs = 0;
      onWritten();
    } catch (error) {
      if (waitMs === 0) onState("away", error);
      waitMs = Math.min(Math.max(waitMs * 2, FIRST_WAIT_MS), LONGEST_WAIT_MS);
    }
  };

  return {
    emit({ onceKey, ...event }: NewEvent) {
      figures.emitted.set(event.type, (figures.emitted.get(event.type) ?? 0) + 1);
      if (webhooks().recipients(event).length === 0) return;
      if (held.length >= mostHeld) {
        held.shift();
        figures.shedEvents += 1;
      }
      held.push({ ...event, id: onceKey === undefined ? newEventId() : eventIdOf(onceKey), atMs: clock.now() });
      figures.held = held.length;
      later(GATHER_MS);
    },
    async close(timeoutMs) {
      const all = async (): Promise<void> => {
        if (timer !== null) clearTimeout(timer);
        for (let isAway = false; held.length > 0 && !isAway; isAway = waitMs > 0) await (writing ?? write());
      };
      await within(all(), timeoutMs);
      if (timer !== null) clearTimeout(timer);
      timer = null;
      figures.shedEvents += held.length;
      held.length = 0;
    },
  };
}
