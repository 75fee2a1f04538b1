// The call store in PostgreSQL. Rows are written over a small pool of their own. Reports have another pool with a
// longer statement timeout, so that no report holds a connection that a configuration change waits for.
import { sql } from "kysely";
import { ASKED, asked, type CallStore } from "./calls.ts";
import { explainingPostgres, openPostgresDatabase, type PostgresOptions } from "../postgres.ts";
import { incomingOf, ingestCalls } from "./call-ingest.ts";
import { answered } from "./call-queries.ts";
import { findCall, storedCall } from "./call-reads.ts";
import { postgresInserts } from "./postgres-inserts.ts";

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
  const reading = openPostgresDatabase({ ...connection, poolSize: READERS, statementTimeoutMs: reportTimeoutMs });
  const [db, reports] = [writing.db, reading.db];
  const inserts = postgresInserts();
  const calls: CallStore = {
    ...asked([...ASKED.additions, ...ASKED.changes], (name, args) => answered(db, name, args)),
    ...asked([...ASKED.reads, ...ASKED.reports], (name, args) => answered(reports, name, args)),
    ingest: (rows, place) => ingestCalls(db, rows.map(incomingOf), place, inserts),
    findCall: async (traceId, tenantId) => storedCall(await findCall(reports, traceId, tenantId)),
    prepareReports() {
      // a connection that cannot be opened says so to who asks something
      for (let opened = 0; opened < READERS; opened++) sql`select 1`.execute(reports).catch(() => {});
    },
    close: async () => void (await Promise.all([writing.store.close(), reading.store.close()])),
  };
  return explainingPostgres(calls, url);
}
