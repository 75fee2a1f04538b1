// The life of workers with a program in place of the gateway: starts that fail, versions that do not fit, and restarts.
import { afterEach, describe, expect, test } from "bun:test";
import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { workerEnvironment } from "../../../src/config/environment.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { ToSupervisor, ToWorker } from "../../../src/process/workers/messages.ts";
import { listenForChannels } from "../../../src/process/workers/sockets.ts";
import { WorkerPool } from "../../../src/process/workers/worker-pool.ts";
import { makeScratchFolder } from "../../harness/scratch-folder.ts";
import { until } from "../../harness/time/until.ts";

type Mode = "serves" | "ends" | "another protocol";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function openPool(mode: Mode, count = 2) {
  const folder = makeScratchFolder();
  const program = join(folder, "bun");
  symlinkSync(process.execPath, program);
  const modeFile = join(folder, "mode");
  const become = (next: Mode): void => writeFileSync(modeFile, next);
  become(mode);
  const logged: string[] = [];
  const ended: number[] = [];
  const socket = await listenForChannels<ToWorker, ToSupervisor>({
    dataFolder: folder,
    onChannel: (channel) => pool.accept(channel),
    onFault: (fault) => logged.push(String(fault)),
  });
  const pool = new WorkerPool({
    count,
    port: 1,
    command: [program, join(import.meta.dir, "../../harness/fake-worker.ts")],
    environmentOf: (id) => ({ ...workerEnvironment({ id, channel: socket.path }), FAKE_MODE: modeFile }),
    startOf: () => ({
      file: null,
      text: "",
      secrets: {},
      restartText: "",
      places: {
        host: "127.0.0.1",
        workers: count,
        dataFolder: folder,
        databaseUrl: null,
        ledger: { sync: "background", onFull: "refuse", folder: null },
        limitStore: null,
      },
    }),
    clock: systemClock,
    onChannel: () => {},
    onEnded: ({ pid }) => ended.push(pid),
    log: (_level, message) => logged.push(message),
  });
  ends.push(async () => {
    await pool.close(0);
    socket.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const serving = (): readonly number[] =>
    pool.workers.filter(({ state }) => state === "listening").map(({ pid }) => pid);
  return { pool, program, become, logged, ended, serving };
}

describe("[d13.2] a pool of workers", () => {
  test("starts when all of them listen, and says how many calls were cut at the end", async () => {
    const { pool, serving } = await openPool("serves");
    await pool.start();
    expect(serving()).toHaveLength(2);
    expect(await pool.close(1000)).toBe(4);
    expect(pool.workers).toEqual([]);
  });

  test("does not start when a worker ends before it listens", async () => {
    const { pool } = await openPool("ends");
    expect(await pool.start().catch(String)).toMatch(/worker \d could not start: exit code 3/);
  });

  test("replaces a worker that has ended, with the same place", async () => {
    const { pool, serving, ended, logged } = await openPool("serves");
    await pool.start();
    const [victim, other] = pool.workers;
    process.kill(victim!.pid, "SIGKILL");
    await until(() => serving().length === 2 && !serving().includes(victim!.pid));
    expect(ended).toEqual([victim!.pid]);
    expect(serving()).toContain(other!.pid);
    expect(new Set(pool.workers.map(({ slot }) => slot))).toEqual(new Set([0, 1]));
    expect(logged).toContain("a worker has ended unexpectedly and is replaced");
  });

  test("replaces a worker as soon as there is a program again, and keeps the others until then", async () => {
    const { pool, program, serving, logged } = await openPool("serves");
    await pool.start();
    const before = serving();
    renameSync(program, `${program}.away`);
    await pool.restart();
    expect(serving()).toEqual(before);
    expect(logged).toContain("a new worker could not start, so the restart has ended and the old workers stay");
    process.kill(before[0]!, "SIGKILL");
    await until(() => logged.includes("the process of a worker cannot be started, and is tried again"));
    expect(serving()).toEqual(before.slice(1));
    renameSync(`${program}.away`, program);
    await until(() => serving().length === 2);
  });

  test("replaces a worker that has listened and ended before all of them listen", async () => {
    const { pool, serving, ended } = await openPool("serves");
    const starting = pool.start();
    const [victim, late] = pool.workers;
    process.kill(late!.pid, "SIGSTOP");
    await victim!.listens;
    process.kill(victim!.pid, "SIGKILL");
    await until(() => ended.length === 1);
    process.kill(late!.pid, "SIGCONT");
    await starting;
    await until(() => serving().length === 2);
    expect(new Set(pool.workers.map(({ slot }) => slot))).toEqual(new Set([0, 1]));
  });

  test("restarts no worker that was replaced since the restart began, so that each place has one", async () => {
    const { pool, serving, ended } = await openPool("serves");
    await pool.start();
    const [, victim] = pool.workers;
    const restarting = pool.restart();
    const first = pool.workers.at(-1)!;
    process.kill(first.pid, "SIGSTOP");
    process.kill(victim!.pid, "SIGKILL");
    await until(() => ended.length === 1);
    process.kill(first.pid, "SIGCONT");
    await restarting;
    await until(() => ended.length === 2 && serving().length === 2);
    expect(pool.workers.map(({ slot }) => slot).toSorted((one, other) => one - other)).toEqual([0, 1]);
  });

  test("replaces a new worker that has ended while the old one of its place still has calls to end", async () => {
    const { pool, serving, ended } = await openPool("serves", 1);
    await pool.start();
    const [old] = pool.workers;
    process.kill(old!.pid, "SIGSTOP");
    const restarting = pool.restart();
    await until(() => old!.isLeaving);
    const next = serving().find((pid) => pid !== old!.pid)!;
    process.kill(next, "SIGKILL");
    await until(() => ended.includes(next));
    await until(() => serving().some((pid) => pid !== old!.pid && pid !== next));
    process.kill(old!.pid, "SIGCONT");
    await restarting;
    await until(() => ended.includes(old!.pid) && serving().length === 1);
    expect(pool.workers).toHaveLength(1);
  });

  test("restarts one after the other; each new worker listens before the old one leaves", async () => {
    const { pool, serving, ended } = await openPool("serves");
    await pool.start();
    const before = serving();
    const [restarted, again] = [pool.restart(), pool.restart()];
    await Promise.all([restarted, again]);
    await until(() => ended.length === 2);
    expect(new Set(ended)).toEqual(new Set(before));
    expect(serving()).toHaveLength(2);
  });

  test.each(["ends", "another protocol"] as const)(
    "keeps the old workers when a new one %s, and tries again with the next restart",
    async (mode) => {
      const { pool, become, serving, logged } = await openPool("serves");
      await pool.start();
      const before = serving();
      become(mode);
      await pool.restart();
      expect(serving()).toEqual(before);
      expect(logged).toContain("a new worker could not start, so the restart has ended and the old workers stay");
      become("serves");
      await pool.restart();
      await until(() => !serving().some((pid) => before.includes(pid)));
      expect(serving()).toHaveLength(2);
    },
  );

  test("ends and replaces a worker that is stopped once too much waits for it", async () => {
    const { pool, serving, ended, logged } = await openPool("serves");
    await pool.start();
    const [stopped, other] = pool.workers;
    process.kill(stopped!.pid, "SIGSTOP");
    for (let sent = 0; sent < 9; sent++) {
      stopped!.channel!.notify("steer", { weights: [] }, new Uint8Array(8 * 1024 * 1024));
      other!.channel!.notify("steer", { weights: [] }, new Uint8Array(8 * 1024 * 1024));
      // the other one reads what it is sent
      await other!.channel!.request("steer", { weights: [] });
    }
    await until(() => ended.length === 1);
    expect(ended).toEqual([stopped!.pid]);
    await until(() => serving().length === 2);
    expect(serving()).toContain(other!.pid);
    expect(logged).toContain("a worker does not read what is sent to it: it is ended and replaced");
  });
});
