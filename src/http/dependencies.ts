// What calls depend on, as `/readyz?verbose` shows it. A fault in one of these does not stop calls by itself, unless
// the settings say so.
import type { LimitStore } from "../admission/limit-store.ts";
import type { JsonObject } from "../core/json.ts";
import type { ReplicaWatch } from "../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../snapshot/source.ts";
import type { OpenLedger } from "../store/open-ledger.ts";

export function dependencies(
  source: Pick<SnapshotSource, "storeStatus" | "fingerprint">,
  limits: Pick<LimitStore, "outage">,
  ledger: Pick<OpenLedger, "status">,
  replicas: Pick<ReplicaWatch, "others">,
): JsonObject {
  const { unreachedMs, problems } = source.storeStatus();
  const away = limits.outage?.() ?? null;
  const { fault, unshippedBytes, lost } = ledger.status();
  return {
    database: { reached_ms_ago: Math.round(unreachedMs), problems: [...problems] },
    limit_store: {
      driver: limits.outage === undefined ? "memory" : "valkey",
      away_for_ms: away === null ? null : Math.round(away.forMs),
      reason: away?.reason ?? null,
    },
    ledger: { writable: fault === null, reason: fault, unshipped_bytes: unshippedBytes, lost_rows: lost },
    replicas: { fingerprint: source.fingerprint(), others: replicas.others().map((other) => ({ ...other })) },
  };
}
