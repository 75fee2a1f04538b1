// Readers of the audit log beside the removal of its old rows, each of which then stands in another table.
import { afterAll, expect, test } from "bun:test";
import { sql } from "kysely";
import { auditReader } from "../../../src/store/audit/kysely-audit.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { untilFound } from "../../harness/time/until.ts";

const server = await postgresDatabases();
afterAll(async () => {
  await server?.dispose();
});

test.skipIf(server === null)(
  "the first and the last link of an export are found while their row is removed",
  async () => {
    const { db, store } = openPostgresDatabase({ url: await migratedDatabases(server!)() });
    const reader = auditReader(db);
    await sql`insert into audit_log (id, at_ms, action, outcome, kind, chain, hash, sequence) values ('one', 5, 'create', 'done', 'token', 'c', 'h1', 1)`.execute(
      db,
    );
    const found: Promise<unknown>[] = [];
    try {
      await db.transaction().execute(async (removal) => {
        await sql`lock table audit_log in access exclusive mode`.execute(removal);
        found.push(reader.auditLinkAt("c", 5, "first_from"), reader.auditLinkAt("c", 6, "last_before"));
        await untilFound(async () => {
          const { rows } =
            await sql`select 1 from pg_locks where not granted and relation = 'audit_log'::regclass`.execute(removal);
          return rows.length === 2;
        }, "both readers wait");
        await sql`insert into audit_removed select chain, sequence, at_ms, outcome, '', hash from audit_log`.execute(
          removal,
        );
        await sql`delete from audit_log`.execute(removal);
      });
      const link = { sequence: 1, hash: "h1" };
      expect(await Promise.all(found)).toEqual([link, link]);
    } finally {
      await store.close();
    }
  },
);
