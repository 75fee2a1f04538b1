// A gate that lets a bounded number of pieces of work run at once; the others wait for their turn, a bounded number too.
import { retryLater } from "../errors.ts";

/** More would wait so long that nobody waits for them any more. */
const MOST_WAITING = 100;

export interface Gate {
  /** Runs work as soon as it may, in the order in which it came; what is urgent goes before everything that is not. */
  <T>(work: () => Promise<T>, isUrgent?: boolean): Promise<T>;
}

/** `what` begins a sentence, such as "Too many reports are being read". */
export function openGate(atOnce: number, what: string): Gate {
  const waiting: { readonly begin: () => void; readonly isUrgent: boolean }[] = [];
  let running = 0;
  return async (work, isUrgent = false) => {
    if (running >= atOnce) {
      if (waiting.length >= MOST_WAITING) throw retryLater("store_unavailable", `${what} at once. Try again.`, 1);
      await new Promise<void>((begin) => {
        const behind = isUrgent ? waiting.findIndex((one) => !one.isUrgent) : -1;
        waiting.splice(behind < 0 ? waiting.length : behind, 0, { begin, isUrgent });
      });
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next.begin();
    }
  };
}
