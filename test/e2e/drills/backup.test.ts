// The drill of backups in its short form: a real gateway is backed up and restored under load, while the commands are
// killed.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d15.3] a backup or restore that is killed loses no row, and makes no revoked token valid", async () => {
  await expectNoBrokenPromise("backup.ts");
});
