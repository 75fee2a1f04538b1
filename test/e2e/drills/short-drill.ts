// Runs a drill in its short form, and expects that it finds no broken promise.
import { expect } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../../bin/runtime.mjs";

/** `drill` is the path of its file in `bench/drills/`. Returns what it printed; a drill that skips says why, and fails in CI. */
export async function expectNoBrokenPromise(drill: string): Promise<string> {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench", "drills", drill), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [words, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (words.startsWith("skipped:")) {
    console.log(words.trim());
    return words;
  }
  expect({
    code,
    broken: words.split("\n").filter((line) => /^\s*BROKEN/.test(line)),
    faults: code === 0 ? "" : faults,
  }).toEqual({ code: 0, broken: [], faults: "" });
  expect(words).toMatch(/^(?:\d+ moods, )?0 broken promises$/m);
  return words;
}
