// The failure drill in its short form: the real process with three upstreams over sockets that die, stall, refuse, cut
// answers and recover.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../../bin/runtime.mjs";

test("[d7.1] [d7.3] [d7.4] [d7.5] [d8.3] the drill breaks no promise", async () => {
  const child = Bun.spawn(
    [process.execPath, ...isolation(packageFolder), join(packageFolder, "bench/drills/scenarios/drill.ts"), "--short"],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [table, words, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const broken = table
    .split("\n")
    .filter(
      (row) =>
        row.startsWith("| ") && !row.startsWith("| scenario") && !row.startsWith("| ---") && !row.endsWith(" kept |"),
    );
  expect({ broken, code, words: code === 0 ? "" : words }).toEqual({ broken: [], code: 0, words: "" });
  expect(table).toMatch(/^\d+ scenarios, 0 broken promises$/m);
});
