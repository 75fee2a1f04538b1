// A thread of its own for the calls in a SQLite file, whose queries would keep the process's own thread: one for what is written, one for what is read. It is
// told what to do in messages, one after the other, and answers each.
import { parentPort, workerData } from "node:worker_threads";
import { Kysely } from "kysely";
import { bunSqliteDialect } from "./bun-sqlite-dialect.ts";
import { columnsOf } from "./call-columns.ts";
import { ingestCalls } from "./call-ingest.ts";
import { findCall, listCalls, prune } from "./call-reads.ts";
import type { CallSchema } from "./call-schema.ts";
import { parseClosing } from "./journal-row.ts";
import { openDatabase } from "./sqlite.ts";
import { StoreError, type StoreErrorKind } from "./store.ts";
import { spent, usage, usageTotals } from "./usage-reads.ts";

export interface WorkerSetup {
  readonly file: string;
  readonly role: "write" | "read";
}

/** A row of the ledger as it is handed over: its text is what is kept. */
export interface WrittenRow {
  readonly detail: string;
  readonly settled: boolean;
}

export interface WorkerRequest {
  readonly id: number;
  readonly method: keyof typeof METHODS | "close";
  readonly args: readonly unknown[];
}

export interface WorkerReply {
  readonly id: number;
  readonly result?: unknown;
  /** `kind` null: no error of the store's. */
  readonly error?: { readonly kind: StoreErrorKind | null; readonly message: string };
}

type Db = Kysely<CallSchema>;

const METHODS = {
  ingest: (db: Db, rows: readonly WrittenRow[]) => ingestCalls(db, rows.map(({ detail, settled }) => ({ detail, columns: columnsOf({ record: parseClosing(detail), settled }) }))),
  prune: (db: Db, before: Parameters<typeof prune>[1]) => prune(db, before),
  listCalls: (db: Db, ...args: Parameters<typeof listCalls> extends [Db, ...infer Rest] ? Rest : never) => listCalls(db, ...args),
  findCall: (db: Db, traceId: string, tenantId: string | undefined) => findCall(db, traceId, tenantId),
  usage: (db: Db, ...args: Parameters<typeof usage> extends [Db, ...infer Rest] ? Rest : never) => usage(db, ...args),
  usageTotals: (db: Db, query: Parameters<typeof usageTotals>[1]) => usageTotals(db, query),
  spent: (db: Db, query: Parameters<typeof spent>[1]) => spent(db, query),
};

/** Kilobytes. The index of trace ids is written to at random places. */
const WRITE_CACHE_KIB = 65_536;
const READ_CACHE_KIB = 16_384;

async function openCalls({ file, role }: WorkerSetup): Promise<{ readonly db: Db; readonly close: () => Promise<void> }> {
  const { database, connection } = await openDatabase({ file });
  database.run(`pragma cache_size = -${role === "write" ? WRITE_CACHE_KIB : READ_CACHE_KIB}`);
  if (role === "read") database.run("pragma query_only = on");
  const db = new Kysely<CallSchema>({ dialect: bunSqliteDialect({ database, ...connection }) });
  return {
    db,
    async close() {
      await db.destroy();
      database.close();
    },
  };
}

function replyTo(id: number, thrown: unknown): WorkerReply {
  return { id, error: { kind: thrown instanceof StoreError ? thrown.kind : null, message: thrown instanceof Error ? thrown.message : String(thrown) } };
}

if (parentPort !== null) {
  const port = parentPort;
  const opening = openCalls(workerData as WorkerSetup);
  // told with the first answer
  opening.catch(() => {});
  let turn: Promise<unknown> = Promise.resolve();
  const answer = async ({ id, method, args }: WorkerRequest): Promise<void> => {
    try {
      const { db, close } = await opening;
      const result = method === "close" ? await close() : await (METHODS[method] as (db: Db, ...args: readonly unknown[]) => Promise<unknown>)(db, ...args);
      port.postMessage({ id, result } satisfies WorkerReply);
    } catch (thrown) {
      port.postMessage(replyTo(id, thrown));
    }
  };
  port.on("message", (request: WorkerRequest) => {
    turn = turn.then(() => answer(request));
  });
}
