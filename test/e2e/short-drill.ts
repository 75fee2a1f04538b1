// Runs a drill in its short form, and expects that it finds no broken promise.
import { expect } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../bin/runtime.mjs";

/** `drill` is the name of its file in `bench/`. */
export async function expectNoBrokenPromise(drill: string): Promise<void> {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench", drill), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [words, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({
    code,
    broken: words.split("\n").filter((line) => line.startsWith("BROKEN")),
    faults: code === 0 ? "" : faults,
  }).toEqual({ code: 0, broken: [], faults: "" });
  expect(words).toMatch(/^0 broken promises$/m);
}
