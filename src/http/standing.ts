// How a gateway stands, as `/readyz?verbose` shows it: the calls in flight, the targets, and what calls depend on, of one
// process or of all processes of a machine. A fault in what calls depend on does not stop calls by itself, unless the
// settings say so.
import type { LimitStore } from "../admission/limit-store.ts";
import type { JsonObject } from "../core/json.ts";
import type { IntegrationStatus } from "../observe/integrations/integrations.ts";
import type { TargetStatus } from "../observe/metrics/metrics.ts";
import type { WorkerFigures } from "../observe/metrics/worker-gauges.ts";
import type { OtherReplica, ReplicaWatch } from "../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../snapshot/source.ts";
import type { OpenLedger } from "../store/journal/open-ledger.ts";

/** Of one process, as JSON: processes send it to each other. */
export interface ProcessStanding {
  readonly snapshot: number;
  readonly callsInFlight: number;
  readonly targets: readonly TargetStatus[];
  readonly dependencies: Dependencies;
  readonly integrations: readonly IntegrationStatus[];
}

export interface Standing extends ProcessStanding {
  /** `null` while one process serves alone. */
  readonly workers: WorkerFigures | null;
}

export interface Dependencies {
  /** `fault`: why the configuration file as it is now is not in use. */
  readonly configuration: { readonly fault: string | null };
  readonly database: { readonly unreachedMs: number; readonly problems: readonly string[] };
  readonly limitStore: {
    readonly driver: "memory" | "valkey";
    readonly awayForMs: number | null;
    readonly reason: string | null;
  };
  readonly ledger: { readonly fault: string | null; readonly unshippedBytes: number; readonly lost: number };
  readonly replicas: { readonly fingerprint: string; readonly others: readonly OtherReplica[] };
}

export function dependencies(
  source: Pick<SnapshotSource, "fileFault" | "storeStatus" | "fingerprint">,
  limits: Pick<LimitStore, "outage">,
  ledger: Pick<OpenLedger, "status">,
  replicas: Pick<ReplicaWatch, "others">,
): Dependencies {
  const away = limits.outage?.() ?? null;
  const { fault, unshippedBytes, lost } = ledger.status();
  return {
    configuration: { fault: source.fileFault() },
    database: source.storeStatus(),
    limitStore: {
      driver: limits.outage === undefined ? "memory" : "valkey",
      awayForMs: away?.forMs ?? null,
      reason: away?.reason ?? null,
    },
    ledger: { fault, unshippedBytes, lost },
    replicas: { fingerprint: source.fingerprint(), others: replicas.others() },
  };
}

/**
 * How the machine stands. `supervisor` has the limit store and the view of other replicas for all; of the database and
 * the ledger the worst is shown.
 */
export function machineStanding(
  supervisor: ProcessStanding,
  serving: readonly ProcessStanding[],
  workers: WorkerFigures,
): Standing {
  const all = [supervisor, ...serving].map((standing) => standing.dependencies);
  const sum = (of: (standing: Dependencies) => number): number => all.reduce((total, one) => total + of(one), 0);
  return {
    workers,
    snapshot: supervisor.snapshot,
    callsInFlight: serving.reduce((total, { callsInFlight }) => total + callsInFlight, 0),
    targets: machineTargets(serving.map(({ targets }) => targets)),
    // only the supervisor delivers
    integrations: supervisor.integrations,
    dependencies: {
      configuration: all.find(({ configuration }) => configuration.fault !== null)?.configuration ?? { fault: null },
      database: {
        unreachedMs: Math.max(...all.map(({ database }) => database.unreachedMs)),
        problems: [...new Set(all.flatMap(({ database }) => database.problems))],
      },
      limitStore: supervisor.dependencies.limitStore,
      ledger: {
        fault: all.find(({ ledger }) => ledger.fault !== null)?.ledger.fault ?? null,
        unshippedBytes: sum(({ ledger }) => ledger.unshippedBytes),
        lost: sum(({ ledger }) => ledger.lost),
      },
      replicas: supervisor.dependencies.replicas,
    },
  };
}

/** From the best to the worst. */
const STATES: readonly TargetStatus["state"][] = ["closed", "half_open", "rate_limited", "open"];

/** Processes exchange what they learn of targets, so their states differ for moments only. */
function machineTargets(processes: readonly (readonly TargetStatus[])[]): readonly TargetStatus[] {
  const byPlace = Map.groupBy(processes.flat(), ({ target, owner }) => `${target} ${owner ?? ""}`);
  return [...byPlace.values()].map((same) => {
    const { target, owner } = same[0]!;
    const measured = same.map(({ firstContentMs }) => firstContentMs).filter((ms) => ms !== null);
    const openFor = same.map(({ openForMs }) => openForMs).filter((ms) => ms !== null);
    return {
      target,
      owner,
      state: STATES[Math.max(...same.map(({ state }) => STATES.indexOf(state)))]!,
      inFlight: same.reduce((total, { inFlight }) => total + inFlight, 0),
      waiting: same.reduce((total, { waiting }) => total + waiting, 0),
      firstContentMs: measured.length === 0 ? null : measured.reduce((total, ms) => total + ms, 0) / measured.length,
      openForMs: openFor.length === 0 ? null : Math.max(...openFor),
    };
  });
}

export function shownStanding({ snapshot, callsInFlight, workers, dependencies: needed }: Standing): JsonObject {
  const { configuration, database, limitStore, ledger, replicas } = needed;
  return {
    snapshot,
    ...(workers !== null && { workers: { count: workers.count, answered: workers.answered } }),
    calls_in_flight: callsInFlight,
    configuration: { current: configuration.fault === null, reason: configuration.fault },
    database: { reached_ms_ago: Math.round(database.unreachedMs), problems: [...database.problems] },
    limit_store: {
      driver: limitStore.driver,
      away_for_ms: rounded(limitStore.awayForMs),
      reason: limitStore.reason,
    },
    ledger: {
      writable: ledger.fault === null,
      reason: ledger.fault,
      unshipped_bytes: ledger.unshippedBytes,
      lost_rows: ledger.lost,
    },
    replicas: { fingerprint: replicas.fingerprint, others: replicas.others.map((other) => ({ ...other })) },
  };
}

/** Without those of a tenant's own providers. */
export function shownTargets(targets: readonly TargetStatus[]): readonly JsonObject[] {
  const ofAll = targets.filter(({ owner }) => owner === null);
  return ofAll.map(({ target, state, inFlight, waiting, firstContentMs, openForMs }) => ({
    target,
    state,
    calls_in_flight: inFlight,
    calls_waiting: waiting,
    first_content_ms: rounded(firstContentMs),
    open_for_ms: rounded(openForMs),
  }));
}

export function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}
