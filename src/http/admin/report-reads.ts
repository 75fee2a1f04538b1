// Readings of calls for people, bounded so that they never cost callers anything: two of them at once in a process, the
// others in turn, and sums that were read within two seconds are not read again.
import { BoundedCache } from "../../core/bounded-cache.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { CallStore } from "../../store/calls.ts";

/** Readings at once. */
const MOST_AT_ONCE = 2;
/** More would wait so long that nobody waits for them any more. */
const MOST_WAITING = 100;
const KEPT_MS = 2000;
const MOST_KEPT = 200;
/** Recorded calls are what people try several changes on, one after the other. A thousand of them take some 400 KB. */
const RECORDED_KEPT_MS = 30_000;
const MOST_RECORDED_KEPT = 8;

type Reads = Pick<CallStore, "searchCalls" | "findCall" | "usage" | "histogram" | "facets" | "recordedCalls">;

/** When the reading began: what it found is of that time or later. */
export interface Dated {
  readonly asOfMs: number;
}
type Sums = "usage" | "histogram" | "facets" | "recordedCalls";

/** The calls as the admin API reads them. */
export type AdminCalls = Pick<Reads, "searchCalls" | "findCall"> & {
  readonly [Name in Sums]: (...query: Parameters<Reads[Name]>) => Promise<Awaited<ReturnType<Reads[Name]>> & Dated>;
};

interface Kept {
  readonly endsMs: number;
  readonly found: Promise<unknown>;
}

/** A query contains the scope of its reader, so that readers of different scopes share nothing. */
export function openReportReads(calls: Reads, clock: Clock): AdminCalls {
  const turn = openGate(MOST_AT_ONCE);
  const sums = { kept: new BoundedCache<string, Kept>(MOST_KEPT), forMs: KEPT_MS };
  const recorded = { kept: new BoundedCache<string, Kept>(MOST_RECORDED_KEPT), forMs: RECORDED_KEPT_MS };
  const dated =
    <Query extends readonly unknown[], Found extends object>(
      name: Sums,
      read: (...query: Query) => Promise<Found>,
      { kept, forMs } = sums,
    ): ((...query: Query) => Promise<Found & Dated>) =>
    (...query) => {
      const key = JSON.stringify([name, query]);
      const nowMs = clock.monotonic();
      const known = kept.get(key);
      if (known !== undefined && known.endsMs > nowMs) return known.found as Promise<Found & Dated>;
      const found = turn(async () => {
        const asOfMs = clock.now();
        return { ...(await read(...query)), asOfMs };
      });
      kept.set(key, { endsMs: nowMs + forMs, found });
      // A fault is not kept.
      found.catch(() => kept.delete(key));
      return found;
    };
  return {
    searchCalls: (page, filter) => turn(() => calls.searchCalls(page, filter)),
    findCall: (traceId, tenantId) => turn(() => calls.findCall(traceId, tenantId)),
    usage: dated("usage", (page, query) => calls.usage(page, query)),
    histogram: dated("histogram", (query) => calls.histogram(query)),
    facets: dated("facets", (query) => calls.facets(query)),
    recordedCalls: dated("recordedCalls", (query) => calls.recordedCalls(query), recorded),
  };
}

/** Runs work as soon as fewer than `atOnce` others run, in the order in which it came. */
export function openGate(atOnce: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= MOST_WAITING)
        throw new GatewayError("store_unavailable", "Too many reports are being read at once. Try again.", {
          headers: { "retry-after": "1" },
        });
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

/** Where no calls are stored, each reading fails. */
export function keptCalls(calls: AdminCalls | null): AdminCalls {
  const none = (): never => {
    throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
  };
  return (
    calls ?? { searchCalls: none, findCall: none, usage: none, histogram: none, facets: none, recordedCalls: none }
  );
}
