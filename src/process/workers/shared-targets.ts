// What all workers know and have of targets: their health, and the slots at targets whose attempts in flight are bounded.
// The supervisor passes news on and has the slots.
import type { Routing } from "../../engine/call/context.ts";
import type { Clock } from "../../core/clock.ts";
import type { Slots } from "../../core/concurrency/slots.ts";
import { type BreakerChange, openHealth } from "../../routing/health/health.ts";
import { openHealthHub } from "../../routing/health/health-hub.ts";
import { CollectedNews } from "../../routing/health/health-news.ts";
import { KeptPrompts } from "../../routing/kept-prompts.ts";
import { openHedging } from "../../routing/plan/hedging.ts";
import { type AskedSlots, askedSlots, openSharedSlots } from "../../routing/shared-slots.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

/** News that are not urgent wait this long at most, in the worker and again in the supervisor. */
const NEWS_MS = 250;

/** In the supervisor. `onChange` must not throw. */
export function openSharedTargets(clock: Pick<Clock, "monotonic">, onChange: (change: BreakerChange) => void) {
  const hub = openHealthHub<WorkerChannel>({ send: (to, news) => to.notify("target_news", news), onChange });
  const slots = openSharedSlots<WorkerChannel>((to, id, turn) => to.notify("slot_turn", { id, turn }));
  const timer = setInterval(() => hub.flush(), NEWS_MS).unref();
  return {
    join(channel: WorkerChannel): void {
      channel.handle("target_news", (news) => hub.report(channel, news, clock.monotonic()));
      channel.handle("enter_slot", (request) => slots.enter(channel, request));
      channel.handle("leave_slot", ({ id }) => slots.leave(channel, id));
      channel.whenClosed(() => {
        hub.leave(channel);
        slots.end(channel);
      });
    },
    /** The worker takes news from now on. */
    begin: (channel: WorkerChannel): void => hub.join(channel, clock.monotonic()),
    close: () => clearInterval(timer),
  };
}

/**
 * In a worker: slots of all workers. There is one set of them for each channel, because the supervisor tells turns by the
 * numbers that it has chosen.
 */
export function openWorkerSlots(channel: SupervisorChannel): AskedSlots {
  const slots = askedSlots({
    enter: (request) => channel.request("enter_slot", request),
    leave: (id) => channel.notify("leave_slot", { id }),
  });
  channel.handle("slot_turn", ({ id, turn }) => slots.turned(id, turn));
  channel.whenClosed(() => slots.lost());
  return slots;
}

/** In a worker, which has to send `takes_news` afterwards. */
export function openWorkerRouting(
  channel: SupervisorChannel,
  slots: Slots,
  clock: Pick<Clock, "monotonic">,
  random: () => number,
): { readonly routing: Routing; close(): void } {
  const say = (): void => {
    const said = news.take();
    if (said !== null) channel.notify("target_news", said);
  };
  // What happens in one turn of the event loop is said together.
  const news = new CollectedNews(() => setImmediate(say));
  const health = openHealth(undefined, news);
  channel.handle("target_news", (heard) => health.learn(heard, clock.monotonic()));
  const timer = setInterval(say, NEWS_MS).unref();
  return {
    routing: { health, hedging: openHedging(health), concurrency: slots, prompts: new KeptPrompts(), random },
    close: () => clearInterval(timer),
  };
}
