// The drill of workers in its short form: a gateway with two workers, which are killed, hang and are restarted under load.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d13.1 d13.2] workers that are killed, hang, stop or are restarted break no limit, lose no usage, and in planned restarts no connection", async () => {
  await expectNoBrokenPromise("workers.ts");
});
