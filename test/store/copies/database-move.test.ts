// Moves between databases of both kinds: what arrives, what an interruption leaves, and what is refused.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import { dropPartitions, PARTITIONED } from "../../../src/store/calls/call-partitions.ts";
import { openSource, openTarget } from "../../../src/store/copies/copy-places.ts";
import { moveDatabase } from "../../../src/store/copies/database-move.ts";
import type { Database, DatabasePlace } from "../../../src/store/database/database.ts";
import { HELD, requireNotMoved } from "../../../src/store/database/move-marks.ts";
import { LOCAL_ACTOR } from "../../../src/store/records.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { COPIED_TABLES, OWN_TABLES } from "../../../src/store/copies/stored-tables.ts";
import { holdWrites } from "../../../src/store/copies/write-hold.ts";
import { allRows, fillDatabase } from "../../harness/servers/filled-database.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";
import { untilFound } from "../../harness/time/until.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-move-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});
const newPostgres = server === null ? null : migratedDatabases(server);
let files = 0;

type Kind = "SQLite" | "PostgreSQL";
const newPlace = async (kind: Kind): Promise<DatabasePlace> =>
  kind === "SQLite" ? { file: join(folder, `${++files}`, "dragoman.sqlite") } : { url: await newPostgres!() };
/** As a gateway has it open. */
const openUsed = async (place: DatabasePlace): Promise<Database> =>
  "file" in place ? await openSqliteDatabase(place) : openPostgresDatabase({ url: place.url });
const quiet = (): void => {};
const KINDS: readonly Kind[] = server === null ? ["SQLite"] : ["SQLite", "PostgreSQL"];
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const));

