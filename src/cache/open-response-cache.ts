// Opens the response cache with the store that the configuration names, and removes what was kept of tenants that are
// gone or no longer allow it.
import type { Clock } from "../core/clock.ts";
import type { Snapshot } from "../core/snapshot.ts";
import type { Log } from "../observe/log.ts";
import { messageOf } from "../core/thrown.ts";
import type { AnswerCache } from "./answer-cache.ts";
import type { CacheStoreSettings } from "./cache-settings.ts";
import { cacheSecrets } from "./cache-secrets.ts";
import { openMemoryCache } from "./memory.ts";
import { ResponseCache } from "./response-cache.ts";
import { sealedCache } from "./sealed.ts";

export interface OpenResponseCacheOptions {
  readonly settings: CacheStoreSettings;
  /** The first one counts. Answers that were sealed under an earlier one are no longer found. */
  readonly masterKeys: () => readonly Uint8Array[];
  /** The file of the store `sqlite`. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Pick<Log, "info" | "warn">;
}

export async function openResponseCache({
  settings,
  masterKeys,
  file,
  clock,
  log,
}: OpenResponseCacheOptions): Promise<ResponseCache> {
  const keys = cacheSecrets(masterKeys);
  let reportedGarbage = false;
  const onGarbage = (): void => {
    cache.garbageFound();
    if (!reportedGarbage)
      log.warn(
        { source: "cache" },
        "the store of the response cache holds entries that cannot be opened, for example of another master key; they are ignored",
      );
    reportedGarbage = true;
  };
  const sealed = (store: AnswerCache): AnswerCache => sealedCache(store, keys, onGarbage);
  const cache = new ResponseCache({
    store: settings.store === "memory" ? openMemoryCache(settings.maxBytes) : sealed(await openStore(settings, file)),
    keys,
    clock,
    maxAnswerBytes: settings.maxAnswerBytes,
    onFault(fault, error) {
      if (fault === null) log.info({ source: "cache" }, "the store of the response cache works again");
      else if (fault === "away")
        log.warn(
          { source: "cache", error_detail: messageOf(error) },
          "the store of the response cache cannot be used: the providers answer all calls until it works again",
        );
      else
        log.warn(
          { source: "cache", error_detail: messageOf(error) },
          "the store of the response cache does not keep new answers",
        );
    },
  });
  return cache;
}

/** A driver is loaded only where it is configured. */
async function openStore(settings: CacheStoreSettings, file: string): Promise<AnswerCache> {
  if (settings.store === "sqlite")
    return (await import("./sqlite.ts")).openSqliteCache({ file, maxBytes: settings.maxBytes });
  return (await import("./valkey.ts")).openValkeyCache({ url: settings.url!, clusterNodes: settings.clusterNodes });
}

/** The tenants that exist and allow the cache. */
export function tenantsWithCache({ projects, tenantSettings }: Snapshot): ReadonlySet<string> {
  const allowing = new Set<string>();
  for (const { tenantId } of projects.values())
    if (tenantSettings.get(tenantId)?.cacheAllowed === true) allowing.add(tenantId);
  return allowing;
}

/** How often tenants that are gone are looked for again, because the store may have been away. */
const FOLLOW_MS = 60_000;

/** Removes what was kept of tenants that are gone or no longer allow it. Returns a function that ends that. */
export function followTenants(
  cache: Pick<ResponseCache, "keepOnly">,
  snapshot: () => Snapshot,
  subscribe: (changed: () => void) => void,
): () => void {
  let known = "";
  const look = (isRepeated: boolean): void => {
    const tenants = tenantsWithCache(snapshot());
    const now = [...tenants].toSorted().join("\n");
    if (now === known && !isRepeated) return;
    known = now;
    void cache.keepOnly(tenants);
  };
  subscribe(() => look(false));
  look(true);
  const timer = setInterval(look, FOLLOW_MS, true).unref();
  return () => clearInterval(timer);
}
