// Copies of large tables in parts: whatever has changed since the copy before, the rows are those of the source, and few of
// the others are copied again.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Kysely, sql } from "kysely";
import { PARTED_TABLES } from "../../../src/store/copies/stored-tables.ts";
import { columnsOf, copyParts, insertRows } from "../../../src/store/copies/table-copies.ts";
import type { Schema } from "../../../src/store/schema.ts";
import { openTarget } from "../../../src/store/copies/copy-places.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { rowsOf } from "../../harness/servers/filled-database.ts";
import { chanceOf, printedSeed } from "../../harness/time/chance.ts";

type Db = Kysely<Schema>;

const folder = mkdtempSync(join(tmpdir(), "dragoman-copies-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});
const newPostgres = server === null ? null : migratedDatabases(server);
const KINDS = server === null ? (["SQLite"] as const) : (["SQLite", "PostgreSQL"] as const);
let files = 0;

/** Parts of this table have 10,000 numbers each. */
const TABLE = PARTED_TABLES.find(({ name }) => name === "audit_removed")!;
const COLUMNS = ["chain", "sequence", "at_ms", "outcome", "content_hash", "hash"];
const ROWS = 25_000;

const rowAt = (sequence: number): Record<string, unknown> => ({
  chain: `chain ${sequence % 2}`,
  sequence: BigInt(sequence),
  at_ms: BigInt(sequence),
  outcome: "success",
  content_hash: "c",
  hash: "h",
});

async function changed(db: Db, sequences: readonly number[], change: number): Promise<void> {
  for (const sequence of sequences)
    if (change === 0) await sql`delete from audit_removed where sequence = ${sequence}`.execute(db);
    else if (change === 1)
      await sql`update audit_removed set at_ms = at_ms + 1 where sequence = ${sequence}`.execute(db);
    else await insertRows(db, TABLE, [rowAt(ROWS + sequence)]);
}

describe.each(KINDS)("[d15.3] over %s", (kind) => {
  test("what has changed is copied, with few of the rows that have not", async () => {
    const chance = chanceOf(printedSeed("copies of tables"));
    const source = await openTarget({ file: join(folder, `${++files}`, "dragoman.sqlite") });
    const target = await openTarget(
      kind === "SQLite" ? { file: join(folder, `${++files}`, "dragoman.sqlite") } : { url: await newPostgres!() },
    );
    try {
      const columns = await columnsOf(source.db);
      const copy = (): Promise<number> => copyParts(source.db, target.db, columns, TABLE, async () => {});
      await insertRows(
        source.db,
        TABLE,
        Array.from({ length: ROWS }, (_, sequence) => rowAt(sequence)),
      );
      expect(await copy()).toBe(ROWS);
      expect(await copy()).toBe(0);
      for (let round = 0; round < 12; round++) {
        const place = chance.below(ROWS);
        const count = 1 + chance.below(4);
        // what has been changed in the copy is replaced as well
        const sequences = Array.from({ length: count }, (_, index) => place + round * 5 + index);
        await changed(chance.perMille(200) ? target.db : source.db, sequences, round % 3);
        expect(await copy()).toBeLessThan(5_000);
        expect(await rowsOf(target.db, TABLE.name, COLUMNS)).toEqual(await rowsOf(source.db, TABLE.name, COLUMNS));
      }
    } finally {
      await source.store.close();
      await target.store.close();
    }
  });
});
