// The drill of integrations in its short form: the real process with all of them at once, under load, with receivers that are healthy, dead, slow and lying.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

test("[d11.4] with all integrations on and their receivers dead, slow or faulty no call fails, memory is stable, and each record is accounted for", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drill-integrations.ts"), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [report, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({
    broken: report.split("\n").filter((line) => line.includes("BROKEN")),
    code,
    words: code === 0 ? "" : words,
  }).toEqual({ broken: [], code: 0, words: "" });
  expect(report).toMatch(/^5 moods, 0 broken promises$/m);
  for (const name of ["archive", "hook", "collector", "fuse", "dog", "module"]) expect(report).toContain(`  ${name}`);
}, 240_000);
