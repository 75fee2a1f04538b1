// What a test leaves behind is found and ended: by its environment, also when it has left the group of its processes, and by its command line.
import { expect, test } from "bun:test";
import { randomUUID } from "node:crypto";
import { isRunning } from "../harness/processes/processes.ts";
import { until } from "../harness/time/until.ts";
import { endMarked } from "./marked-processes.ts";

const isLinux = process.platform === "linux";
if (!isLinux) console.log("skipped: only Linux shows the environment of other processes");

test.skipIf(!isLinux)("processes with the mark are ended, and no others", async () => {
  const mark = `/mark-${randomUUID()}/`;
  const waiting = ["sleep", "600"];
  const byEnvironment = Bun.spawn(waiting, { env: { ...process.env, TMPDIR: mark }, detached: true });
  const byCommand = Bun.spawn(["sh", "-c", `read line; : ${mark}`], { stdin: "pipe" });
  const other = Bun.spawn(waiting);
  // the program of a process that has just begun is not there yet, and one that is being ended may be found again
  const found = new Set<string>();
  await until(() => {
    for (const command of endMarked(mark)) found.add(command);
    return !isRunning(byEnvironment.pid) && !isRunning(byCommand.pid);
  }, "both have ended");
  expect([...found].toSorted()).toEqual([`sh -c read line; : ${mark}`, "sleep 600"]);
  expect(isRunning(other.pid)).toBe(true);
  other.kill();
  await other.exited;
});
