// A server of ClickHouse for a test: the engine of the Python package chdb behind a small HTTP front of our own, with its
// data in a temporary folder, stopped by its process id.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithThisProcess } from "./server-end.ts";
import { freePort } from "./free-port.ts";

export interface ClickHouseServer {
  /** The address of a new, empty database. */
  newDatabase(): string;
  /** Stops it and removes its folder. */
  dispose(): Promise<void>;
}

const UP_WITHIN_MS = 100_000;

/** Null, with a line that says so, where chdb is not installed. */
export async function startClickHouse(): Promise<ClickHouseServer | null> {
  if (Bun.spawnSync(["python3", "-c", "import chdb"]).exitCode !== 0) {
    console.log("skipped: the engine of ClickHouse is not installed (pip install chdb)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "dragoman-clickhouse-"));
  const port = freePort();
  const server = Bun.spawn(["python3", join(import.meta.dir, "clickhouse-front.py"), String(port), folder], {
    stdout: "ignore",
    stderr: Bun.file(join(folder, "front.log")),
  });
  endWithThisProcess({ pid: server.pid, mark: folder, signal: "KILL", folder });
  const endsMs = performance.now() + UP_WITHIN_MS;
  while (!(await answers(port))) {
    if (performance.now() > endsMs || server.exitCode !== null)
      throw new Error(`ClickHouse did not come up: ${await Bun.file(join(folder, "front.log")).text()}`);
    await Bun.sleep(30);
  }
  let databases = 0;
  return {
    newDatabase: () => `http://127.0.0.1:${port}/test_${++databases}`,
    async dispose() {
      server.kill("SIGKILL");
      await server.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function answers(port: number): Promise<boolean> {
  try {
    return (await fetch(`http://127.0.0.1:${port}/`)).ok;
  } catch {
    return false;
  }
}
