// Answers kept in this process, within a number of bytes. When there is no room, the entry goes that was used the longest
// ago.
import { type AnswerCache, type CacheEntry, type CachePlace, isAskedBefore, isAt } from "./answer-cache.ts";

/** What an entry takes beside its body, roughly. */
const ENTRY_BYTES = 512;
/** Only the latest purges matter: an answer that is asked for before one of them arrives soon after it. */
const MAX_PURGES = 1000;

export function openMemoryCache(maxBytes: number): AnswerCache {
  /** The entry that was used last is the last one. */
  const entries = new Map<string, CacheEntry>();
  const purges: (CachePlace & { readonly atMs: number })[] = [];
  let bytes = 0;
  const remove = (entry: CacheEntry): void => {
    entries.delete(entry.key);
    bytes -= sizeOf(entry);
  };
  const removeWhere = (isGone: (entry: CacheEntry) => boolean): number => {
    let count = 0;
    for (const entry of entries.values())
      if (isGone(entry)) {
        remove(entry);
        count += 1;
      }
    return count;
  };
  return {
    get({ tenantId, key }, nowMs) {
      const entry = entries.get(key);
      if (entry === undefined || entry.tenantId !== tenantId) return null;
      if (entry.expiresAtMs <= nowMs) {
        remove(entry);
        return null;
      }
      entries.delete(key);
      entries.set(key, entry);
      return entry;
    },
    put(entry, nowMs) {
      if (entry.expiresAtMs <= nowMs) return;
      if (purges.some((purge) => entry.askedAtMs <= purge.atMs && isAt(entry, purge))) return;
      const before = entries.get(entry.key);
      if (before !== undefined) remove(before);
      const size = sizeOf(entry);
      if (size > maxBytes) return;
      if (bytes + size > maxBytes) removeWhere(({ expiresAtMs }) => expiresAtMs <= nowMs);
      for (const oldest of entries.values()) {
        if (bytes + size <= maxBytes) break;
        remove(oldest);
      }
      entries.set(entry.key, entry);
      bytes += size;
    },
    purge(place, atMs, nowMs) {
      purges.push({ ...place, atMs });
      if (purges.length > MAX_PURGES) purges.shift();
      return removeWhere((entry) => isAskedBefore(entry, atMs, nowMs) && isAt(entry, place));
    },
    tenants: () => [...new Set([...entries.values()].map(({ tenantId }) => tenantId))],
    figures: () => ({ entries: entries.size, bytes }),
    close() {
      entries.clear();
      bytes = 0;
    },
  };
}

function sizeOf({ body, route, tenantId }: CacheEntry): number {
  return body.length + route.length + tenantId.length + ENTRY_BYTES;
}
