// The drill of the response cache in its short form: two tenants, purges, garbage in the store, and restarts.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

test("[d13.4 d13.5] no answer reaches a client that it is not for, and each request to the provider is paid for once", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drill-cache.ts"), "--short"],
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
