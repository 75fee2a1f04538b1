// Databases that tests start end with the test, even when it is killed.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { postgresPrograms } from "../harness/servers/postgres-server.ts";
import { findServer } from "../harness/servers/redis-server.ts";
import { until } from "../harness/time/until.ts";

const HARNESS = join(import.meta.dir, "..", "harness", "servers");

const lacksPostgres = postgresPrograms() === null;
const lacksRedis = findServer("redis-server") === null;
/** By which it is known that a process has ended. */
const lacksProcesses = !existsSync("/proc/self");
if (lacksPostgres || lacksRedis || lacksProcesses)
  console.log(
    "skipped: servers that end with their test, where PostgreSQL, redis-server or /proc is not on this machine",
  );

/** Starts a server in a process of its own, kills that, and gives the server's pid and folder. */
async function orphaned(script: string): Promise<{ readonly pid: number; readonly folder: string }> {
  const child = Bun.spawn(
    [process.execPath, "-e", `${script}; console.log(JSON.stringify({ pid, folder })); await Bun.sleep(60_000);`],
    { stdin: "ignore", stdout: "pipe", stderr: "inherit" },
  );
  const { value } = await child.stdout.getReader().read();
  child.kill("SIGKILL");
  await child.exited;
  return JSON.parse(new TextDecoder().decode(value)) as { readonly pid: number; readonly folder: string };
}

function untilGone({ pid, folder }: { readonly pid: number; readonly folder: string }): Promise<void> {
  return until(() => !existsSync(`/proc/${pid}`) && !existsSync(folder), `process ${pid} and ${folder} are gone`);
}

test.skipIf(lacksPostgres || lacksProcesses)(
  "a PostgreSQL ends with a test that is killed, and its folder is removed",
  async () => {
    const left = await orphaned(`
    const { startPostgres, statement } = await import(${JSON.stringify(join(HARNESS, "postgres-server.ts"))});
    const server = await startPostgres();
    const folder = (await statement(server.url, "show data_directory"))[0].data_directory.replace(/.data$/, "");
    const pid = Number((await Bun.file(folder + "/data/postmaster.pid").text()).split("\\n")[0])`);
    expect(existsSync(dirname(left.folder))).toBe(true);
    await untilGone(left);
  },
);

test.skipIf(lacksRedis || lacksProcesses)(
  "a Redis ends with a test that is killed, and its folder is removed",
  async () => {
    const left = await orphaned(`
    const { startRedis } = await import(${JSON.stringify(join(HARNESS, "redis-server.ts"))});
    const { pid, folder } = await startRedis()`);
    await untilGone(left);
  },
);
