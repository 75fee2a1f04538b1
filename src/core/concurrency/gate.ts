// A gate that lets a bounded number of pieces of work run at once; the others wait for their turn, a bounded number too.
// Those for whom they are done take turns, so that nobody waits behind all the work of another.
import { BoundedCache } from "../bounded-cache.ts";
import { retryLater } from "../errors.ts";

/** More would wait so long that nobody waits for them any more. */
const MOST_WAITING = 100;
/** Of so many it is known when they last had their turn. */
const MOST_KNOWN = 1000;

export interface Gate {
  /**
   * Runs work as soon as it may; what is urgent goes before everything that is not, and what is done for one tenant in
   * the order in which it came. Where too much waits, the newest of who has the most waiting is refused.
   */
  <T>(work: () => Promise<T>, isUrgent?: boolean, tenant?: string): Promise<T>;
}

interface Waiting {
  readonly begin: () => void;
  readonly refuse: (why: unknown) => void;
  readonly isUrgent: boolean;
  readonly tenant: string;
}

/** `what` begins a sentence, such as "Too many reports are being read". */
export function openGate(atOnce: number, what: string): Gate {
  const waiting: Waiting[] = [];
  const turns = new BoundedCache<string, number>(MOST_KNOWN);
  let running = 0;
  let begun = 0;
  const tooMany = (): Error => retryLater("store_unavailable", `${what} at once. Try again.`, 1);
  const turnOf = ({ tenant }: Waiting): number => turns.get(tenant) ?? 0;
  const next = (): Waiting | undefined => {
    const isUrgent = waiting.some((one) => one.isUrgent);
    let first: Waiting | undefined;
    for (const one of waiting)
      if (one.isUrgent === isUrgent && (first === undefined || turnOf(one) < turnOf(first))) first = one;
    if (first !== undefined) waiting.splice(waiting.indexOf(first), 1);
    return first;
  };
  return async (work, isUrgent = false, tenant = "") => {
    if (running >= atOnce) {
      if (waiting.length >= MOST_WAITING) {
        const shed = newestOfMost(waiting, tenant);
        if (shed === undefined) throw tooMany();
        waiting.splice(waiting.indexOf(shed), 1);
        shed.refuse(tooMany());
      }
      await new Promise<void>((begin, refuse) => void waiting.push({ begin, refuse, isUrgent, tenant }));
    } else running++;
    turns.set(tenant, ++begun);
    try {
      return await work();
    } finally {
      const one = next();
      if (one === undefined) running--;
      else one.begin();
    }
  };
}

/** Returns undefined where this tenant would then have as much waiting as anybody. */
function newestOfMost(waiting: readonly Waiting[], tenant: string): Waiting | undefined {
  const byTenant = Map.groupBy(waiting, (one) => one.tenant);
  const most = [...byTenant.values()].toSorted((a, b) => b.length - a.length)[0] ?? [];
  return most.length > (byTenant.get(tenant)?.length ?? 0) + 1 ? most.at(-1) : undefined;
}
