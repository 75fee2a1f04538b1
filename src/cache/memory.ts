// Answers kept in this process, within a number of bytes. When there is no room, the entry goes that was used the longest
// ago: of the tenant whose entry comes, where that tenant has more than half, else of all.
import { type AnswerCache, type CacheEntry, type CachePlace, isAskedBefore, isAt } from "./answer-cache.ts";

/** What an entry takes beside its body, roughly. */
const ENTRY_BYTES = 512;
/** Only the latest purges matter: an answer that is asked for before one of them arrives soon after it. */
const MAX_PURGES = 1000;

interface KeptEntry {
  readonly entry: CacheEntry;
  /** The counter is shared by all tenants. */
  readonly lastUse: number;
}

interface TenantEntries {
  bytes: number;
  /** By key; the entry that was used last is the last one. */
  readonly entries: Map<string, KeptEntry>;
}

export function openMemoryCache(maxBytes: number): AnswerCache {
  const tenants = new Map<string, TenantEntries>();
  const purges: (CachePlace & { readonly atMs: number })[] = [];
  let bytes = 0;
  let uses = 0;
  const remove = (entry: CacheEntry): void => {
    const own = tenants.get(entry.tenantId)!;
    own.entries.delete(entry.key);
    own.bytes -= sizeOf(entry);
    bytes -= sizeOf(entry);
    if (own.entries.size === 0) tenants.delete(entry.tenantId);
  };
  const add = (entry: CacheEntry): void => {
    const own = tenants.get(entry.tenantId) ?? { bytes: 0, entries: new Map() };
    tenants.set(entry.tenantId, own);
    own.entries.set(entry.key, { entry, lastUse: ++uses });
    own.bytes += sizeOf(entry);
    bytes += sizeOf(entry);
  };
  const removeWhere = (isGone: (entry: CacheEntry) => boolean): number => {
    const gone = [...tenants.values()].flatMap(({ entries }) =>
      [...entries.values()].flatMap(({ entry }) => (isGone(entry) ? [entry] : [])),
    );
    for (const entry of gone) remove(entry);
    return gone.length;
  };
  /** Expects at least one entry. */
  const nextToGo = (tenantId: string): CacheEntry => {
    const own = tenants.get(tenantId);
    let oldest: KeptEntry | null = null;
    for (const { entries } of own !== undefined && own.bytes > maxBytes / 2 ? [own] : tenants.values()) {
      const first = entries.values().next().value!;
      if (oldest === null || first.lastUse < oldest.lastUse) oldest = first;
    }
    return oldest!.entry;
  };
  return {
    get({ tenantId, key }, nowMs) {
      const entry = tenants.get(tenantId)?.entries.get(key)?.entry;
      if (entry === undefined) return null;
      remove(entry);
      if (entry.expiresAtMs <= nowMs) return null;
      add(entry);
      return entry;
    },
    put(entry, nowMs) {
      if (entry.expiresAtMs <= nowMs) return;
      if (purges.some((purge) => entry.askedAtMs <= purge.atMs && isAt(entry, purge))) return;
      const before = tenants.get(entry.tenantId)?.entries.get(entry.key);
      if (before !== undefined) remove(before.entry);
      const size = sizeOf(entry);
      if (size > maxBytes) return;
      if (bytes + size > maxBytes) removeWhere(({ expiresAtMs }) => expiresAtMs <= nowMs);
      while (bytes + size > maxBytes) remove(nextToGo(entry.tenantId));
      add(entry);
    },
    purge(place, atMs, nowMs) {
      purges.push({ ...place, atMs });
      if (purges.length > MAX_PURGES) purges.shift();
      return removeWhere((entry) => isAskedBefore(entry, atMs, nowMs) && isAt(entry, place));
    },
    tenants: () => [...tenants.keys()],
    figures: () => ({
      entries: [...tenants.values()].reduce((sum, { entries }) => sum + entries.size, 0),
      bytes,
    }),
    close() {
      tenants.clear();
      bytes = 0;
    },
  };
}

function sizeOf({ body, route, tenantId }: CacheEntry): number {
  return body.length + route.length + tenantId.length + ENTRY_BYTES;
}
