// The call store in PostgreSQL. Rows are written over a small pool of their own. Reports have another pool with a
// longer statement timeout, so that no report holds a connection that a configuration change waits for.
import type { Kysely } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import type { CallStore } from "./calls.ts";
import { kyselyCalls } from "./kysely-calls.ts";
import { explainingPostgres, openPostgresDatabase, type PostgresOptions } from "../postgres.ts";

const WRITERS = 2;
const READERS = 3;
const REPORT_TIMEOUT_MS = 60_000;

/** The database has to be migrated. Opens no connection yet. Throws StoreError `unusable` for an invalid address. */
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
    kyselyCalls(
      writing.db as unknown as Kysely<CallSchema>,
      [reports.db as unknown as Kysely<CallSchema>, READERS],
      close,
    ),
    url,
  );
}
