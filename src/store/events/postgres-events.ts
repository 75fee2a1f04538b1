// The event queue in PostgreSQL, over a small pool of its own, so that deliveries to webhooks hold no connection that
// other work waits for.
import type { EventQueue } from "./events.ts";
import { kyselyEvents } from "./kysely-events.ts";
import { explainingPostgres, openPostgresDatabase, type PostgresOptions } from "../postgres.ts";

const CONNECTIONS = 2;

/** The database has to be migrated. Opens no connection yet. Throws StoreError `unusable` for an invalid address. */
export function openPostgresEvents({
  url,
  mostWaiting,
  ...timeouts
}: Pick<PostgresOptions, "url" | "connectTimeoutMs" | "statementTimeoutMs"> & {
  readonly mostWaiting?: number;
}): EventQueue {
  const { db, store } = openPostgresDatabase({ url, ...timeouts, poolSize: CONNECTIONS });
  return explainingPostgres(
    kyselyEvents(db, () => store.close(), mostWaiting),
    url,
  );
}
