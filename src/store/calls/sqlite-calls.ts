// The call store in the SQLite file of the store. Everything that may take long runs in threads, one that writes, one
// that reads what calls need, and two that read reports, each with its own connection: with the write-ahead log none
// waits for another, and the main thread waits for none.
import { resolve } from "node:path";
import { threadFile } from "../../core/concurrency/thread-file.ts";
import type { FoundCall } from "./call-columns.ts";
import { storedCall } from "./call-reads.ts";
import type { CallMethod, WorkerSetup, WrittenRows } from "./call-worker.ts";
import { ASKED, asked, type CallStore } from "./calls.ts";
import { DatabaseThread } from "../database/database-thread.ts";
import { bytesOf } from "../journal/journal-row.ts";
import type { LedgerRow } from "../journal/ledger.ts";
import { whileInPlace } from "../database/sqlite-connection.ts";

/** As many as read at once (http/admin/report-reads.ts). */
const REPORTERS = 2;

/** The file has to be migrated. The threads start with their first request. */
export function openSqliteCalls({ file }: { readonly file: string }): CallStore {
  const path = resolve(file);
  const writer = threadOf({ file: path, role: "write" });
  const reader = threadOf({ file: path, role: "read" });
  // What people ask for may take long, so that it never stands before what calls ask for.
  const reporters = Array.from({ length: REPORTERS }, () => threadOf({ file: path, role: "read" }));
  const reports = (): DatabaseThread<CallMethod> =>
    reporters.reduce((best, one) => (one.pending < best.pending ? one : best));
  const calls: CallStore = {
    ...asked([...ASKED.additions, ...ASKED.changes], (name, args) => writer.ask(name, ...args)),
    ...asked(ASKED.reads, (name, args) => reader.ask(name, ...args)),
    ...asked(ASKED.reports, (name, args) => reports().ask(name, ...args)),
    ingest: async (rows, place) => {
      if (rows.length > 0 || place !== undefined) await writer.ask("ingest", writtenRows(rows), place);
    },
    findCall: async (traceId, tenantId) =>
      storedCall(await reports().ask<FoundCall | null>("findCall", traceId, tenantId)),
    prepareReports() {
      // a thread that cannot start says so to who asks it something
      for (const one of reporters) one.ask("ready").catch(() => {});
    },
    close: async () => void (await Promise.all([writer, reader, ...reporters].map((thread) => thread.close()))),
  };
  // The rows stay in the ledger: written to a file that was removed they would be lost.
  return whileInPlace(path, calls, [...ASKED.additions, "ingest"]);
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
