// Opens the watch over the gateways that share the database.
import { systemClock } from "../../core/clock.ts";
import { VERSION } from "../../core/version.ts";
import { type ReplicaWatch, openReplicaWatch } from "../../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import { stepOfProgram } from "../../store/database/contractions.ts";
import { HISTORY } from "../../store/migrations.ts";
import { type Base, processName } from "./base.ts";
import type { Storage } from "./open-storage.ts";

/** Opens the watch over the gateways that share the database and whether they use the same configuration file. */
export function openReplicas({ log, closing }: Base, { calls, store }: Storage, source: SnapshotSource): ReplicaWatch {
  const replicas = openReplicaWatch({
    table: calls,
    own: { id: crypto.randomUUID(), name: processName(), version: VERSION, schemaStep: stepOfProgram(HISTORY) },
    fingerprint: () => source.fingerprint(),
    clock: systemClock,
    onDifferent: (others) =>
      log.warn(
        { fingerprint: source.fingerprint(), others },
        "gateways on this database have different configuration files",
      ),
    onSame: (count) =>
      log.info(
        { fingerprint: source.fingerprint(), replicas: count },
        "gateways on this database have the same configuration file again",
      ),
    reviewSchema: (oldestHeard) => store.reviewSchema(oldestHeard),
    onContracted: (contractions) =>
      log.info({ contractions }, "the schema of the database was contracted: no gateway needs the earlier form"),
    onNotContracted: (message) =>
      log.warn({ error_detail: message }, "the schema of the database could not be reviewed or contracted"),
    onRefused: (message) => log.error({ error_detail: message }, "only newer gateways can use the database"),
  });
  closing.beside(() => replicas.close());
  return replicas;
}
