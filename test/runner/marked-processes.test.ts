// What a test leaves behind is found and ended: by its environment, also when it has left the group of its processes, and by its command line.
import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { isRunning } from "../harness/processes.ts";
import { until } from "../harness/until.ts";
import { endMarked } from "./marked-processes.ts";

const isLinux = process.platform === "linux";
if (!isLinux) console.log("skipped: only Linux shows the environment of other processes");

test.skipIf(!isLinux)("processes with the mark are ended, and no others", async () => {
  const mark = `/mark-${randomUUID()}/`;
  const waiting = ["sleep", "600"];
  const byEnvironment = Bun.spawn(waiting, { env: { ...process.env, TMPDIR: mark }, detached: true });
  const byCommand = Bun.spawn(["sh", "-c", `sleep 600; : ${mark}`]);
  const other = Bun.spawn(waiting);
  // the program of a process that has just begun is not there yet
  const found: string[] = [];
  await until(() => found.push(...endMarked(mark)) >= 2, "both are found");
  await Promise.all([byEnvironment.exited, byCommand.exited]);
  expect(found.filter((command) => command === "sleep 600")).toHaveLength(1);
  expect(isRunning(other.pid)).toBe(true);
  other.kill();
  await other.exited;
});
