// Bounds the attempts in flight at one target. Further ones wait in short queues, one for each tenant, which are served
// in turn, so that a tenant with many calls does not make the others wait behind all of them. When the queues are full,
// the newest entry of the longest queue is shed. The caller owns all timers.

// Decides (targets and attempts): What happens where a target has no free place? By: `openConcurrency`. Also: entered
// in `engine/attempt/run-attempt.ts` (`enterPlace`). Rule: The attempt waits in the target's queue; if that is full
// or takes too long, the next target is attempted.

import type { MaybePromise } from "../core/maybe-promise.ts";

export interface Ticket {
  /** Called when the wait took too long or the client disconnected. It has no effect once the turn has come. */
  cancel(): void;
}

/**
 * `entered`: the attempt may run, and `leave` must be called afterwards. `shed`: the entry was removed in favour of a
 * tenant with fewer entries in its queue.
 */
export type QueueOutcome = "entered" | "shed";

/** `full`: there is no room in the queue either. */
export type Entered = "entered" | "full" | Ticket;

/** The places at targets, of this process or of all processes of the machine. */
export interface Places {
  /**
   * `onTurn` is called once, and only for a ticket that was not cancelled before. The result is synchronous where the
   * places are in this process; it never rejects.
   */
  enter(
    key: string,
    tenant: string,
    max: number,
    queueMax: number,
    onTurn: (turn: QueueOutcome) => void,
  ): MaybePromise<Entered>;
  /** Lets the next waiting attempt run. */
  leave(key: string): void;
  /** The number of attempts of this process that wait, for metrics. */
  waiting(key: string): number;
}

export interface Concurrency extends Places {
  enter(key: string, tenant: string, max: number, queueMax: number, onTurn: (turn: QueueOutcome) => void): Entered;
}

interface Waiter {
  readonly tenant: string;
  readonly max: number;
  readonly onTurn: (turn: QueueOutcome) => void;
}

interface Place {
  inside: number;
  waiting: number;
  /** In the order in which the tenants are served; no queue is empty. */
  readonly queues: Map<string, Set<Waiter>>;
}

export function openConcurrency(): Concurrency {
  const places = new Map<string, Place>();

  const drop = (key: string, place: Place, waiter: Waiter): boolean => {
    const queue = place.queues.get(waiter.tenant);
    if (queue?.delete(waiter) !== true) return false;
    place.waiting -= 1;
    if (queue.size === 0) place.queues.delete(waiter.tenant);
    if (place.inside === 0 && place.waiting === 0) places.delete(key);
    return true;
  };

  return {
    enter(key, tenant, max, queueMax, onTurn) {
      const place: Place = places.get(key) ?? { inside: 0, waiting: 0, queues: new Map() };
      if (place.inside < max) {
        places.set(key, place);
        place.inside += 1;
        return "entered";
      }
      let shed: Waiter | null = null;
      if (place.waiting >= queueMax) {
        shed = newestOfLongest(place, tenant);
        if (shed === null) return "full";
        drop(key, place, shed);
      }
      const waiter: Waiter = { tenant, max, onTurn };
      const queue = place.queues.get(tenant);
      if (queue === undefined) place.queues.set(tenant, new Set([waiter]));
      else queue.add(waiter);
      place.waiting += 1;
      shed?.onTurn("shed");
      return { cancel: () => void drop(key, place, waiter) };
    },
    leave(key) {
      const place = places.get(key);
      if (place === undefined || place.inside === 0) return;
      place.inside -= 1;
      const next = nextOf(place);
      if (next === null) {
        if (place.inside === 0 && place.waiting === 0) places.delete(key);
        return;
      }
      place.inside += 1;
      drop(key, place, next);
      const rest = place.queues.get(next.tenant);
      if (rest !== undefined) {
        place.queues.delete(next.tenant);
        place.queues.set(next.tenant, rest);
      }
      next.onTurn("entered");
    },
    waiting: (key) => places.get(key)?.waiting ?? 0,
  };
}

/** Returns the first entry of the first tenant whose bound admits it: routes may bound the same target differently. */
function nextOf({ inside, queues }: Place): Waiter | null {
  for (const queue of queues.values()) {
    const [waiter] = queue;
    if (waiter !== undefined && inside < waiter.max) return waiter;
  }
  return null;
}

/** Returns `null` when this tenant's own queue would become as long as the longest. */
function newestOfLongest({ queues }: Place, tenant: string): Waiter | null {
  let longest: Set<Waiter> | null = null;
  for (const queue of queues.values()) if (longest === null || queue.size > longest.size) longest = queue;
  if (longest === null || longest.size <= (queues.get(tenant)?.size ?? 0) + 1) return null;
  let newest: Waiter | null = null;
  for (const waiter of longest) newest = waiter;
  return newest;
}
