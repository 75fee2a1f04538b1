// The drill of the reference deployment in its short form: two gateways behind a load balancer, of which one is killed,
// PostgreSQL that fails over, and an upgrade to a version that adds to the schema.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

test("[d11.2 d15.4] two gateways behind a load balancer lose no call when one is killed, when PostgreSQL fails over, and while they are replaced by a version that adds to the schema", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drill-deployment.ts"), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [words, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (words.startsWith("skipped:")) return console.log(words.trim());
  expect({
    code,
    broken: words.split("\n").filter((line) => line.startsWith("BROKEN")),
    faults: code === 0 ? "" : faults,
  }).toEqual({ code: 0, broken: [], faults: "" });
  expect(words).toMatch(/^0 broken promises$/m);
});
