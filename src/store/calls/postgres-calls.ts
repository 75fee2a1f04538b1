// The call store in PostgreSQL. Rows are written over a small pool of their own. Reports have another pool with a
// longer statement timeout, so that no report holds a connection that a configuration change waits for.
import { type Kysely, sql } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import type { CallStore } from "./calls.ts";
import { explainingPostgres, openPostgresDatabase, type PostgresOptions } from "../postgres.ts";
import { attempts } from "../sums/attempt-sums.ts";
import { contentKey, countContents, findContents, keepContents, removeContents } from "./call-contents.ts";
import { facets } from "../search/call-facets.ts";
import { histogram } from "../search/call-histogram.ts";
import { incomingOf, ingestCalls } from "./call-ingest.ts";
import { prune } from "./call-pruning.ts";
import { findCall, lastUses, storedCall } from "./call-reads.ts";
import { findPlaces } from "./journal-places.ts";
import { searchCalls } from "../search/log-search.ts";
import { postgresInserts } from "./postgres-inserts.ts";
import { unregisterReplica, registerReplica } from "../database/replicas.ts";
import { bindObjects, boundObjects, pruneObjects } from "../vendor-objects.ts";
import { rollUpNewest } from "../sums/roll-ups.ts";
import { spent, usage, usageTotals } from "../sums/usage-reads.ts";

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
  const db = writing.db as unknown as Kysely<CallSchema>;
  const reports = reading.db as unknown as Kysely<CallSchema>;
  const inserts = postgresInserts();
  const calls: CallStore = {
    ingest: (rows, place) => ingestCalls(db, rows.map(incomingOf), place, inserts),
    places: (journals, runs) => findPlaces(db, journals, runs),
    findCall: async (traceId, tenantId) => storedCall(await findCall(reports, traceId, tenantId)),
    searchCalls: (page, filter) => searchCalls(reports, page, filter),
    contentKey: (tenantId, encrypted) => contentKey(db, tenantId, encrypted),
    keepContents: (contents, keys) => keepContents(db, contents, keys),
    findContents: (traceIds) => findContents(reports, traceIds),
    countContents: (place) => countContents(reports, place),
    removeContents: (which) => removeContents(db, which),
    usage: (page, query) => usage(reports, page, query),
    usageTotals: (query) => usageTotals(reports, query),
    histogram: (query) => histogram(reports, query),
    lastUses: (tokenIds) => lastUses(reports, tokenIds),
    attempts: (query) => attempts(reports, query),
    facets: (query) => facets(reports, query),
    prepareReports() {
      // a connection that cannot be opened says so to who asks something
      for (let opened = 0; opened < READERS; opened++) sql`select 1`.execute(reports).catch(() => {});
    },
    spent: (query) => spent(reports, query),
    rollUp: () => rollUpNewest(db),
    prune: (before) => prune(db, before),
    registerReplica: (own, gone) => registerReplica(db, own, gone),
    unregisterReplica: (id) => unregisterReplica(db, id),
    bindObjects: (objects) => bindObjects(db, objects),
    boundObjects: (idHashes, nowMs) => boundObjects(db, idHashes, nowMs),
    pruneObjects: (nowMs) => pruneObjects(db, nowMs),
    close: async () => void (await Promise.all([writing.store.close(), reading.store.close()])),
  };
  return explainingPostgres(calls, url);
}
