// The drill of database outages in its short form: the real process on a real PostgreSQL that is stopped, killed and
// frozen under load.
import { test } from "bun:test";
import { expectNoBrokenPromise } from "./short-drill.ts";

test("[d11.2] while the database is stopped, killed or frozen no call fails, and in the end every row is stored once", async () => {
  await expectNoBrokenPromise("database.ts");
});
