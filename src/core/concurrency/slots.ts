// Bounds how much work runs at once under one key, such as the attempts at one target. Further work waits in short
// queues, one for each tenant, which are served in turn, so that one busy tenant cannot hold up the others. When the
// queues are full, the newest entry of the longest queue is shed. The caller owns all timers.

// Decides (targets and attempts): What happens where a target has no free slot? By: `openConcurrency`. Also: entered
// in `engine/attempt/run-attempt.ts` (`enterSlot`). Rule: The attempt waits in the target's queue; if that is full,
// sheds it or takes too long, the next target is attempted.

import type { MaybePromise } from "../maybe-promise.ts";

export interface Ticket {
  /** Called when the wait took too long or the client disconnected. It has no effect once the turn has come. */
  cancel(): void;
}

/**
 * `entered`: the work may run, and `leave` must be called afterwards. `shed`: the entry was removed in favour of a
 * tenant with fewer entries in its queue.
 */
export type QueueOutcome = "entered" | "shed";

/** `full`: there is no room in the queue either. */
export type Entered = "entered" | "full" | Ticket;

/** What a slot is asked for. */
export interface SlotPlace {
  readonly key: string;
  /** Tenants that wait for slots with the same key take turns. */
  readonly tenant: string;
  readonly max: number;
  readonly queueMax: number;
}

/** Slots of this process, or of all processes of the machine. */
export interface Slots {
  /**
   * `onTurn` is called once, and only for a ticket that was not cancelled before. The result is synchronous where the
   * slots are in this process; it never rejects.
   */
  enter(place: SlotPlace, onTurn: (turn: QueueOutcome) => void): MaybePromise<Entered>;
  /** Lets the next of those that wait run. */
  leave(key: string): void;
  /** How many of this process wait, for metrics. */
  waiting(key: string): number;
}

export interface Concurrency extends Slots {
  enter(place: SlotPlace, onTurn: (turn: QueueOutcome) => void): Entered;
}

interface Waiter {
  readonly tenant: string;
  readonly max: number;
  readonly onTurn: (turn: QueueOutcome) => void;
}

interface SlotsOfKey {
  inside: number;
  waiting: number;
  /** The last turn was that of a queue which went before one that had waited for longer. */
  isOwed: boolean;
  /** In the order in which the tenants are served; no queue is empty. */
  readonly queues: Map<string, Set<Waiter>>;
}

/**
 * The queues for which `isAhead` returns true are served before the others, but not twice in a row while others wait:
 * however much comes that goes before them, every second turn is that of the queue which has waited longest.
 */
export function openConcurrency(isAhead: (queue: string) => boolean = () => true): Concurrency {
  const slots = new Map<string, SlotsOfKey>();

  const drop = (key: string, kind: SlotsOfKey, waiter: Waiter): boolean => {
    const queue = kind.queues.get(waiter.tenant);
    if (queue?.delete(waiter) !== true) return false;
    kind.waiting -= 1;
    if (queue.size === 0) kind.queues.delete(waiter.tenant);
    if (kind.inside === 0 && kind.waiting === 0) slots.delete(key);
    return true;
  };

  return {
    enter({ key, tenant, max, queueMax }, onTurn) {
      const kind: SlotsOfKey = slots.get(key) ?? { inside: 0, waiting: 0, isOwed: false, queues: new Map() };
      if (kind.inside < max) {
        slots.set(key, kind);
        kind.inside += 1;
        return "entered";
      }
      let shed: Waiter | null = null;
      if (kind.waiting >= queueMax) {
        shed = newestOfLongest(kind, tenant);
        if (shed === null) return "full";
        drop(key, kind, shed);
      }
      const waiter: Waiter = { tenant, max, onTurn };
      kind.queues.getOrInsertComputed(tenant, () => new Set()).add(waiter);
      kind.waiting += 1;
      shed?.onTurn("shed");
      return { cancel: () => void drop(key, kind, waiter) };
    },
    leave(key) {
      const kind = slots.get(key);
      if (kind === undefined || kind.inside === 0) return;
      kind.inside -= 1;
      const next = nextOf(kind, isAhead);
      if (next === null) {
        if (kind.inside === 0 && kind.waiting === 0) slots.delete(key);
        return;
      }
      kind.inside += 1;
      drop(key, kind, next);
      const rest = kind.queues.get(next.tenant);
      if (rest !== undefined) {
        kind.queues.delete(next.tenant);
        kind.queues.set(next.tenant, rest);
      }
      next.onTurn("entered");
    },
    waiting: (key) => slots.get(key)?.waiting ?? 0,
  };
}

/**
 * Returns the first entry of the first tenant whose bound admits it. Routes may bound the same target differently, and
 * so does a route before and after a change: an entry with a narrow bound holds up none behind it that has a wider one.
 */
function nextOf(kind: SlotsOfKey, isAhead: (queue: string) => boolean): Waiter | null {
  const { inside, queues, isOwed } = kind;
  let behind: Waiter | null = null;
  kind.isOwed = false;
  for (const [name, queue] of queues)
    for (const waiter of queue) {
      if (inside >= waiter.max) continue;
      if (isOwed || isAhead(name)) {
        kind.isOwed = behind !== null;
        return waiter;
      }
      behind ??= waiter;
      break;
    }
  return behind;
}

/** Returns `null` when this tenant's own queue would become as long as the longest. */
function newestOfLongest({ queues }: SlotsOfKey, tenant: string): Waiter | null {
  let longest: Set<Waiter> | null = null;
  for (const queue of queues.values()) if (longest === null || queue.size > longest.size) longest = queue;
  if (longest === null || longest.size <= (queues.get(tenant)?.size ?? 0) + 1) return null;
  let newest: Waiter | null = null;
  for (const waiter of longest) newest = waiter;
  return newest;
}
