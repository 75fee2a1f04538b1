// A thread for the calls in a SQLite file, whose queries would block the main thread. One such thread writes and one
// reads. It gets its requests as messages, handles them in order, and answers each.
import { parentPort, workerData } from "node:worker_threads";
import { Kysely } from "kysely";
import { attempts } from "../sums/attempt-sums.ts";
import { bunSqliteDialect } from "../database/bun-sqlite-dialect.ts";
import { contentKey, countContents, findContents, keepContents, removeContents } from "./call-contents.ts";
import { facets } from "../search/call-facets.ts";
import { histogram } from "../search/call-histogram.ts";
import { incomingText, ingestCalls } from "./call-ingest.ts";
import type { CallInserts, Incoming } from "./call-insert.ts";
import { prune } from "./call-pruning.ts";
import { findCall, lastUses } from "./call-reads.ts";
import type { CallSchema } from "./call-schema.ts";
import { answerRequests } from "../database/database-thread.ts";
import { searchCalls } from "../search/log-search.ts";
import { findPlaces } from "./journal-places.ts";
import type { ShippedPlace } from "../journal/ledger.ts";
import { unregisterReplica, registerReplica, type Replica } from "../database/replicas.ts";
import { openDatabase } from "../database/sqlite-connection.ts";
import { rollUpNewest } from "../sums/roll-ups.ts";
import { sqliteInserts } from "./sqlite-inserts.ts";
import { bindObjects, boundObjects, pruneObjects, type VendorObject } from "../vendor-objects.ts";
import { spent, usage, usageTotals } from "../sums/usage-reads.ts";

export interface WorkerSetup {
  readonly file: string;
  readonly role: "write" | "read";
}

/**
 * Ledger rows as they are passed to the thread: the UTF-8 of their texts, one after the other, in the form in which
 * they are stored; the end of each text; and 1 for each settled row.
 */
export interface WrittenRows {
  readonly bytes: Uint8Array;
  readonly ends: Uint32Array;
  readonly settled: Uint8Array;
}

type Db = Kysely<CallSchema>;

interface OpenCalls {
  readonly db: Db;
  readonly inserts: CallInserts;
  readonly close: () => Promise<void>;
}

const METHODS = {
  ingest: ({ db, inserts }: OpenCalls, rows: WrittenRows, place: ShippedPlace | undefined) =>
    ingestCalls(db, incomingRows(rows), place, inserts),
  places: ({ db }: OpenCalls, journals: readonly string[], runs: readonly string[]) => findPlaces(db, journals, runs),
  rollUp: ({ db }: OpenCalls) => rollUpNewest(db),
  prune: ({ db }: OpenCalls, before: Parameters<typeof prune>[1]) => prune(db, before),
  findCall: ({ db }: OpenCalls, traceId: string, tenantId: string | undefined) => findCall(db, traceId, tenantId),
  searchCalls: (
    { db }: OpenCalls,
    ...args: Parameters<typeof searchCalls> extends [Db, ...infer Rest] ? Rest : never
  ) => searchCalls(db, ...args),
  contentKey: ({ db }: OpenCalls, tenantId: string, encrypted: string) => contentKey(db, tenantId, encrypted),
  keepContents: (
    { db }: OpenCalls,
    ...args: Parameters<typeof keepContents> extends [Db, ...infer Rest] ? Rest : never
  ) => keepContents(db, ...args),
  findContents: ({ db }: OpenCalls, traceIds: readonly string[]) => findContents(db, traceIds),
  countContents: ({ db }: OpenCalls, place: Parameters<typeof countContents>[1]) => countContents(db, place),
  removeContents: ({ db }: OpenCalls, which: Parameters<typeof removeContents>[1]) => removeContents(db, which),
  usage: ({ db }: OpenCalls, ...args: Parameters<typeof usage> extends [Db, ...infer Rest] ? Rest : never) =>
    usage(db, ...args),
  usageTotals: ({ db }: OpenCalls, query: Parameters<typeof usageTotals>[1]) => usageTotals(db, query),
  histogram: ({ db }: OpenCalls, query: Parameters<typeof histogram>[1]) => histogram(db, query),
  lastUses: ({ db }: OpenCalls, tokenIds: readonly string[]) => lastUses(db, tokenIds),
  attempts: ({ db }: OpenCalls, query: Parameters<typeof attempts>[1]) => attempts(db, query),
  facets: ({ db }: OpenCalls, query: Parameters<typeof facets>[1]) => facets(db, query),
  ready: async () => {},
  spent: ({ db }: OpenCalls, query: Parameters<typeof spent>[1]) => spent(db, query),
  registerReplica: ({ db }: OpenCalls, own: Replica, gone: readonly Pick<Replica, "id" | "beat">[]) =>
    registerReplica(db, own, gone),
  unregisterReplica: ({ db }: OpenCalls, id: string) => unregisterReplica(db, id),
  bindObjects: ({ db }: OpenCalls, objects: readonly VendorObject[]) => bindObjects(db, objects),
  boundObjects: ({ db }: OpenCalls, idHashes: readonly string[], nowMs: number) => boundObjects(db, idHashes, nowMs),
  pruneObjects: ({ db }: OpenCalls, nowMs: number) => pruneObjects(db, nowMs),
};
export type CallMethod = keyof typeof METHODS;

function incomingRows({ bytes, ends, settled }: WrittenRows): readonly Incoming[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(ends, (end, index) => {
    const from = index === 0 ? 0 : ends[index - 1]!;
    return incomingText(whole.toString("utf8", from, end), whole.subarray(from, end), settled[index] === 1);
  });
}

/** In kilobytes, for each of the two connections: what the process grows by as the file grows. More makes writing no faster. */
const CACHE_KIB = 16_384;

async function openCalls({ file, role }: WorkerSetup): Promise<OpenCalls> {
  const { database, connection } = await openDatabase({ file });
  database.run(`pragma cache_size = -${CACHE_KIB}`);
  if (role === "read") database.run("pragma query_only = on");
  const db = new Kysely<CallSchema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  return {
    db,
    inserts: sqliteInserts(database, connection.explain),
    async close() {
      await db.destroy();
      database.close();
    },
  };
}

if (parentPort !== null)
  answerRequests(parentPort, openCalls(workerData as WorkerSetup), (calls, { method, args }) =>
    (METHODS[method as keyof typeof METHODS] as (calls: OpenCalls, ...args: readonly unknown[]) => Promise<unknown>)(
      calls,
      ...args,
    ),
  );