interface Moving {
  readonly source: Database;
  readonly target: Database;
  readonly targetPlace: DatabasePlace;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A database with rows in all tables, and an empty one. */
async function filledAndEmpty(from: Kind, to: Kind, rows = 3): Promise<Moving> {
  const place = await newPlace(from);
  const first = await openTarget(place);
  await fillDatabase(first.db, rows);
  await first.store.close();
  const source = await openSource(place);
  const targetPlace = await newPlace(to);
  const target = await openTarget(targetPlace);
  return {
    source,
    target,
    targetPlace,
    [Symbol.asyncDispose]: async () => {
      await source.store.close();
      await target.store.close();
    },
  };
}

const addName = (database: Database, name: string): Promise<unknown> =>
  sql`insert into call_name (name) values (${name})`.execute(database.db);
const failure = async (run: Promise<unknown>): Promise<string> =>
  await run.then(
    () => "",
    (error: unknown) => (error as Error).message,
  );

test("every table is copied, or named as one that belongs to its database", async () => {
  await using moving = await filledAndEmpty("SQLite", "SQLite");
  const tables = await moving.source.db.introspection.getTables({ withInternalKyselyTables: true });
  expect(tables.map(({ name }) => name).toSorted()).toEqual(
    [...COPIED_TABLES.map(({ name }) => name), ...OWN_TABLES].toSorted(),
  );
});

describe.each(PAIRS)("[d15.3] from %s to %s", (from, to) => {
  test("every row of every table arrives, and the counts are told", async () => {
    await using moving = await filledAndEmpty(from, to);
    const before = await allRows(moving.source.db);
    const { tables } = await moveDatabase({ ...moving, onProgress: quiet });
    expect(await allRows(moving.target.db)).toEqual(before);
    expect(tables.filter(({ isEqual }) => !isEqual)).toEqual([]);
    expect(tables.map(({ sourceRows }) => sourceRows)).toEqual(COPIED_TABLES.map(() => 3));
    await requireNotMoved(moving.target.db, "The copy");
    await addName(moving.target, "new");
  });

  test("the database that was left takes no changes and says where its contents are", async () => {
    await using moving = await filledAndEmpty(from, to);
    await moveDatabase({ ...moving, onProgress: quiet });
    expect(await failure(moving.source.store.revision())).toContain("was moved: its contents are now in the database");
    expect(await failure(requireNotMoved(moving.source.db, moving.source.name))).toContain("DATABASE_URL");
    expect(
      await failure(
        moving.source.store.note(LOCAL_ACTOR, { action: "create", outcome: "refused", kind: "token", tenantId: null }),
      ),
    ).toContain("takes no changes, because dragoman database move");
  });

  test("one that was interrupted goes on, and what was changed meanwhile arrives", async () => {
    await using moving = await filledAndEmpty(from, to);
    const { source, target, targetPlace } = moving;
    const stop = (): void => {
      throw new Error("killed");
    };
    expect(await failure(moveDatabase({ ...moving, onProgress: stop }))).toBe("killed");
    await target.store.close();
    const used = await openUsed(targetPlace);
    expect(await failure(requireNotMoved(used.db, used.name))).toContain("is not complete");
    await used.store.close();
    await sql`update call set cost_nano_usd = 77 where trace_id = 'trace_id-1'`.execute(source.db);
    await sql`delete from call_tag where tag = 'tag-2'`.execute(source.db);
    await sql`delete from audit_log where id = 'id-0'`.execute(source.db);
    await sql`update call_hour set calls = 7, cost_nano_usd = 9 where tenant_id = 1`.execute(source.db);
    await sql`delete from call_user_day where tenant_id = 1`.execute(source.db);
    await sql`update access_tokens set revoked_at_ms = 5 where id = 'id-1'`.execute(source.db);
    await addName(source, "meanwhile");
    const again = await openTarget(targetPlace);
    try {
      await moveDatabase({ source, target: again, onProgress: quiet });
      expect(await allRows(again.db)).toEqual(await allRows(source.db));
      expect((await moveDatabase({ source, target: again, onProgress: quiet })).wasDone).toBe(true);
    } finally {
      await again.store.close();
    }
  });

  test("changes are refused in the last step, and taken again soon after it was killed", async () => {
    await using moving = await filledAndEmpty(from, to);
    const { source, target } = moving;
    await failure(
      moveDatabase({
        ...moving,
        onProgress: () => {
          throw new Error("killed");
        },
      }),
    );
    const { rows } = await sql<{ readonly id: string }>`select id from database_move`.execute(source.db);
    await holdWrites(source.db, rows[0]!.id, 600_000);
    expect(await failure(addName(source, "refused"))).not.toBe("");
    await holdWrites(source.db, rows[0]!.id, 1);
    await untilFound(async () => (await failure(addName(source, "taken"))) === "", "the hold is over");
    await moveDatabase({ source, target, onProgress: quiet });
    expect(await allRows(target.db)).toEqual(await allRows(source.db));
  });

  test("a time that was too short for the last step makes it begin again", async () => {
    await using moving = await filledAndEmpty(from, to);
    await moveDatabase({ ...moving, onProgress: quiet, holdMs: 1 });
    expect(await allRows(moving.target.db)).toEqual(await allRows(moving.source.db));
  });

  test("it can be moved back, into the database that was left", async () => {
    await using moving = await filledAndEmpty(from, to);
    const { source, target } = moving;
    await moveDatabase({ ...moving, onProgress: quiet });
    await addName(target, "newer");
    await moveDatabase({ source: target, target: source, onProgress: quiet });
    expect(await allRows(source.db)).toEqual(await allRows(target.db));
    await source.store.revision();
    await addName(source, "newest");
    await moveDatabase({ source, target, onProgress: quiet });
    expect(await allRows(target.db)).toEqual(await allRows(source.db));
  });

  test("a database with other data is not filled, and neither is changed", async () => {
    await using moving = await filledAndEmpty(from, to);
    const { source, target } = moving;
    await fillDatabase(target.db, 1);
    const before = [await allRows(source.db), await allRows(target.db)];
    expect(await failure(moveDatabase({ ...moving, onProgress: quiet }))).toContain(
      "has the data of a gateway already",
    );
    expect([await allRows(source.db), await allRows(target.db)]).toEqual(before);
    await addName(source, "used as before");
  });

  test("a database that is in use is not filled", async () => {
    const place = await newPlace(to);
    await openTarget(place).then(({ store }) => store.close());
    const used = await openUsed(place);
    try {
      await used.store.revision();
      expect(await failure(openTarget(place))).toContain("is in use by a gateway or another command");
    } finally {
      await used.store.close();
    }
  });

  test("a database of a newer version is not filled", async () => {
    const place = await newPlace(to);
    const newer = await openTarget(place);
    await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`.execute(newer.db);
    await newer.store.close();
    expect(await failure(openTarget(place))).toContain("was migrated by a newer version");
  });
});

test("[d15.3] a move, also one back, that was killed while it began is begun anew", async () => {
  await using moving = await filledAndEmpty("SQLite", "SQLite");
  const back = { source: moving.target, target: moving.source };
  for (const { source, target } of [moving, back]) {
    for (const { db } of [source, target]) {
      await sql`create trigger killed before insert on database_move begin select raise(abort, 'killed'); end`.execute(
        db,
      );
      expect(await failure(moveDatabase({ source, target, onProgress: quiet }))).toBe("killed");
      await sql`drop trigger killed`.execute(db);
      await addName(source, `meanwhile ${source === moving.source} ${db === source.db}`);
    }
    await moveDatabase({ source, target, onProgress: quiet });
    expect(await allRows(target.db)).toEqual(await allRows(source.db));
    await requireNotMoved(target.db, target.name);
  }
});

test.skipIf(server === null)(
  "[d15.3] a text that PostgreSQL cannot store stops the move, which names the table",
  async () => {
    await using moving = await filledAndEmpty("SQLite", "PostgreSQL");
    await sql`update call set end_user = ${"a\u0000b"} where trace_id = 'trace_id-1'`.execute(moving.source.db);
    expect(await failure(moveDatabase({ ...moving, onProgress: quiet }))).toContain(
      "A row of the table call has a text with the character U+0000",
    );
    await addName(moving.source, "used as before");
  },
);

test.skipIf(server === null)(
  "[d15.3] no day of calls is removed from a database of which the last step is being copied, or that was moved",
  async () => {
    await using moving = await filledAndEmpty("PostgreSQL", "SQLite");
    const { source } = moving;
    const before = await allRows(source.db);
    await moveDatabase({ ...moving, onProgress: quiet });
    const isLater = Date.UTC(2100, 0);
    for (const table of PARTITIONED) expect(await failure(dropPartitions(source.db, table, isLater))).toContain(HELD);
    expect(await allRows(source.db)).toEqual(before);
  },
);

test.skipIf(server === null)(
  "a writer that has locked what the move waits for, and wants what the move has locked, goes on, and so does the move",
  async () => {
    await using moving = await filledAndEmpty("PostgreSQL", "SQLite");
    const { source } = moving;
    const [first, last] = [COPIED_TABLES[0]!.name, COPIED_TABLES.at(-1)!.name];
    const moves: Promise<unknown>[] = [];
    await source.db.transaction().execute(async (writer) => {
      await sql.raw(`lock table ${last} in row exclusive mode`).execute(writer);
      moves.push(moveDatabase({ ...moving, onProgress: quiet }));
      await untilFound(async () => {
        const { rows } = await sql`select 1 from pg_locks where not granted and relation = ${last}::regclass`.execute(
          writer,
        );
        return rows.length > 0;
      }, "the move waits for the writer");
      await sql.raw(`lock table ${first} in row exclusive mode`).execute(writer);
    });
    await Promise.all(moves);
    expect(await allRows(moving.target.db)).toEqual(await allRows(source.db));
  },
);
