// Readings of calls for people, bounded so that they never cost callers anything: two of them at once in a process, the
// others wait, tenants take turns, and sums that were read within two seconds are not read again.
import { BoundedCache } from "../../core/bounded-cache.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { openGate } from "../../core/concurrency/gate.ts";
import type { Simulations } from "../../simulation/simulations.ts";
import type { CallStore } from "../../store/calls/calls.ts";

/** Readings at once. */
const MOST_AT_ONCE = 2;
const KEPT_MS = 2000;
const MOST_KEPT = 200;
/** A reading of few rows goes before the sums that wait, because people read the list first. */
const IS_URGENT = true;

type Reads = Pick<CallStore, "searchCalls" | "findCall" | "usage" | "histogram" | "facets" | "attempts" | "lastUses">;

/** When the reading began: what it found is of that time or later. */
export interface Dated {
  readonly asOfMs: number;
}
type Sums = "usage" | "histogram" | "facets" | "attempts";

/** The calls as the admin API reads them. */
export type AdminCalls = Pick<Reads, "searchCalls" | "findCall"> & {
  lastUses(tenantId: string, ...query: Parameters<Reads["lastUses"]>): ReturnType<Reads["lastUses"]>;
} & {
  readonly [Name in Sums]: (...query: Parameters<Reads[Name]>) => Promise<Awaited<ReturnType<Reads[Name]>> & Dated>;
};

interface Kept {
  readonly endsMs: number;
  readonly found: Promise<unknown>;
}

/** A query contains the scope of its reader, so that readers of different scopes share nothing. */
export function openReportReads(calls: Reads, clock: Clock): AdminCalls {
  const turn = openGate(MOST_AT_ONCE, "Too many reports are being read");
  const kept = new BoundedCache<string, Kept>(MOST_KEPT);
  const dated =
    <Query extends readonly unknown[], Found extends object>(
      name: Sums,
      tenantOf: (...query: Query) => string | undefined,
      read: (...query: Query) => Promise<Found>,
    ): ((...query: Query) => Promise<Found & Dated>) =>
    (...query) => {
      const key = JSON.stringify([name, query]);
      const nowMs = clock.monotonic();
      const known = kept.get(key);
      if (known !== undefined && known.endsMs > nowMs) return known.found as Promise<Found & Dated>;
      const reading = async (): Promise<Found & Dated> => {
        const asOfMs = clock.now();
        return { ...(await read(...query)), asOfMs };
      };
      const found = turn(reading, tenantOf(...query) ?? null);
      kept.set(key, { endsMs: nowMs + KEPT_MS, found });
      // A fault is not kept.
      found.catch(() => kept.delete(key));
      return found;
    };
  return {
    searchCalls: (page, filter) => turn(() => calls.searchCalls(page, filter), filter.tenantId ?? null, IS_URGENT),
    findCall: (traceId, tenantId) => turn(() => calls.findCall(traceId, tenantId), tenantId ?? null, IS_URGENT),
    lastUses: (tenantId, tokenIds) => turn(() => calls.lastUses(tokenIds), tenantId, IS_URGENT),
    usage: dated(
      "usage",
      (_page, { tenantId }) => tenantId,
      (page, query) => calls.usage(page, query),
    ),
    histogram: dated(
      "histogram",
      ({ filter }) => filter.tenantId,
      (query) => calls.histogram(query),
    ),
    facets: dated(
      "facets",
      ({ scope }) => scope.tenantId,
      (query) => calls.facets(query),
    ),
    attempts: dated(
      "attempts",
      ({ tenantId }) => tenantId,
      (query) => calls.attempts(query),
    ),
  };
}

/** At most this many readings of one answer are under way or wait, so that those of others find a place. */
const MOST_OF_ONE_ANSWER = 4;

/** Reads something for each of the items, a few at a time. Returns what was read in the order of the items. */
export async function readForEach<Item, Found>(
  items: readonly Item[],
  read: (item: Item) => Promise<Found>,
): Promise<readonly Found[]> {
  const found: Found[] = [];
  let next = 0;
  const inTurn = async (): Promise<void> => {
    try {
      while (next < items.length) {
        const at = next++;
        found[at] = await read(items[at]!);
      }
    } catch (thrown) {
      next = items.length;
      throw thrown;
    }
  };
  await Promise.all(Array.from({ length: MOST_OF_ONE_ANSWER }, inTurn));
  return found;
}

/** Where no calls are stored, each reading fails. */
export function keptCalls(calls: AdminCalls | null): AdminCalls {
  const none = (): never => {
    throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
  };
  return (
    calls ?? {
      searchCalls: none,
      findCall: none,
      usage: none,
      histogram: none,
      facets: none,
      attempts: none,
      lastUses: none,
    }
  );
}

/** The same of simulations. */
export function keptSimulations(simulations: Simulations | null): Simulations {
  if (simulations === null) throw new GatewayError("store_unavailable", "This gateway keeps no calls.");
  return simulations;
}
