// The event queue in the SQLite file of the store, in a thread with its own connection.
import { resolve } from "node:path";
import { threadFile } from "../../core/concurrency/thread-file.ts";
import { DatabaseThread } from "../database/database-thread.ts";
import type { EventWorkerSetup } from "./event-worker.ts";
import type { EventQueue } from "./events.ts";
import { whileInPlace } from "../database/sqlite-connection.ts";

/** The file has to be migrated. The thread starts with its first request. */
export function openSqliteEvents({ file, mostWaiting }: EventWorkerSetup): EventQueue {
  const path = resolve(file);
  const thread = new DatabaseThread<keyof EventQueue>(
    threadFile(import.meta.url, "store/events/event-worker.ts"),
    { file: path, mostWaiting } satisfies EventWorkerSetup,
    `The thread of the events in ${path}`,
  );
  const queue: EventQueue = {
    append: (events) => thread.ask("append", events),
    awaitingFanOut: (most) => thread.ask("awaitingFanOut", most),
    fanOut: (addressed, nowMs) => thread.ask("fanOut", addressed, nowMs),
    due: (nowMs) => thread.ask("due", nowMs),
    claim: (webhookId, most, nowMs, leaseMs) => thread.ask("claim", webhookId, most, nowMs, leaseMs),
    settle: (claimed, outcome) => thread.ask("settle", claimed, outcome),
    abandon: (webhookId, why, nowMs) => thread.ask("abandon", webhookId, why, nowMs),
    status: () => thread.ask("status"),
    prune: (beforeMs) => thread.ask("prune", beforeMs),
    close: () => thread.close(),
  };
  // The events stay in memory: written to a file that was removed they would be lost.
  return whileInPlace(path, queue, ["append"]);
}
