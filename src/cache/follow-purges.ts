// Purges, and removals of tenants, reach the other processes of a gateway, and other gateways, by the audit log that they
// share. A worker looks there when another worker has written to the database, and every process looks every second while
// it has something to remove.

// Decides (the response cache): How does a purge reach other processes? By: `followPurges`. Rule: They read the audit
// log every second while they have something to remove, and at the start as far back as answers are kept.
import type { Clock } from "../core/clock.ts";
import { MAX_CACHE_TTL_S } from "../core/configured/cache.ts";
import { everyRow, type Reader } from "../store/reader.ts";
import type { AuditRow } from "../store/records.ts";
import type { CachePlace } from "./answer-cache.ts";
import type { ResponseCache } from "./response-cache.ts";

export const PURGE_ACTION = "purge";
export const PURGE_KIND = "response_cache";
/** What removes answers. A tenant may have been made anew under the same id before anybody saw that it was gone. */
const REMOVALS = [
  { action: PURGE_ACTION, kind: PURGE_KIND },
  { action: "remove", kind: "tenant" },
] as const;
/** 64 hex digits. */
export const CACHE_KEY = /^[0-9a-f]{64}$/;

export interface FollowPurgesOptions {
  readonly cache: Pick<ResponseCache, "purge" | "mayHold">;
  readonly reader: Pick<Reader, "listAudit">;
  readonly clock: Pick<Clock, "now">;
}

const LOOK_MS = 1000;
/** A row may appear later than its time says, and clocks of two machines differ. */
const OVERLAP_MS = 10_000;

export interface FollowedPurges {
  /** Resolves when every purge that was in the audit log at the time of the call has been carried out. Never rejects. */
  follow(): Promise<void>;
  end(): void;
}

export function followPurges({ cache, reader, clock }: FollowPurgesOptions): FollowedPurges {
  // the store may have outlived the process before, which saw no purge after its end
  let lookedAtMs = clock.now() - MAX_CACHE_TTL_S * 1000;
  let known: ReadonlySet<string> = new Set();
  let looks = 0;
  let last = Promise.resolve();
  const removalsSince = async (fromMs: number): Promise<readonly AuditRow[]> => {
    const rows: AuditRow[] = [];
    for (const removal of REMOVALS)
      for await (const row of everyRow((page) => reader.listAudit(page, { ...removal, outcome: "done", fromMs })))
        rows.push(row);
    return rows;
  };
  const look = async (): Promise<void> => {
    const nowMs = clock.now();
    // what is kept from now on was asked for after every purge so far
    if (!cache.mayHold()) {
      lookedAtMs = nowMs;
      return;
    }
    try {
      // the clock may have been set back since the last look
      const rows = await removalsSince(Math.min(lookedAtMs, nowMs) - OVERLAP_MS);
      for (const row of rows) if (!known.has(row.id)) await cache.purge(placeOf(row), row.atMs);
      known = new Set(rows.map(({ id }) => id));
      lookedAtMs = nowMs;
    } catch {
      // the database or the store of answers is away, and the next look begins where this one did
    }
  };
  const follow = async (): Promise<void> => {
    looks += 1;
    // a look under way may have read the log before the newest purge
    last = last.then(look);
    await last;
    looks -= 1;
  };
  const timer = setInterval(() => {
    if (looks === 0) void follow();
  }, LOOK_MS).unref();
  void follow();
  return { follow, end: () => clearInterval(timer) };
}

function placeOf({ tenantId, after }: AuditRow): CachePlace {
  const { route, key } = (after ?? {}) as { readonly route?: unknown; readonly key?: unknown };
  return {
    tenantId: tenantId!,
    ...(typeof route === "string" && { route }),
    ...(typeof key === "string" && { key }),
  };
}
