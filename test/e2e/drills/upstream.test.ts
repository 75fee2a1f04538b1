// The drill with two tenants and a hostile upstream in its short form: with the real process and real sockets, no
// tenant receives bytes of another.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isolation, packageFolder } from "../../../bin/runtime.mjs";

async function drill(...more: readonly string[]): Promise<{
  readonly code: number;
  readonly last: string;
  readonly leaking: readonly string[];
  readonly faults: string;
}> {
  const child = Bun.spawn(
    [
      process.execPath,
      ...isolation(packageFolder),
      join(packageFolder, "bench/drills/upstream/upstream.ts"),
      "--short",
      ...more,
    ],
    { cwd: packageFolder, stdout: "pipe", stderr: "pipe" },
  );
  const [words, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  const lines = words.trim().split("\n");
  return { code, last: lines.at(-1) ?? "", leaking: lines.filter((line) => / got /.test(line)), faults };
}

for (const [how, ...more] of [["over connections of our own"], ["through the operator's proxy", "--proxy"]] as const)
  test(`[d2.9] [d7.8] more than a hundred misbehaviours of an upstream never show a tenant a byte of another, or the operator's key: ${how}`, async () => {
    const { code, last, leaking, faults } = await drill(...more);
    expect({ code, leaking, faults: code === 0 ? "" : faults }).toEqual({ code: 0, leaking: [], faults: "" });
    const [, misbehaviours] =
      /^(\d+) misbehaviours, \d+ requests, 0 leaks between tenants, 0 leaks of the operator's key, 0 connections with more than one tenant or key$/.exec(
        last,
      ) ?? [];
    expect(Number(misbehaviours)).toBeGreaterThanOrEqual(100);
  });

test("the drill sees the leaks of tenants that share connections", async () => {
  const { code, leaking } = await drill("--control", "--only", "off-by-one,owes,plain.owed,plain.again-3ms,answers");
  expect(code).toBe(0);
  expect(leaking.length).toBeGreaterThan(0);
});
