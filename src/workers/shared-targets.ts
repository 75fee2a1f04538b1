// What all workers know and have of targets: their health, and the places at targets whose attempts in flight are bounded.
// The supervisor passes news on and has the places.
import type { Routing } from "../engine/call/context.ts";
import type { Clock } from "../core/clock.ts";
import type { Places } from "../routing/concurrency.ts";
import { type BreakerChange, openHealth } from "../routing/health.ts";
import { openHealthHub } from "../routing/health-hub.ts";
import { CollectedNews } from "../routing/health-news.ts";
import { openHedging } from "../routing/hedging.ts";
import { type AskedPlaces, askedPlaces, openSharedPlaces } from "../routing/shared-places.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

/** News that are not urgent wait this long at most, in the worker and again in the supervisor. */
const NEWS_MS = 250;

export interface SharedTargets {
  join(channel: WorkerChannel): void;
  /** The worker takes news from now on. */
  begin(channel: WorkerChannel): void;
  close(): void;
}

/** In the supervisor. `onChange` must not throw. */
export function openSharedTargets(
  clock: Pick<Clock, "monotonic">,
  onChange: (change: BreakerChange) => void,
): SharedTargets {
  const hub = openHealthHub<WorkerChannel>({ send: (to, news) => to.notify("target_news", news), onChange });
  const places = openSharedPlaces<WorkerChannel>((to, id, turn) => to.notify("place_turn", { id, turn }));
  const timer = setInterval(() => hub.flush(), NEWS_MS);
  timer.unref();
  return {
    join(channel) {
      channel.handle("target_news", (news) => hub.report(channel, news, clock.monotonic()));
      channel.handle("enter_place", (request) => places.enter(channel, request));
      channel.handle("leave_place", ({ id }) => places.leave(channel, id));
      channel.whenClosed(() => {
        hub.leave(channel);
        places.end(channel);
      });
    },
    begin: (channel) => hub.join(channel, clock.monotonic()),
    close: () => clearInterval(timer),
  };
}

/**
 * In a worker: places of all workers. There is one set of them for each channel, because the supervisor tells turns by the
 * numbers that it has chosen.
 */
export function openWorkerPlaces(channel: SupervisorChannel): AskedPlaces {
  const places = askedPlaces({
    enter: (request) => channel.request("enter_place", request),
    leave: (id) => channel.notify("leave_place", { id }),
  });
  channel.handle("place_turn", ({ id, turn }) => places.turned(id, turn));
  return places;
}

/** In a worker, which has to send `takes_news` afterwards. */
export function openWorkerRouting(
  channel: SupervisorChannel,
  places: Places,
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
  const timer = setInterval(say, NEWS_MS);
  timer.unref();
  return {
    routing: { health, hedging: openHedging(health), concurrency: places, random },
    close: () => clearInterval(timer),
  };
}
