// Events of workers: the supervisor has the only outbox and delivers to webhooks. The first refusal is sent at once, and
// those that follow are counted together before they are sent, so that many of them are few messages.
import { newEventFigures } from "../../observe/webhooks/event-figures.ts";
import type { OpenEvents } from "../../observe/webhooks/open-events.ts";
import { joinedRefusals, type RefusedCalls, refusalKey, refusalOf } from "../../observe/webhooks/refusal-events.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

const REFUSALS_MS = 100;
/** Kinds of refusals that are told apart within that time; the supervisor has a bound of its own. */
const MOST_REFUSALS = 5_000;

/** In the supervisor. */
export function serveEvents(channel: WorkerChannel, events: OpenEvents): void {
  channel.handle("events", (emitted) => {
    for (const event of emitted) events.emit(event);
  });
  channel.handle("refusals", (refusals) => {
    for (const refused of refusals) events.refused(refused);
  });
}

/** In a worker. Without the supervisor, events are lost and counted. */
export function openWorkerEvents(channel: SupervisorChannel): OpenEvents {
  const figures = newEventFigures();
  let refusals = new Map<string, RefusedCalls>();
  let timer: ReturnType<typeof setTimeout> | null = null;

  const send = (): void => {
    if (timer !== null) clearTimeout(timer);
    timer = null;
    if (refusals.size === 0) return;
    if (channel.isClosed) figures.shedEvents += refusals.size;
    else channel.notify("refusals", [...refusals.values()]);
    refusals = new Map();
  };
  const refused = (one: RefusedCalls): void => {
    if (timer === null) {
      timer = setTimeout(send, REFUSALS_MS);
      if (channel.isClosed) figures.shedEvents += 1;
      else channel.notify("refusals", [one]);
      return;
    }
    const key = refusalKey(one);
    const before = refusals.get(key);
    if (before === undefined && refusals.size >= MOST_REFUSALS) return;
    refusals.set(key, before === undefined ? one : joinedRefusals(before, one));
  };

  return {
    figures,
    observer: {
      publish(record) {
        const one = refusalOf(record);
        if (one !== null) refused(one);
      },
    },
    refused,
    emit(event) {
      if (channel.isClosed) figures.shedEvents += 1;
      else channel.notify("events", [event]);
    },
    // The supervisor follows the configuration by itself.
    wake: () => {},
    async close() {
      if (timer !== null) clearTimeout(timer);
      // With the reply, the supervisor has everything that was sent before.
      await channel.request("refusals", [...refusals.values()]).catch(() => {
        figures.shedEvents += refusals.size;
      });
    },
  };
}
