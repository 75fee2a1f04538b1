// Recorded calls that were read lately are not read again: people try several changes on them, one after the other.
import { BoundedCache } from "../core/bounded-cache.ts";
import type { Clock } from "../core/clock.ts";
import type { RecordedCalls, RecordedQuery } from "../store/calls/calls.ts";
import type { RecordedReads } from "../store/search/recorded-reads.ts";

const KEPT_MS = 30_000;
/** A thousand calls take some 400 KB. */
const MOST_KEPT = 8;

/** When the reading began: what it found is of that time or later. */
export interface Dated {
  readonly asOfMs: number;
}

export type KeptReads = ReturnType<typeof openKeptReads>;

interface Kept {
  readonly endsMs: number;
  readonly found: RecordedCalls & Dated;
}

export function openKeptReads(reads: Pick<RecordedReads, "calls" | "tokens">, clock: Clock) {
  const kept = new BoundedCache<string, Kept>(MOST_KEPT);
  return {
    tokens: (ids: readonly string[]) => reads.tokens(ids),
    /** A query contains the scope of its reader, so that readers of different scopes share nothing. */
    async calls(query: RecordedQuery): Promise<RecordedCalls & Dated> {
      const key = JSON.stringify(query);
      const known = kept.get(key);
      if (known !== undefined && known.endsMs > clock.monotonic()) return known.found;
      const asOfMs = clock.now();
      const found = { ...(await reads.calls(query)), asOfMs };
      kept.set(key, { endsMs: clock.monotonic() + KEPT_MS, found });
      return found;
    },
  };
}
