// New calls of a place, for all who follow it: while somebody does, the database is asked for the calls that have ended since, once for all of
// them. Calls of other processes and of other gateways of the same database are among them.
import type { TenantOrProject } from "../../../auth/grants.ts";
import type { Clock } from "../../../core/clock.ts";
import type { CallSummary } from "../../../store/calls/calls.ts";
import { placeAsked } from "../asked.ts";
import type { AdminCalls } from "../report-reads.ts";

const EVERY_MS = 500;
/** Rows reach the database some time after their calls have ended, and in another order. */
export const OVERLAP_MS = 3000;
/** More in one reading are not listed: a reader who is that far behind reads the list of calls. */
export const MOST_ROWS = 500;

export interface CallBatch {
  /** In the order of their ends. */
  readonly calls: readonly CallSummary[];
  /** There are more than these. */
  readonly isCut: boolean;
}

export interface Taker {
  take(batch: CallBatch): void;
  /** The calls cannot be read; nothing more is taken. */
  failed(): void;
}

export type NewCalls = ReturnType<typeof openNewCalls>;

export function openNewCalls(calls: Pick<AdminCalls, "searchCalls">, clock: Clock) {
  const followed = new Map<string, Set<Taker>>();
  const read = async (place: TenantOrProject | null, fromMs: number): Promise<CallBatch> => {
    const { data, nextCursor } = await calls.searchCalls(
      { limit: MOST_ROWS },
      { order: "ended", ...placeAsked(place), endedFromMs: fromMs - OVERLAP_MS },
    );
    return { calls: data, isCut: nextCursor !== null };
  };
  const run = async (place: TenantOrProject | null, key: string, takers: Set<Taker>): Promise<void> => {
    const seen = new Map<string, number>();
    let sinceMs = clock.now();
    while (takers.size > 0) {
      await Bun.sleep(EVERY_MS);
      if (takers.size === 0) break;
      try {
        const { calls: ended, isCut } = await read(place, sinceMs);
        const fresh = ended.filter(({ traceId }) => !seen.has(traceId));
        for (const call of fresh) seen.set(call.traceId, endOf(call));
        // the clock of another gateway may be ahead
        sinceMs = isCut ? clock.now() : Math.min(clock.now(), Math.max(sinceMs, ...fresh.map(endOf)));
        for (const [id, endMs] of seen) if (endMs < sinceMs - 2 * OVERLAP_MS) seen.delete(id);
        if (fresh.length > 0 || isCut) for (const taker of takers) taker.take({ calls: fresh, isCut });
      } catch {
        for (const taker of takers) taker.failed();
        takers.clear();
      }
    }
    // nothing is awaited between the last look at the takers and this
    if (followed.get(key) === takers) followed.delete(key);
  };
  return {
    /** Takes what ends from now on, until the function that is returned is called. `null` is the whole gateway. */
    follow(place: TenantOrProject | null, taker: Taker): () => void {
      const key = JSON.stringify(place);
      const known = followed.get(key);
      const takers = known !== undefined && known.size > 0 ? known : new Set<Taker>();
      takers.add(taker);
      if (takers !== known) {
        followed.set(key, takers);
        void run(place, key, takers);
      }
      return () => void takers.delete(taker);
    },
    /** What has ended since. It may have calls that end earlier by the time that rows take to reach the database. */
    since: read,
  };
}

const endOf = ({ timeMs, totalMs }: CallSummary): number => Math.ceil(timeMs + totalMs);
