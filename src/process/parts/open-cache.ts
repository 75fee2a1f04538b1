// Opens the response cache.
import { join } from "node:path";
import { followPurges } from "../../cache/follow-purges.ts";
import { followTenants, openResponseCache } from "../../cache/open-response-cache.ts";
import { systemClock } from "../../core/clock.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { Base } from "./base.ts";
import type { Storage } from "./open-storage.ts";

/** Opens the response cache, whose driver is loaded only where it is configured. */
export async function openCache(
  { options: { cache: settings, dataFolder }, log, closing }: Base,
  { store }: Storage,
  source: SnapshotSource,
  masterKeys: () => readonly Uint8Array[],
) {
  const cache = await openResponseCache({
    settings,
    masterKeys,
    file: join(dataFolder, "cache.sqlite"),
    clock: systemClock,
    log,
  });
  closing.beside(() => cache.close());
  closing.add(
    followTenants(
      cache,
      () => source.current(),
      (changed) => source.subscribe(changed),
    ),
  );
  const purges = followPurges({ cache, reader: store, clock: systemClock });
  closing.add(() => purges.end());
  return { cache, purges };
}
