// Opens what a process has whether it serves calls or supervises those that do, in the order in which one part needs
// another: the database, the configuration, records, the watch over replicas, notifications, metrics, and limits.
import { dependencies, type ProcessStanding } from "../../http/standing.ts";
import type { Integrations } from "../../observe/integrations/integrations.ts";
import type { Metrics } from "../../observe/metrics/metrics.ts";
import type { ReplicaWatch } from "../../snapshot/replica-watch.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import type { Base } from "./base.ts";
import { openConfiguration } from "./open-configuration.ts";
import type { ExternalClients } from "./open-external-clients.ts";
import type { OpenLimits } from "./open-limits.ts";
import type { NotificationParts, Notifications } from "./open-notifications.ts";
import type { Records } from "./open-records.ts";
import type { Storage } from "./open-storage.ts";
import type { ProcessParts } from "./process-parts.ts";

type Clients = Pick<ExternalClients, "upstream">;
type LimitMetrics = Pick<Metrics, "limitStoreAnswered">;

interface Counted<Client extends Clients, Delivery extends Integrations> {
  readonly storage: Storage;
  readonly source: SnapshotSource;
  readonly records: Records;
  readonly replicas: ReplicaWatch;
  readonly clients: Client;
  readonly notifications: Notifications<Delivery>;
}

export interface GatewayParts<
  Client extends Clients,
  Metering extends LimitMetrics,
  Delivery extends Integrations,
> extends Counted<Client, Delivery> {
  readonly metrics: Metering;
  readonly limits: OpenLimits;
}

/** What a process has in its own way. */
interface OwnWays<Client extends Clients, Metering extends LimitMetrics, Delivery extends Integrations> {
  readonly openClients: (source: SnapshotSource) => Client;
  /** Limits are opened after the metrics, because they report their response times to them. */
  readonly openMetrics: (parts: Counted<Client, Delivery>, limits: () => OpenLimits) => Metering;
}

export async function openGatewayParts<
  Client extends Clients,
  Metering extends LimitMetrics,
  Delivery extends Integrations,
>(
  base: Base,
  parts: Pick<ProcessParts, "openStorage" | "openRecords" | "openReplicas" | "openLimits" | "machine"> & {
    readonly openNotifications: (base: Base, parts: NotificationParts) => Promise<Notifications<Delivery>>;
  },
  { openClients, openMetrics }: OwnWays<Client, Metering, Delivery>,
): Promise<GatewayParts<Client, Metering, Delivery>> {
  const storage = await parts.openStorage(base);
  const source = await openConfiguration(base, storage, parts.machine === null);
  const records = await parts.openRecords(base, storage);
  const replicas = parts.openReplicas(base, storage, source);
  const clients = openClients(source);
  const notifications = await parts.openNotifications(base, { source, storage, externalClients: clients });
  source.subscribe(() => notifications.events.wake());
  const counted = { storage, source, records, replicas, clients, notifications };
  const metrics = openMetrics(counted, () => limits);
  const limits = await parts.openLimits(base, records, source.current().limitRules, metrics.limitStoreAnswered);
  return { ...counted, metrics, limits };
}

export function standingOf(
  {
    source,
    notifications,
    limits,
    records,
    replicas,
  }: Pick<
    GatewayParts<Clients, LimitMetrics, Integrations>,
    "source" | "notifications" | "limits" | "records" | "replicas"
  >,
  serving: Pick<ProcessStanding, "callsInFlight" | "targets">,
): ProcessStanding {
  return {
    snapshot: source.current().version,
    ...serving,
    integrations: notifications.integrations?.statuses() ?? [],
    dependencies: dependencies(source, limits, records.ledger, replicas),
  };
}
