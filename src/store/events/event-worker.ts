// A thread for the event queue in a SQLite file, because each of its writes waits for the disk.
import { parentPort, workerData } from "node:worker_threads";
import { answerRequests } from "../database/database-thread.ts";
import type { EventSchema } from "./event-schema.ts";
import type { EventQueue } from "./events.ts";
import { kyselyEvents } from "./kysely-events.ts";
import { openDatabase } from "../database/sqlite-connection.ts";

export interface EventWorkerSetup {
  readonly file: string;
  readonly mostWaiting?: number | undefined;
}

async function openQueue({ file, mostWaiting }: EventWorkerSetup): Promise<EventQueue> {
  const { db, close } = await openDatabase<EventSchema>({ file });
  return kyselyEvents(db, close, mostWaiting);
}

if (parentPort !== null)
  answerRequests(parentPort, openQueue(workerData as EventWorkerSetup), (queue, { method, args }) =>
    (queue[method as keyof EventQueue] as (...args: readonly unknown[]) => Promise<unknown>)(...args),
  );
