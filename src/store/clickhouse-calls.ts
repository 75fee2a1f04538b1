// The call store in ClickHouse: calls, their records and their sums. What belongs to the database of the gateway stays
// there: content and its keys, places of journals, replicas, and ids of vendors.
import type { CallStore } from "./calls.ts";
import { facetsIn, histogramIn } from "./clickhouse-charts.ts";
import { type ClickHouseOptions, openClickHouse } from "./clickhouse-client.ts";
import { ingestInto } from "./clickhouse-ingest.ts";
import { pruneIn } from "./clickhouse-retention.ts";
import { migrateClickHouse } from "./clickhouse-schema.ts";
import { findIn, recordedIn, searchIn } from "./clickhouse-search.ts";
import { attemptsIn, lastUsesIn } from "./clickhouse-attempts.ts";
import { spentIn, usageIn, usageTotalsIn } from "./clickhouse-usage.ts";
import type { RecordedCalls, RecordedQuery } from "./calls.ts";

export interface ClickHouseCalls extends CallStore {
  /** What simulations read. */
  recorded(query: RecordedQuery): Promise<RecordedCalls>;
}

/** Makes the tables where they are missing. `base` has the rest, and is closed with it. Throws StoreError. */
export async function openClickHouseCalls(options: ClickHouseOptions, base: CallStore): Promise<ClickHouseCalls> {
  const database = openClickHouse(options);
  await migrateClickHouse(database);
  return {
    ...base,
    async ingest(rows, place) {
      if (rows.length > 0) await ingestInto(database, rows);
      // Rows that are sent again because this failed are found to be there.
      if (place !== undefined) await base.ingest([], place);
    },
    findCall: (traceId, tenantId) => findIn(database, traceId, tenantId),
    searchCalls: (page, filter) => searchIn(database, page, filter),
    usage: (page, query) => usageIn(database, page, query),
    usageTotals: (query) => usageTotalsIn(database, query),
    histogram: (query) => histogramIn(database, query),
    lastUses: (tokenIds) => lastUsesIn(database, tokenIds),
    attempts: (query) => attemptsIn(database, query),
    facets: (query) => facetsIn(database, query),
    spent: (query) => spentIn(database, query),
    prune: async (before) =>
      (await pruneIn(database, before)) +
      (await base.prune({ callsMs: null, detailsMs: null, placesMs: before.placesMs })),
    prepareReports: () => {},
    moveEarlier: () => Promise.resolve(0),
    recorded: (query) => recordedIn(database, query),
  };
}
