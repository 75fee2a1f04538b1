// The call store in PostgreSQL: rows go in over a small pool of their own, and reports have another, with a longer time for each statement, so that no report holds
// a connection that a change of the configuration waits for.
import type { Kysely } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import type { CallStore } from "./calls.ts";
import { kyselyCalls } from "./kysely-calls.ts";
import { explainingPostgres, openPostgresDatabase, type PostgresOptions } from "./postgres.ts";

const WRITERS = 2;
const READERS = 3;
const REPORT_TIMEOUT_MS = 60_000;

/** The database has to be migrated. Opens no connection yet. Throws StoreError `unusable` where the address is none. */
export function openPostgresCalls({
  url,
  connectTimeoutMs,
  reportTimeoutMs = REPORT_TIMEOUT_MS,
}: Pick<PostgresOptions, "url" | "connectTimeoutMs"> & { readonly reportTimeoutMs?: number }): CallStore {
  const connection = { url, ...(connectTimeoutMs !== undefined && { connectTimeoutMs }) };
  const writing = openPostgresDatabase({ ...connection, poolSize: WRITERS });
  const reports = openPostgresDatabase({ ...connection, poolSize: READERS, statementTimeoutMs: reportTimeoutMs });
  const close = async (): Promise<void> => void (await Promise.all([writing.store.close(), reports.store.close()]));
  return explainingPostgres(
    kyselyCalls(writing.db as unknown as Kysely<CallSchema>, reports.db as unknown as Kysely<CallSchema>, close),
    url,
  );
}
