// Receives notifications of PostgreSQL on a separate connection that reconnects by itself. Notifications during an
// interruption are lost, so it reports one change after every reconnection; code that needs every change has to poll as
// well.
import { growingWaitMs } from "../../core/concurrency/growing-wait.ts";
import type { Client } from "pg";

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

export function followPostgres(newClient: () => Client, channel: string) {
  const watchers = new Set<() => void>();
  let client: Client | null = null;
  let timer: ReturnType<typeof setTimeout> | null = null;
  let failures = 0;
  let closed = false;
  const notify = (): void => {
    for (const onChange of watchers) onChange();
  };
  const again = (): void => {
    if (closed || timer !== null) return;
    failures += 1;
    timer = setTimeout(
      () => {
        timer = null;
        void connect();
      },
      growingWaitMs(failures, FIRST_PAUSE_MS, LONGEST_PAUSE_MS),
    ).unref();
  };
  const lost = (which: Client): void => {
    if (client !== which) return;
    client = null;
    which.end().catch(() => {});
    again();
  };
  const connect = async (): Promise<void> => {
    const opened = newClient();
    client = opened;
    opened.on("error", () => lost(opened));
    opened.on("end", () => lost(opened));
    opened.on("notification", notify);
    try {
      await opened.connect();
      await opened.query(`listen ${channel}`);
      failures = 0;
      notify();
    } catch {
      lost(opened);
    }
  };
  return {
    /** Opens the connection with the first watcher. Returns the function that ends the watch. */
    watch(onChange: () => void): () => void {
      watchers.add(onChange);
      if (client === null && timer === null && !closed) void connect();
      return () => void watchers.delete(onChange);
    },
    async close(): Promise<void> {
      closed = true;
      watchers.clear();
      if (timer !== null) clearTimeout(timer);
      const open = client;
      client = null;
      await open?.end().catch(() => {});
    },
  };
}
