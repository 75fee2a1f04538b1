// Turns of requests with one idempotency key: they run one after the other, in this process or over all processes of a
// machine.
import { retryLater } from "../../core/errors.ts";
import type { Slots } from "../../core/concurrency/slots.ts";
import { inTurn } from "../../core/concurrency/slot-turn.ts";

/** Requests with one key that wait for their turn. */
const MOST_WAITING = 1000;

/** Runs the work when no other request with that key runs. */
export type Turns = <T>(key: string, work: () => Promise<T>) => Promise<T>;

/**
 * Runs requests with the same key one after the other, in all processes that share the slots. The store rejects the
 * second of two changes, but work outside the store would have been done twice.
 */
export function openTurns(slots: Slots): Turns {
  const refused = (): Error => retryLater("gateway_overloaded", "Too many requests with this idempotency key wait.", 1);
  return (key, work) =>
    inTurn(slots, { key: `idempotency key ${key}`, tenant: "", max: 1, queueMax: MOST_WAITING }, refused, work);
}
