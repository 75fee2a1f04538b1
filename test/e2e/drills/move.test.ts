// The drill of moves in its short form: the database of a real gateway is moved to PostgreSQL and back under load, while
// the command and the gateway are killed.
import { test } from "bun:test";
import { postgresPrograms } from "../../harness/servers/postgres-server.ts";
import { expectNoBrokenPromise } from "./short-drill.ts";

const isMissing = postgresPrograms() === null;
if (isMissing) console.log("skipped: PostgreSQL is not installed (apt install postgresql)");

test.skipIf(isMissing)("[d15.3] a move that is killed goes on, and every call has its row once", async () => {
  await expectNoBrokenPromise("move.ts");
});
