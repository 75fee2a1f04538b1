// Turns of requests with one idempotency key: they run one after the other, in this process or over all processes of a
// machine.
import { retryLater } from "../../core/errors.ts";
import type { QueueOutcome, Slots } from "../../routing/concurrency.ts";

/** Requests with one key that wait for their turn. */
const MOST_WAITING = 1000;

/** Runs the work when no other request with that key runs. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs requests with the same key one after the other within this process. The store rejects the second of two changes,
 * but work outside the store would have been done twice.
 */
export function openTurns(): Turns {
  const last = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const own = (last.get(key) ?? Promise.resolve()).then(work);
    const over = own.catch(() => undefined);
    last.set(key, over);
    try {
      return await own;
    } finally {
      if (last.get(key) === over) last.delete(key);
    }
  };
}

/** The same for all processes that share the slots, each of which is the turn of one key. */
export function sharedTurns(slots: Slots): Turns {
  return async (key, work) => {
    const name = `idempotency key ${key}`;
    const ownTurn = Promise.withResolvers<QueueOutcome>();
    const asked = await slots.enter(name, "", 1, MOST_WAITING, ownTurn.resolve);
    const came = typeof asked === "string" ? asked : await ownTurn.promise;
    // a turn is shed when the process has gone that has the slots
    if (came !== "entered")
      throw retryLater("gateway_overloaded", "Too many requests with this idempotency key wait.", 1);
    try {
      return await work();
    } finally {
      slots.leave(name);
    }
  };
}
