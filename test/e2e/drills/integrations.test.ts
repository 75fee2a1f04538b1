// The drill of integrations in its short form: the real process with all of them at once, under load, with receivers that are healthy, dead, slow and lying.
import { expect, test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d11.4] with all integrations on and their receivers dead, slow or faulty no call fails, memory is stable, and each record is accounted for", async () => {
  const report = await expectNoBrokenPromise("integrations.ts");
  expect(report).toMatch(/^5 moods, 0 broken promises$/m);
  for (const name of ["archive", "hook", "collector", "fuse", "dog", "module"]) expect(report).toContain(`  ${name}`);
}, 240_000);
