// The call store over any database that Kysely supports.
import { type Kysely, sql } from "kysely";
import { attempts } from "../sums/attempt-sums.ts";
import { contentKey, countContents, findContent, keepContents, removeContents } from "./call-contents.ts";
import { facets } from "../search/call-facets.ts";
import { histogram } from "../search/call-histogram.ts";
import { incomingOf, ingestCalls } from "./call-ingest.ts";
import { prune } from "./call-pruning.ts";
import { findCall, lastUses, storedCall } from "./call-reads.ts";
import type { CallSchema } from "./call-schema.ts";
import type { CallStore } from "./calls.ts";
import { findPlaces } from "./journal-places.ts";
import { searchCalls } from "../search/log-search.ts";
import { postgresInserts } from "./postgres-inserts.ts";
import { unregisterReplica, registerReplica } from "../database/replicas.ts";
import { bindObjects, boundObjects, pruneObjects } from "../vendor-objects.ts";
import { rollUpNewest } from "../sums/roll-ups.ts";
import { spent, usage, usageTotals } from "../sums/usage-reads.ts";

/** Long reads use `reports`, which has so many connections; `close` closes both databases. */
export function kyselyCalls(
  db: Kysely<CallSchema>,
  [reports, readers]: readonly [db: Kysely<CallSchema>, connections: number],
  close: () => Promise<void>,
): CallStore {
  const inserts = postgresInserts();
  return {
    ingest: (rows, place) => ingestCalls(db, rows.map(incomingOf), place, inserts),
    places: (journals, runs) => findPlaces(db, journals, runs),
    findCall: async (traceId, tenantId) => storedCall(await findCall(reports, traceId, tenantId)),
    searchCalls: (page, filter) => searchCalls(reports, page, filter),
    contentKey: (tenantId, encrypted) => contentKey(db, tenantId, encrypted),
    keepContents: (contents) => keepContents(db, contents),
    findContent: (traceId) => findContent(reports, traceId),
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
      for (let opened = 0; opened < readers; opened++) sql`select 1`.execute(reports).catch(() => {});
    },
    spent: (query) => spent(reports, query),
    rollUp: () => rollUpNewest(db),
    prune: (before) => prune(db, before),
    registerReplica: (own, gone) => registerReplica(db, own, gone),
    unregisterReplica: (id) => unregisterReplica(db, id),
    bindObjects: (objects) => bindObjects(db, objects),
    boundObjects: (idHashes, nowMs) => boundObjects(db, idHashes, nowMs),
    pruneObjects: (nowMs) => pruneObjects(db, nowMs),
    close,
  };
}
