// Opens the store of what operations keep of calls: in a Valkey or Redis that the configuration names for the response
// cache or for limits, else in the memory of the machine.
import type { ConnectionOptions } from "../../admission/valkey/valkey-connection.ts";
import { KeptObjects } from "../../engine/keeping/kept-objects.ts";
import type { KeptStore } from "../../engine/keeping/kept-store.ts";
import { reportedStore } from "../../engine/keeping/reported-store.ts";
import { sealedStore } from "../../engine/keeping/sealed-store.ts";
import { placesStore } from "../../engine/keeping/places-store.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { ServerOptions } from "../../snapshot/server-options.ts";
import { systemClock } from "../../core/clock.ts";
import { messageOf } from "../../core/thrown.ts";
import type { Base } from "./base.ts";

/**
 * Follows the tenants and projects of the configuration. `ofMachine` is the store that all processes of the machine share;
 * `null` when this process is the only one.
 */
export async function openKept(
  base: Base,
  masterKeys: () => readonly Uint8Array[],
  source: Pick<SnapshotSource, "current" | "subscribe">,
  ofMachine: KeptStore<Uint8Array> | null,
): Promise<KeptStore<unknown>> {
  const store = await openStore(base, masterKeys, ofMachine);
  const { kept, end } = placesStore(store, {
    snapshot: () => source.current(),
    subscribe: (changed) => source.subscribe(changed),
  });
  base.closing.add(end);
  return kept;
}

async function openStore(
  { options, log, closing }: Base,
  masterKeys: () => readonly Uint8Array[],
  ofMachine: KeptStore<Uint8Array> | null,
): Promise<KeptStore<unknown>> {
  const address = sharedAddress(options);
  if (address === null && ofMachine === null) {
    const kept = new KeptObjects(systemClock);
    closing.beside(() => kept.close());
    return kept;
  }
  const shared =
    address === null
      ? ofMachine!
      : await (await import("../../engine/keeping/valkey-store.ts")).openValkeyStore(address, systemClock);
  closing.beside(() => shared.close());
  return reportedStore(
    sealedStore<unknown>(shared, masterKeys, () => systemClock.now()),
    (error) => {
      if (error === null) log.info({ source: "kept_responses" }, "the store of responses that are kept works again");
      else
        log.warn(
          { source: "kept_responses", error_detail: messageOf(error) },
          "the store of responses that are kept cannot be reached: none is kept or found until it works again",
        );
    },
  );
}

/** The store of the response cache is preferred, because it may be full without harm. */
function sharedAddress({ cache, limitStore }: Pick<ServerOptions, "cache" | "limitStore">): ConnectionOptions | null {
  return cache.store === "valkey" ? { url: cache.url!, clusterNodes: cache.clusterNodes } : limitStore;
}
