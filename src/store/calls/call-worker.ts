// A thread for the calls in a SQLite file, whose queries would block the main thread. One such thread writes and one
// reads. It gets its requests as messages, handles them in order, and answers each.
import { parentPort, workerData } from "node:worker_threads";
import { incomingText, ingestCalls } from "./call-ingest.ts";
import type { Incoming } from "./call-insert.ts";
import { answered, type CallQuery } from "./call-queries.ts";
import type { CallSchema } from "./call-schema.ts";
import { answerRequests } from "../database/database-thread.ts";
import type { ShippedPlace } from "../journal/ledger.ts";
import { openDatabase } from "../database/sqlite-connection.ts";
import { sqliteInserts } from "./sqlite-inserts.ts";
import type { ThreadRequest } from "../../wire/request-thread.ts";

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

export type CallMethod = "ingest" | "ready" | CallQuery;

async function run(
  { db, inserts }: Awaited<ReturnType<typeof openCalls>>,
  { method, args }: ThreadRequest,
): Promise<unknown> {
  if (method === "ready") return undefined;
  if (method !== "ingest") return await answered(db, method as CallQuery, args);
  const [rows, place] = args as readonly [WrittenRows, ShippedPlace | undefined];
  return await ingestCalls(db, incomingRows(rows), place, inserts);
}

function incomingRows({ bytes, ends, settled }: WrittenRows): readonly Incoming[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from(ends, (end, index) => {
    const from = index === 0 ? 0 : ends[index - 1]!;
    return incomingText(whole.toString("utf8", from, end), whole.subarray(from, end), settled[index] === 1);
  });
}

/** In kilobytes, for each of the two connections: what the process grows by as the file grows. More makes writing no faster. */
const CACHE_KIB = 16_384;

async function openCalls({ file, role }: WorkerSetup) {
  const { db, database, connection, close } = await openDatabase<CallSchema>({ file });
  database.run(`pragma cache_size = -${CACHE_KIB}`);
  if (role === "read") database.run("pragma query_only = on");
  return { db, inserts: sqliteInserts(database, connection.explain), close };
}

if (parentPort !== null) answerRequests(parentPort, openCalls(workerData as WorkerSetup), run);
