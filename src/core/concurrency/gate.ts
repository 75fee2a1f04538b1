// A gate that lets a bounded number of pieces of work run at once. The others wait, a bounded number too, and tenants take
// turns, so that none waits behind all the work of another.
import { retryLater } from "../errors.ts";
import { inTurn } from "./slot-turn.ts";
import { openConcurrency } from "./slots.ts";

/** More would wait so long that nobody waits for them any more. */
const MOST_WAITING = 100;
/** Begins the names of queues of urgent work. No id of a tenant begins so. */
const URGENT = "urgent ";

/**
 * Returns what runs work as soon as it may, which is at once where nothing waits. What is urgent goes before what is not,
 * but for every second turn, and work for one tenant in the order in which it came. Where too much waits, the newest of
 * the tenant with the most waiting is refused. `what` begins a sentence, such as "Too many reports are being read".
 */
export function openGate(atOnce: number, what: string) {
  const slots = openConcurrency((queue) => queue.startsWith(URGENT));
  const refused = (): Error => retryLater("gateway_overloaded", `${what} at once. Try again.`, 1);
  return <T>(work: () => Promise<T>, tenant: string | null, isUrgent = false): Promise<T> => {
    const queue = `${isUrgent ? URGENT : ""}${tenant ?? ""}`;
    return inTurn(slots, { key: what, tenant: queue, max: atOnce, queueMax: MOST_WAITING }, refused, work);
  };
}
