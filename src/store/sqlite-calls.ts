// The call store in the SQLite file of the store. Everything that may take long runs in two threads of its own, one that writes and one that reads, each with a
// connection of its own: in the write-ahead log neither waits for the other, and the process's own thread for neither.
import { Worker } from "node:worker_threads";
import { resolve } from "node:path";
import type { WorkerReply, WorkerRequest, WorkerSetup, WrittenRows } from "./call-worker.ts";
import type { CallStore } from "./calls.ts";
import type { LedgerRow } from "./ledger.ts";
import { demandInPlace } from "./sqlite.ts";
import { StoreError } from "./store.ts";

/** The file has to be migrated. Threads begin with what is first asked of them. */
export function openSqliteCalls({ file }: { readonly file: string }): CallStore {
  const path = resolve(file);
  const demand = demandInPlace(path);
  const writer = new CallThread({ file: path, role: "write" });
  const reader = new CallThread({ file: path, role: "read" });
  return {
    ingest: async (rows) => {
      // they wait in the ledger: in a file that was removed they would be lost
      demand();
      if (rows.length > 0) await writer.ask("ingest", writtenRows(rows));
    },
    prune: (before) => writer.ask("prune", before),
    listCalls: (page, filter = {}) => reader.ask("listCalls", page, filter),
    findCall: (traceId, tenantId) => reader.ask("findCall", traceId, tenantId),
    searchCalls: (page, filter) => reader.ask("searchCalls", page, filter),
    contentKey: (tenantId, sealed) => writer.ask("contentKey", tenantId, sealed),
    keepContents: async (contents) => {
      demand();
      await writer.ask("keepContents", contents);
    },
    findContent: (traceId) => reader.ask("findContent", traceId),
    countContents: (place) => reader.ask("countContents", place),
    removeContents: (which) => writer.ask("removeContents", which),
    usage: (page, query) => reader.ask("usage", page, query),
    usageTotals: (query) => reader.ask("usageTotals", query),
    spent: (query) => reader.ask("spent", query),
    close: async () => void (await Promise.all([writer.close(), reader.close()])),
  };
}

/** One block of bytes, which threads hand over without looking at it: rows as objects and strings would be copied one by one, by the thread that serves calls. */
function writtenRows(rows: readonly LedgerRow[]): WrittenRows {
  const details = rows.map((row) => row.bytes ?? Buffer.from(row.text ?? JSON.stringify(row.record)));
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

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** One thread, begun again where it ended by itself. A class, because it lives as long as the store does. */
class CallThread {
  readonly #setup: WorkerSetup;
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #asked = 0;
  #isClosed = false;

  constructor(setup: WorkerSetup) {
    this.#setup = setup;
  }

  ask<T>(method: WorkerRequest["method"], ...args: readonly unknown[]): Promise<T> {
    if (this.#isClosed) return Promise.reject(new StoreError("unusable", "The calls are closed."));
    return this.#send(method, args) as Promise<T>;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const worker = this.#worker;
    if (worker === null) return;
    await this.#send("close", []).catch(() => {});
    this.#worker = null;
    await worker.terminate();
  }

  #send(method: WorkerRequest["method"], args: readonly unknown[]): Promise<unknown> {
    const worker = (this.#worker ??= this.#begin());
    const id = ++this.#asked;
    return new Promise((resolveAnswer, reject) => {
      this.#waiting.set(id, { resolve: resolveAnswer, reject });
      worker.postMessage({ id, method, args } satisfies WorkerRequest, args.flatMap(transferable));
    });
  }

  #begin(): Worker {
    const worker = new Worker(new URL("./call-worker.ts", import.meta.url), { workerData: this.#setup });
    worker.unref();
    worker.on("message", ({ id, result, error }: WorkerReply) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(error.kind === null ? new Error(error.message) : new StoreError(error.kind, error.message));
    });
    const ended = (why: string): void => {
      if (this.#worker === worker) this.#worker = null;
      const lost = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const { reject } of lost) reject(new StoreError("unusable", `The thread of the calls in ${this.#setup.file} ended${why}.`));
    };
    worker.on("error", (error) => ended(`: ${error instanceof Error ? error.message : String(error)}`));
    worker.on("exit", () => ended(""));
    return worker;
  }
}

/** Rows are nobody else's, so their bytes go over as they are. */
function transferable(argument: unknown): ArrayBuffer[] {
  return typeof argument === "object" && argument !== null && "bytes" in argument && argument.bytes instanceof Uint8Array ? [argument.bytes.buffer as ArrayBuffer] : [];
}
