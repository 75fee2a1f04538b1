// The drill of workers in its short form: a gateway with two workers, which are killed, hang and are restarted under load.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

test("[d13.1 d13.2] workers that are killed, hang, stop or are restarted break no limit, lose no usage, and in planned restarts no connection", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drill-workers.ts"), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [words, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({
    code,
    broken: words.split("\n").filter((line) => line.startsWith("BROKEN")),
    faults: code === 0 ? "" : faults,
  }).toEqual({ code: 0, broken: [], faults: "" });
  expect(words).toMatch(/^0 broken promises$/m);
});
