// Opens the configuration that calls read, and reports its changes.
import { readCatalogue } from "../../accounting/model-catalogue.ts";
import type { Log } from "../../observe/log.ts";
import { providers } from "../../providers/registry.ts";
import { type SnapshotSource, openSnapshotSource } from "../../snapshot/source.ts";
import type { Base } from "./base.ts";
import type { Storage } from "./open-storage.ts";
import { PROVIDER_FAMILIES } from "./provider-families.ts";

/** `isReported` is false in a process beside which another one reports what is wrong with the configuration. */
export async function openConfiguration(
  { options, loaded, environment, log, closing }: Base,
  { store }: Storage,
  isReported: boolean,
): Promise<SnapshotSource> {
  const source = await openSnapshotSource({
    loaded,
    store,
    families: PROVIDER_FAMILIES,
    environment,
    workers: options.workers,
    onProblem({ source: of, message }) {
      if (isReported || of === "listener")
        log[of === "notice" ? "info" : of === "listener" ? "error" : "warn"]({ source: of }, message);
    },
  });
  closing.add(() => source.close());
  if (isReported) reportChanges(source, log);
  if (
    [...source.current().providers.values()].some(
      ({ enabled, family }) => enabled && providers.get(family)?.catalogue !== null,
    )
  )
    readCatalogue();
  return source;
}

function reportChanges(source: SnapshotSource, log: Log): void {
  source.subscribe((snapshot) => log.info({ snapshot: snapshot.version }, "configuration and tokens reloaded"));
  source.subscribe(integrationsWatch(source, log));
}

/** Warns once for each change. */
function integrationsWatch(source: SnapshotSource, log: Log): () => void {
  let reported = JSON.stringify(source.configuration().integrations);
  return () => {
    const now = JSON.stringify(source.configuration().integrations);
    if (now !== reported)
      log.warn({ source: "file" }, "integrations have changed in the configuration: restart to apply them");
    reported = now;
  };
}
