// A process of its own that writes rows into the audit log of a database until it is killed, and says each that is written:
// the arguments are the file or the address, and the tenant.
import { LOCAL_ACTOR } from "../../src/store/records.ts";
import { openPostgresDatabase } from "../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../src/store/sqlite.ts";

const [, , place = "", tenantId] = process.argv;
const store = place.startsWith("postgresql:")
  ? openPostgresDatabase({ url: place }).store
  : (await openSqliteDatabase({ file: place })).store;
for (let row = 0; ; row++) {
  await store.note(LOCAL_ACTOR, {
    action: "login",
    outcome: row % 3 === 0 ? "refused" : "done",
    kind: "session",
    tenantId: tenantId!,
    targetId: `killed ${row}`,
  });
  process.stdout.write(".");
}
