// A schema changes in two steps: gateways of two versions use a database after the first, and the second waits for the
// former version to be gone. Both versions are this program with other migrations.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { VERSION } from "../../../src/core/version.ts";
import { contract, type SchemaHistory, stepOfProgram } from "../../../src/store/database/contractions.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { HISTORY, migrate } from "../../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { writes } from "../../harness/store-writes.ts";

const FORMER = stepOfProgram(HISTORY);
const NEXT = 9000;
const NEXT_VERSION = "99.0.0";
/** The next version adds a column, and later removes a table that the former one used. */
const NEXT_HISTORY: SchemaHistory = {
  migrations: {
    ...HISTORY.migrations,
    [`${NEXT}-remarks`]: {
      up: async (db) => void (await sql`alter table projects add column remark text`.execute(db)),
    },
  },
  contractions: {
    ...HISTORY.contractions,
    "without-drafts": {
      oldest: { step: NEXT, version: NEXT_VERSION },
      up: async (db) => void (await sql`drop table drafts`.execute(db)),
    },
  },
};

const folder = mkdtempSync(join(tmpdir(), "dragoman-contractions-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});
let files = 0;

const hasDrafts = async ({ db }: Database): Promise<boolean> =>
  (await db.introspection.getTables()).some(({ name }) => name === "drafts");
const failure = async (run: Promise<unknown>): Promise<string> =>
  await run.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );

function suite(kind: string, open: () => Promise<Database>): void {
  describe(`${kind}: a schema names the oldest program that can use it`, () => {
    test("[d15.4] the former version goes on and starts on a schema to which the next one has only added", async () => {
      const database = await open();
      const { db, name, store } = database;
      await store.migrate();
      await migrate(db, name, { history: NEXT_HISTORY });
      await store.migrate();
      await writes(store).createTenant({ id: "acme", name: "Acme" });
      expect((await store.readIdentities()).tenants.map(({ id }) => id)).toEqual(["acme"]);
      expect(await store.reviewSchema(FORMER)).toEqual({ contracted: [], refusal: null });
      await store.close();
    });

    test("[d15.4] it is contracted when no former gateway is heard, and then refuses the former version with the cure", async () => {
      const database = await open();
      const { db, name, store } = database;
      await store.migrate();
      await migrate(db, name, { history: NEXT_HISTORY });
      expect(await contract(db, NEXT_HISTORY, FORMER)).toEqual([]);
      expect(await hasDrafts(database)).toBe(true);
      await store.migrate();
      const made = await Promise.all([contract(db, NEXT_HISTORY, NEXT), contract(db, NEXT_HISTORY, NEXT)]);
      expect(made.flat()).toEqual(["without-drafts"]);
      expect(await hasDrafts(database)).toBe(false);
      await migrate(db, name, { history: NEXT_HISTORY });
      const refusal = await failure(store.migrate());
      for (const part of [
        `only Dragoman ${NEXT_VERSION} and newer can use (from schema step ${NEXT})`,
        `This is Dragoman ${VERSION}, which knows schema step ${FORMER}`,
        `Start ${NEXT_VERSION} or newer, or restore a backup`,
      ])
        expect(refusal).toContain(part);
      // A gateway of the former version that still runs is told the same.
      expect(await store.reviewSchema(FORMER)).toEqual({ contracted: [], refusal });
      await store.close();
    });

    test("[d15.4] a new database has the contracted schema at once", async () => {
      const database = await open();
      await migrate(database.db, database.name, { history: NEXT_HISTORY });
      expect(await hasDrafts(database)).toBe(false);
      expect(await failure(database.store.migrate())).toContain(NEXT_VERSION);
      await database.store.close();
    });

    test("[d15.4] a database that does not say which migrations it has had is not taken for a new one", async () => {
      const database = await open();
      const { db, name, store } = database;
      await store.migrate();
      let asked = 0;
      const silent = db.withPlugin({
        transformQuery({ node }) {
          if (asked++ === 0) throw new Error("no answer in time");
          return node;
        },
        transformResult: async ({ result }) => result,
      });
      expect(await failure(migrate(silent, name, { history: NEXT_HISTORY }))).toBe("no answer in time");
      expect(await hasDrafts(database)).toBe(true);
      await store.close();
    });

    test("[d15.4] a contraction that fails leaves the schema as it was", async () => {
      const database = await open();
      const { db, name, store } = database;
      await store.migrate();
      const failing: SchemaHistory = {
        ...NEXT_HISTORY,
        contractions: {
          failing: {
            oldest: { step: NEXT, version: NEXT_VERSION },
            async up(tx) {
              await sql`drop table drafts`.execute(tx);
              throw new Error("half-way");
            },
          },
        },
      };
      await migrate(db, name, { history: failing });
      expect(await failure(contract(db, failing, NEXT))).toBe("half-way");
      expect(await hasDrafts(database)).toBe(true);
      await store.migrate();
      await store.close();
    });

    test("[d15.4] a database of another line of versions is refused, with their migrations by name", async () => {
      const { db, name, store } = await open();
      await migrate(db, name, { history: { ...NEXT_HISTORY, contractions: {} } });
      const other = { ...HISTORY.migrations, "8000-other": { up: async () => {} } };
      const refusal = await failure(migrate(db, name, { history: { migrations: other, contractions: {} } }));
      expect(refusal).toContain(`${NEXT}-remarks`);
      expect(refusal).toContain("restore a backup");
      await store.close();
    });
  });
}

suite("SQLite", () => openSqliteDatabase({ file: join(folder, `${++files}.db`) }));
if (server !== null) suite("PostgreSQL", async () => openPostgresDatabase({ url: await server.newDatabase() }));
