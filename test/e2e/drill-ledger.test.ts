// The drill of the ledger in its short form: the real process under load, killed with SIGKILL at random moments, its ledger compared with the provider's books.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

test("[d11.2] kill -9 at random moments loses no usage that a client saw, and leaves every call that was in flight as unsettled", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drill-ledger.ts"), "--short"],
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
