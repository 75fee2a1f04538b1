// The call store in the SQLite file of the store. Everything that may take long runs in threads, one that writes, one
// that reads what calls need, and two that read reports, each with its own connection: with the write-ahead log none
// waits for another, and the main thread waits for none.
import { resolve } from "node:path";
import { threadFile } from "../../core/concurrency/thread-file.ts";
import type { FoundCall } from "./call-columns.ts";
import { storedCall } from "./call-reads.ts";
import type { CallMethod, WorkerSetup, WrittenRows } from "./call-worker.ts";
import type { CallStore } from "./calls.ts";
import { DatabaseThread } from "../database/database-thread.ts";
import { bytesOf } from "../journal/journal-row.ts";
import type { LedgerRow } from "../journal/ledger.ts";
import { requireInPlace } from "../database/sqlite-connection.ts";

/** As many as read at once (http/admin/report-reads.ts). */
const REPORTERS = 2;

/** The file has to be migrated. The threads start with their first request. */
export function openSqliteCalls({ file }: { readonly file: string }): CallStore {
  const path = resolve(file);
  const requireFile = requireInPlace(path);
  const writer = threadOf({ file: path, role: "write" });
  const reader = threadOf({ file: path, role: "read" });
  // What people ask for may take long, so that it never stands before what calls ask for.
  const reporters = Array.from({ length: REPORTERS }, () => threadOf({ file: path, role: "read" }));
  const reports = (): DatabaseThread<CallMethod> =>
    reporters.reduce((best, one) => (one.pending < best.pending ? one : best));
  return {
    ingest: async (rows, place) => {
      // The rows stay in the ledger: written to a file that was removed they would be lost.
      requireFile();
      if (rows.length > 0 || place !== undefined) await writer.ask("ingest", writtenRows(rows), place);
    },
    places: async (journals, runs) => {
      requireFile();
      return await writer.ask("places", journals, runs);
    },
    rollUp: () => writer.ask("rollUp"),
    prune: (before) => writer.ask("prune", before),
    findCall: async (traceId, tenantId) =>
      storedCall(await reports().ask<FoundCall | null>("findCall", traceId, tenantId)),
    searchCalls: (page, filter) => reports().ask("searchCalls", page, filter),
    contentKey: (tenantId, encrypted) => writer.ask("contentKey", tenantId, encrypted),
    keepContents: async (contents, keys) => {
      requireFile();
      return await writer.ask("keepContents", contents, keys);
    },
    findContents: (traceIds) => reader.ask("findContents", traceIds),
    countContents: (place) => reader.ask("countContents", place),
    removeContents: (which) => writer.ask("removeContents", which),
    usage: (page, query) => reports().ask("usage", page, query),
    usageTotals: (query) => reports().ask("usageTotals", query),
    histogram: (query) => reports().ask("histogram", query),
    lastUses: (tokenIds) => reports().ask("lastUses", tokenIds),
    attempts: (query) => reports().ask("attempts", query),
    facets: (query) => reports().ask("facets", query),
    prepareReports() {
      // a thread that cannot start says so to who asks it something
      for (const one of reporters) one.ask("ready").catch(() => {});
    },
    spent: (query) => reader.ask("spent", query),
    registerReplica: async (own, gone) => {
      requireFile();
      return await writer.ask("registerReplica", own, gone);
    },
    unregisterReplica: (id) => writer.ask("unregisterReplica", id),
    bindObjects: async (objects) => {
      requireFile();
      await writer.ask("bindObjects", objects);
    },
    boundObjects: (idHashes, nowMs) => reader.ask("boundObjects", idHashes, nowMs),
    pruneObjects: (nowMs) => writer.ask("pruneObjects", nowMs),
    close: async () => void (await Promise.all([writer, reader, ...reporters].map((thread) => thread.close()))),
  };
}

/**
 * One block of bytes, which can be transferred to a thread: rows as objects and strings would be copied one by one, by
 * the thread that serves calls.
 */
function writtenRows(rows: readonly LedgerRow[]): WrittenRows {
  const details = rows.map(bytesOf);
  const ends = new Uint32Array(rows.length);
  let size = 0;
  details.forEach((detail, index) => {
    size += detail.length;
    ends[index] = size;
  });
  const bytes = new Uint8Array(size);
  details.forEach((detail, index) => bytes.set(detail, ends[index]! - detail.length));
  return { bytes, ends, settled: Uint8Array.from(rows, ({ settled }) => (settled ? 1 : 0)) };
}

function threadOf(setup: WorkerSetup): DatabaseThread<CallMethod> {
  return new DatabaseThread<CallMethod>(
    threadFile(import.meta.url, "store/calls/call-worker.ts"),
    setup,
    `The thread of the calls in ${setup.file}`,
  );
}
