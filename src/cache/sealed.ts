// Seals what a driver keeps outside of this process. An entry that cannot be opened does not exist.
import { whenReady } from "../core/maybe-promise.ts";
import type { AnswerCache, CacheEntry } from "./answer-cache.ts";
import type { CacheSecrets } from "./cache-secrets.ts";

/** `onGarbage` is called for each entry that the store returns and that is not one of the gateway's. */
export function sealedCache(
  store: AnswerCache,
  keys: Pick<CacheSecrets, "seal" | "open">,
  onGarbage: () => void,
): AnswerCache {
  const opened = (entry: CacheEntry | null): CacheEntry | null => {
    const body = entry === null ? null : keys.open(entry);
    if (entry !== null && body === null) onGarbage();
    return entry === null || body === null ? null : { ...entry, body };
  };
  return {
    get: (address, nowMs) => whenReady(store.get(address, nowMs), opened),
    put: (entry, nowMs) => store.put({ ...entry, body: keys.seal(entry) }, nowMs),
    purge: (place, atMs, nowMs) => store.purge(place, atMs, nowMs),
    tenants: () => store.tenants(),
    figures: () => store.figures(),
    close: () => store.close(),
  };
}
