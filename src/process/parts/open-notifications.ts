// Opens what others are notified of: integrations and events.
import { systemClock } from "../../core/clock.ts";
import type { Events } from "../../core/record/event.ts";
import { requireIntegrationPaths } from "../../observe/integrations/integration-paths.ts";
import {
  type DeliveringIntegrations,
  type Integrations,
  openIntegrations,
} from "../../observe/integrations/integrations.ts";
import { type OpenEvents, openEvents } from "../../observe/webhooks/open-events.ts";
import { breakerEvent } from "../../routing/health/breaker-event.ts";
import type { BreakerChange } from "../../routing/health/health.ts";
import type { SnapshotSource } from "../../snapshot/source.ts";
import { openEvents as openEventQueue } from "../../store/open-database.ts";
import { type Base, LAST_WRITES_MS, processName } from "./base.ts";
import type { ExternalClients } from "./open-external-clients.ts";
import type { Storage } from "./open-storage.ts";

/** Time for integrations to deliver the last records, and for their threads to confirm it. */
const LAST_RECORDS_MS = 3000;

const LAST_THREADS_MS = LAST_RECORDS_MS + 1000;

export interface Notifications<Delivery extends Integrations = Integrations> {
  readonly integrations: Delivery | null;
  readonly events: OpenEvents;
}

export interface NotificationParts {
  readonly source: SnapshotSource;
  readonly storage: Storage;
  readonly externalClients: Pick<ExternalClients, "upstream">;
}

/** Opens the notifications about each call and about events. */
export async function openNotifications(
  { options, loaded: { file: configFile }, log, closing }: Base,
  { source, storage: { store }, externalClients: { upstream } }: NotificationParts,
): Promise<Notifications<DeliveringIntegrations>> {
  const configured = source.configuration().integrations;
  requireIntegrationPaths(configured, configFile);
  const integrations = openIntegrations({ integrations: configured, configFile, log });
  closing.beside(() => integrations?.end(LAST_RECORDS_MS), LAST_THREADS_MS);
  const events = openEvents({
    queue: await openEventQueue(options),
    store,
    clock: systemClock,
    upstream,
    snapshot: () => source.current(),
    random: Math.random,
    log,
  });
  closing.beside(() => events.close(LAST_WRITES_MS));
  return { integrations, events };
}

/** Reports breakers that open or close as events. */
export function breakerReports(events: Events): (change: BreakerChange) => void {
  return (change) => {
    const event = breakerEvent(change, processName());
    if (event !== null) events.emit(event);
  };
}
