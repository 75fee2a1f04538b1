// Backups of databases of both kinds: that all of it comes back, that any damage is found, and what becomes of access.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { sql } from "kysely";
import { verifyBackup, writeBackup } from "../../../src/store/copies/backup.ts";
import { backupLines, openBackupWriter } from "../../../src/store/copies/backup-file.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { openSource, openTarget, openToRead } from "../../../src/store/copies/copy-places.ts";
import type { SchemaHistory } from "../../../src/store/database/contractions.ts";
import type { Database, DatabasePlace } from "../../../src/store/database/database.ts";
import { requireNotMoved, RESTORE } from "../../../src/store/database/move-marks.ts";
import { HISTORY, migrate } from "../../../src/store/migrations.ts";
import { openPostgresDatabase } from "../../../src/store/postgres.ts";
import { openSqliteDatabase } from "../../../src/store/sqlite.ts";
import { type Restored, type RestoreOptions, restoreBackup } from "../../../src/store/copies/restore.ts";
import { PARTED_TABLES } from "../../../src/store/copies/stored-tables.ts";
import { pagesOf } from "../../../src/store/database/pages.ts";
import { ROLL_UPS } from "../../../src/store/sums/roll-up-triggers.ts";
import { knownAccess } from "../../../src/store/copies/restored-access.ts";
import { chanceOf, printedSeed } from "../../harness/time/chance.ts";
import { migratedDatabases } from "../../harness/servers/databases.ts";
import { allRows, fillDatabase } from "../../harness/servers/filled-database.ts";
import { drawCount } from "../../harness/time/long-run.ts";
import { postgresDatabases } from "../../harness/servers/postgres-server.ts";

const folder = mkdtempSync(join(tmpdir(), "dragoman-backup-"));
const server = await postgresDatabases();
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await server?.dispose();
});
const newPostgres = server === null ? null : migratedDatabases(server);
let files = 0;

type Kind = "SQLite" | "PostgreSQL";
const KINDS: readonly Kind[] = server === null ? ["SQLite"] : ["SQLite", "PostgreSQL"];
const PAIRS = KINDS.flatMap((from) => KINDS.map((to) => [from, to] as const));
/** As a gateway has it open. */
const openUsed = async (place: DatabasePlace): Promise<Database> =>
  "file" in place ? await openSqliteDatabase(place) : openPostgresDatabase({ url: place.url });
/** Of a version to come. */
const NEXT_HISTORY: SchemaHistory = {
  ...HISTORY,
  migrations: {
    ...HISTORY.migrations,
    "9000-remarks": {
      up: async (db) => void (await sql`alter table projects add column remark text`.execute(db)),
    },
  },
};
const newPath = (): string => join(folder, `${++files}`);
/** The names of what was left behind beside a file. */
const namesBeside = (file: string): readonly string[] =>
  readdirSync(folder).filter((name) => name.startsWith(`${basename(file)}.`));
const newPlace = async (kind: Kind): Promise<DatabasePlace> =>
  kind === "SQLite" ? { file: join(newPath(), "dragoman.sqlite") } : { url: await newPostgres!() };
/** Sessions and links that were not used do not come back. */
const GONE: ReadonlySet<string> = new Set(["console_sessions", "console_codes"]);
const NOW_MS = 1_795_000_000_000;

async function filledPlace(kind: Kind, rows = 3): Promise<DatabasePlace> {
  const place = await newPlace(kind);
  const database = await openTarget(place);
  await fillDatabase(database.db, rows);
  await database.store.close();
  return place;
}

async function within<T>(opening: Promise<Database>, work: (database: Database) => Promise<T>): Promise<T> {
  const database = await opening;
  try {
    return await work(database);
  } finally {
    await database.store.close();
  }
}

async function backupOf(place: DatabasePlace, passphrase: string | null = null): Promise<string> {
  const file = newPath();
  await within(openSource(place), (database) =>
    writeBackup(database, { file, passphrase, program: "0.0.0", nowMs: NOW_MS }),
  );
  return file;
}

/** A file with these lines, as another program might write it. */
function crafted(lines: readonly string[]): string {
  const file = newPath();
  const writer = openBackupWriter(file, null);
  for (const line of lines) writer.line(line);
  writer.end();
  return file;
}

const restored = (options: Partial<RestoreOptions> & Pick<RestoreOptions, "file" | "place">): Promise<Restored> =>
  restoreBackup({ passphrase: null, known: async () => [], revokesAll: false, nowMs: 0, ...options });
const rowsAt = (place: DatabasePlace): Promise<Readonly<Record<string, readonly string[]>>> =>
  within(openToRead(place), ({ db }) => allRows(db));
const failure = async (run: () => unknown): Promise<string> => {
  try {
    await run();
    return "";
  } catch (error) {
    return (error as Error).message;
  }
};

describe.each(PAIRS)("[d15.3] a backup of %s in %s", (from, to) => {
  test("every row of every table comes back, encrypted or not", async () => {
    const source = await filledPlace(from);
    const before = await rowsAt(source);
    for (const passphrase of [null, "correct horse"]) {
      const place = await newPlace(to);
      const { access } = await restored({ file: await backupOf(source, passphrase), passphrase, place });
      const after = await rowsAt(place);
      for (const [table, rows] of Object.entries(before)) {
        if (GONE.has(table)) expect(after[table]).toEqual([]);
        else expect([table, after[table]]).toEqual([table, rows]);
      }
      expect(access.revoked).toEqual([]);
      await within(openToRead(place), ({ db, name }) => requireNotMoved(db, name));
    }
  });
});

describe.each(KINDS)("[d15.3] restoring in %s", (kind) => {
  test("is refused where a gateway has its data, and changes nothing there", async () => {
    const file = await backupOf(await filledPlace(kind));
    const place = await filledPlace(kind, 2);
    const before = await rowsAt(place);
    await within(openUsed(place), async ({ store }) => {
      await store.revision();
      expect(await failure(() => restored({ file, place }))).toContain("is in use by a gateway or another command");
    });
    if (kind === "PostgreSQL")
      expect(await failure(() => restored({ file, place }))).toContain("has the data of a gateway already");
    expect(await rowsAt(place)).toEqual(before);
  });

  test("begins anew after it was killed, and until then no gateway starts", async () => {
    const source = await filledPlace(kind);
    const file = await backupOf(source);
    const place = await newPlace(kind);
    const unfinished = "file" in place ? { file: `${place.file}.restoring` } : place;
    await within(openTarget(unfinished), async ({ db, name }) => {
      await fillDatabase(db, 1);
      await db
        .insertInto("database_move")
        .values({ id: "restore", role: "to", state: "copying", other: "a backup", until_ms: 0n })
        .execute();
      expect(await failure(() => requireNotMoved(db, name))).toContain("is not complete");
    });
    await restored({ file, place });
    const [after, before] = [await rowsAt(place), await rowsAt(source)];
    for (const table of ["call", ...ROLL_UPS.map((rollUp) => rollUp.table)])
      expect([table, after[table]]).toEqual([table, before[table]]);
  });
});

describe.skipIf(server === null)("[d15.3] a restore into PostgreSQL that is killed when all rows are there", () => {
  test("goes on with the same backup, also where the tables are migrated by then, and refuses another one", async () => {
    const source = await filledPlace("SQLite");
    const file = await backupOf(source);
    const place = await newPlace("PostgreSQL");
    const killed = async (): Promise<never> => {
      throw new Error("killed");
    };
    expect(await failure(() => restored({ file, place, known: killed }))).toBe("killed");
    await within(openToRead(place), ({ db, name }) => migrate(db, name, { history: NEXT_HISTORY }));
    const other = await backupOf(await filledPlace("SQLite", 2));
    expect(await failure(() => restored({ file: other, place }))).toContain("Drop this database");
    await restored({ file, place });
    const [after, before] = [await rowsAt(place), await rowsAt(source)];
    for (const table of ["call", "access_tokens", ...ROLL_UPS.map((rollUp) => rollUp.table)])
      expect([table, after[table]]).toEqual([table, before[table]]);
    await within(openToRead(place), ({ db, name }) => requireNotMoved(db, name));
  });

  test("still knows which database is newer than the backup, although it has changed access itself", async () => {
    const source = await filledPlace("SQLite");
    await within(openSource(source), async ({ db }) => {
      await sql`update access_tokens set revoked_at_ms = null, expires_at_ms = ${NOW_MS * 2}`.execute(db);
    });
    const file = await backupOf(source);
    const newer = await within(openSource(source), async ({ db, name }) => {
      await sql`update access_tokens set models = '["only"]' where id = 'id-1'`.execute(db);
      await sql`delete from access_tokens where id = 'id-2'`.execute(db);
      await sql`update revisions set counter = counter + 1`.execute(db);
      return await knownAccess(db, name, verifyBackup(file, null).lastChange);
    });
    const place = await newPlace("PostgreSQL");
    const failing = async () => {
      await within(openToRead(place), async ({ db }) => {
        await sql`create function killed() returns trigger language plpgsql as $$ begin raise exception 'killed'; end $$`.execute(
          db,
        );
        await sql`create trigger killed before delete on database_move for each row execute function killed()`.execute(
          db,
        );
      });
      return [newer];
    };
    const options = { file, place, nowMs: NOW_MS };
    expect(await failure(() => restored({ ...options, known: failing }))).toContain("killed");
    await within(openToRead(place), ({ db }) => sql`drop trigger killed on database_move`.execute(db));
    const { access } = await restored({ ...options, known: async () => [newer] });
    expect([access.newer.length, access.uncertain]).toEqual([1, []]);
  });
});

test("[d15.3] a damaged database is replaced and kept, and its log does not reach the new one", async () => {
  const file = await backupOf(await filledPlace("SQLite"));
  const place = await filledPlace("SQLite");
  if (!("file" in place)) throw new Error("SQLite has a file");
  writeFileSync(place.file, "this is no database, but it was one");
  writeFileSync(`${place.file}-wal`, "its log");
  const { setAside } = await restored({ file, place });
  expect(readFileSync(setAside!, "utf8")).toContain("it was one");
  expect(existsSync(`${place.file}-wal`)).toBe(false);
  expect((await rowsAt(place))["call"]!.length).toBe(3);
});

test("[d15.3] several databases that are replaced within one second are all kept", async () => {
  const file = await backupOf(await filledPlace("SQLite"));
  const place = await filledPlace("SQLite");
  if (!("file" in place)) throw new Error("SQLite has a file");
  const kept: string[] = [];
  for (const text of ["the first", "the second", "the third"]) {
    writeFileSync(place.file, text);
    kept.push((await restored({ file, place })).setAside!);
  }
  expect(kept.map((path) => readFileSync(path, "utf8"))).toEqual(["the first", "the second", "the third"]);
});

describe("[d15.3] the file", () => {
  let plain = "";
  let encrypted = "";
  beforeAll(async () => {
    const place = await filledPlace("SQLite", 40);
    [plain, encrypted] = [await backupOf(place), await backupOf(place, "secret words")];
  });

  test("is whole, and only its owner can read it", () => {
    expect(verifyBackup(plain, null).rows["call"]).toBe(40);
    expect(verifyBackup(encrypted, "secret words").rows["call"]).toBe(40);
    expect(statSync(plain).mode & 0o777).toBe(0o600);
  });

  test("that is not encrypted is refused where a passphrase is given", async () => {
    expect(await failure(() => verifyBackup(plain, "correct horse"))).toContain(
      `The backup ${plain} is not encrypted, although a passphrase is given`,
    );
    expect(verifyBackup(plain, null).program).toBe("0.0.0");
  });

  test("shows nothing of its content without the passphrase", async () => {
    const bytes = readFileSync(encrypted);
    expect(bytes.subarray(bytes.indexOf("\n") + 1).indexOf("sha256")).toBe(-1);
    expect(await failure(() => verifyBackup(encrypted, null))).toContain("is encrypted");
    expect(await failure(() => verifyBackup(encrypted, "secret word"))).toContain("the passphrase is another one");
  });

  test("each change, each cut and each added byte is found", () => {
    for (const [file, passphrase] of [
      [plain, null],
      [encrypted, "secret words"],
    ] as const) {
      const bytes = readFileSync(file);
      const damaged = newPath();
      const isFound = (changed: Uint8Array): boolean => {
        writeFileSync(damaged, changed);
        try {
          verifyBackup(damaged, passphrase);
          return false;
        } catch (error) {
          return error instanceof StoreError && error.kind === "invalid";
        }
      };
      const chance = chanceOf(printedSeed("flipped bits"));
      for (let draw = 0; draw < drawCount(8, 400); draw++) {
        const at = chance.below(bytes.length);
        const flipped = Buffer.from(bytes);
        flipped[at]! ^= 1 << chance.below(8);
        expect([at, isFound(flipped)]).toEqual([at, true]);
        expect([at, isFound(bytes.subarray(0, at))]).toEqual([at, true]);
      }
      expect(isFound(bytes.subarray(0, bytes.length - 1))).toBe(true);
      expect(isFound(Buffer.concat([bytes, Buffer.from([0])]))).toBe(true);
    }
  });

  test("that is none is refused in words that name it: a folder, keys that cannot be made, lines of another program", async () => {
    const other = newPath();
    mkdirSync(other);
    expect(await failure(() => verifyBackup(other, null))).toBe(
      `The file ${other} is no backup that this version can read. Name a file that dragoman backup has written, and use at least the version that wrote it.`,
    );
    const changed = newPath();
    for (const [n, r] of [
      [1025, 8],
      [1_048_576, 16],
    ]) {
      const text = readFileSync(encrypted, "latin1").replace(/"n":\d+,"r":\d+/, `"n":${n},"r":${r}`);
      writeFileSync(changed, text, "latin1");
      expect(await failure(() => verifyBackup(changed, "secret words"))).toContain(
        `The first line of the backup ${changed} was changed`,
      );
    }
    for (const line of ["nonsense", "{}", '{"kind":"other"}', '{"kind":"table","name":"call"}', "[1]"]) {
      const foreign = crafted([line]);
      expect(await failure(() => verifyBackup(foreign, null))).toContain(
        `This version cannot read line 1 of the backup ${foreign}: it `,
      );
    }
  });

  test("that another program wrote is refused in words that say what is wrong where, and leaves nothing behind", async () => {
    const lines = [...backupLines(plain, null)];
    const at = lines.findIndex((line) => line.startsWith('{"kind":"table","name":"tenants"'));
    const columns = (JSON.parse(lines[at]!) as { columns: { name: string }[] }).columns.map(({ name }) => name);
    const row = JSON.parse(lines[at + 1]!) as unknown[];
    const replaced = (index: number, ...by: readonly string[]): readonly string[] => lines.toSpliced(index, 1, ...by);
    const withValue = (column: string, value: unknown): readonly string[] =>
      replaced(at + 1, JSON.stringify(row.with(columns.indexOf(column), value)));
    const told = (from: string, to: string): readonly string[] => lines.map((line) => line.replace(from, to));
    const isWrong = (what: string): string => `line ${at + 2} of the backup FILE: ${what}`;
    const isRefused = (of: number): string =>
      `refuses a row of the table tenants in lines ${at + 2} to ${at + 1 + of} of the backup FILE`;
    const cases: readonly (readonly [readonly string[], string])[] = [
      [withValue("name", 5), isWrong("its value of the column name of the table tenants is not a text")],
      [withValue("version", true), isWrong("its value of the column version of the table tenants is not an integer")],
      [withValue("version", "9".repeat(19)), isWrong("its value of the column version")],
      [replaced(at + 1, JSON.stringify(row.slice(1))), isWrong("it has 6 values, and the table tenants has 7 columns")],
      [replaced(at + 1, JSON.stringify([...row, 7])), isWrong("it has 8 values")],
      [replaced(at + 1, lines[at + 1]!.slice(0, -5)), isWrong("it is not JSON")],
      [lines.slice(1), "line 1 of the backup FILE: what was backed up has to be said in the first line"],
      [replaced(0, lines[0]!, lines[0]!), "line 2 of the backup FILE: what was backed up has to be said"],
      [[...lines, lines[at]!], `line ${lines.length + 1} of the backup FILE: it stands behind the line that ends`],
      [lines.toSpliced(-1, 0, lines[at]!), "it names the table tenants for the second time"],
      [told('"tenants":40,', ""), "has 40 rows of the table tenants in place of 0"],
      [replaced(0, lines[0]!.replace(`${NOW_MS}`, "1e300")), "line 1 of the backup FILE: it says neither"],
      [lines.map((line) => line.replaceAll('"drafts"', '"draughts"')), "FILE has the table draughts"],
      [lines.map((line) => line.replaceAll('"drafts"', '"gateway_replica"')), "FILE has the table gateway_replica"],
      [lines.map((line) => line.replaceAll('"call_hour"', '"call_day"')), "FILE has the table call_day"],
      [replaced(at, lines[at]!.replace('"name":"id"', '"name":"it"')), "FILE has the column it of the table tenants"],
      [withValue("name", null), isRefused(40)],
      [told('"tenants":40,', '"tenants":41,').toSpliced(at + 1, 0, lines[at + 1]!), isRefused(41)],
    ];
    for (const kind of KINDS)
      for (const [written, expected] of cases) {
        const [file, place] = [crafted(written), await newPlace(kind)];
        expect(await failure(() => restored({ file, place }))).toContain(expected.replace("FILE", file));
        if (!("file" in place)) continue;
        expect(existsSync(place.file) || existsSync(`${place.file}.restoring`)).toBe(false);
      }
  });

  test("whose frame has other bytes than it should, or expands to more than any has, is damaged", async () => {
    const foreign = newPath();
    for (const content of [Buffer.from("no zstd"), Buffer.from(Bun.zstdCompressSync(Buffer.alloc(300_000_000)))]) {
      const first = Buffer.from('{"format":"dragoman-backup","version":1,"encryption":null}\n');
      const place = Buffer.concat([createHash("sha256").update(first).digest(), Buffer.alloc(8), Buffer.of(1)]);
      const head = Buffer.alloc(5, 1);
      head.writeUInt32BE(content.length + 32);
      const digest = createHash("sha256").update(place).update(content).digest();
      writeFileSync(foreign, Buffer.concat([first, head, digest, content]));
      expect(await failure(() => verifyBackup(foreign, null))).toBe(
        `The backup ${foreign} was changed or damaged in frame 1. Use another copy of it.`,
      );
    }
  });

  test.skipIf(server === null)(
    "with a text that PostgreSQL cannot store says where that can be corrected",
    async () => {
      const source = await filledPlace("SQLite");
      await within(openSource(source), async ({ db }) => {
        await sql`update call set end_user = ${"a\u0000b"} where trace_id = 'trace_id-1'`.execute(db);
      });
      const file = await backupOf(source);
      expect(await failure(async () => restored({ file, place: await newPlace("PostgreSQL") }))).toContain(
        "restore the backup into SQLite, and correct that row there",
      );
    },
  );

  test("of a newer version is refused, and names that version", async () => {
    const source = await filledPlace("SQLite");
    await within(openTarget(source), async ({ db }) => {
      await sql`insert into kysely_migration (name, timestamp) values ('9999-later', '2030-01-01')`.execute(db);
    });
    const file = newPath();
    await within(openToRead(source), (database) =>
      writeBackup(database, { file, passphrase: null, program: "9.9.9", nowMs: 0 }),
    );
    expect(await failure(async () => restored({ file, place: await newPlace("SQLite") }))).toContain(
      "was made by a newer version of Dragoman (9.9.9; 9999-later)",
    );
  });

  test.each(KINDS)("is not made of %s that was moved away, or that is not filled yet", async (kind) => {
    for (const [mark, why] of [
      [{ role: "from", state: "moved" }, "was moved: its contents are now in"],
      [{ role: "to", state: "copying" }, "is not complete"],
    ] as const) {
      const place = await filledPlace(kind);
      await within(openTarget(place), ({ db }) =>
        db
          .insertInto("database_move")
          .values({ id: "move", ...mark, other: "The database other.sqlite", until_ms: 0n })
          .execute(),
      );
      expect(await failure(() => backupOf(place))).toContain(why);
      expect(namesBeside(join(folder, `${files}`))).toEqual([]);
    }
  });

  test.each(KINDS)(
    "[d15.3] %s that a restore fills is opened for no move, which would migrate its tables",
    async (kind) => {
      const place = await filledPlace(kind);
      await within(openTarget(place), ({ db }) =>
        db
          .insertInto("database_move")
          .values({ id: RESTORE, role: "to", state: "copying", other: "a backup", until_ms: 0n })
          .execute(),
      );
      expect(await failure(() => within(openTarget(place), async () => {}))).toContain(
        "is not complete: a move or a restore fills it and has not ended. Run that move or restore again",
      );
      await within(openTarget(place, false), async () => {});
    },
  );

  test("overwrites no file, also none that was made meanwhile, and leaves nothing behind then", async () => {
    const place = await filledPlace("SQLite");
    const file = newPath();
    writeFileSync(file, "another's");
    expect(
      await failure(() =>
        within(openToRead(place), (database) =>
          writeBackup(database, { file, passphrase: null, program: "0.0.0", nowMs: 0 }),
        ),
      ),
    ).toContain("EEXIST");
    expect([readFileSync(file, "utf8"), namesBeside(file)]).toEqual(["another's", []]);
  });

  test("two at once to one name write files of their own, and one of them gets the name", async () => {
    const places = [await filledPlace("SQLite"), await filledPlace("SQLite")];
    const file = newPath();
    const begun = places.map((place, index) =>
      within(openToRead(place), (database) =>
        writeBackup(database, { file, passphrase: null, program: `${index}.0.0`, nowMs: 0 }).then(({ program }) => [
          program,
          verifyBackup(file, null).program,
        ]),
      ),
    );
    const made = (await Promise.allSettled(begun)).flatMap((end) => (end.status === "fulfilled" ? [end.value] : []));
    expect(made).toHaveLength(1);
    expect(made[0]![0]).toBe(made[0]![1]);
    expect(namesBeside(file)).toEqual([]);
  });

  test("takes little memory: what was said in calls is read a few calls at a time", async () => {
    const place = await filledPlace("SQLite", 50);
    await within(openToRead(place), async ({ db }) => {
      const pages: number[] = [];
      for await (const page of pagesOf(
        db,
        PARTED_TABLES.find(({ name }) => name === "call_content")!,
      ))
        pages.push(page.length);
      expect(pages).toEqual([20, 20, 10]);
    });
  });

  test.each(KINDS)("is of one moment, while %s is changed", async (kind) => {
    const place = await filledPlace(kind);
    const file = newPath();
    let isOver = false;
    const changing = within(openToRead(place), async ({ db }) => {
      for (let number = 100; !isOver; number++) {
        await Bun.sleep(0); // SQLite answers synchronously, which would leave no time for the backup.
        await db.transaction().execute(async (tx) => {
          await sql`insert into kept_answers (token_id, answer_key, request_hash, status, body, at_ms) values ('pair', ${`${number}`}, '', 200, '', 0)`.execute(
            tx,
          );
          await sql`insert into call_name (name) values (${`pair-${number}`})`.execute(tx);
        });
      }
    });
    const { rows } = await within(openSource(place), (database) =>
      writeBackup(database, { file, passphrase: null, program: "0.0.0", nowMs: 0 }),
    );
    isOver = true;
    await changing;
    expect(rows["kept_answers"]).toBe(rows["call_name"]);
    expect(verifyBackup(file, null).rows).toEqual(rows);
  });
});

describe("[d15.3] access after a restore", () => {
  /** What the place is changed by after its backup, and what the restore then knows of it. */
  async function afterwards(
    change: string,
    options: Partial<RestoreOptions> = {},
    expiresMs = NOW_MS * 2,
  ): Promise<Restored & { place: DatabasePlace }> {
    const source = await filledPlace("SQLite");
    // In ordinary databases, tokens are valid and their secrets are in hex: this fills them with small numbers and words.
    await within(openSource(source), async ({ db }) => {
      await sql`update access_tokens set revoked_at_ms = null, expires_at_ms = ${expiresMs}`.execute(db);
      await sql`update token_secrets set sha256 = replace(sha256, 'sha256-', '0')`.execute(db);
    });
    const file = await backupOf(source);
    const { lastChange } = verifyBackup(file, null);
    const known = await within(openSource(source), async ({ db, name }) => {
      for (const statement of change.split(";").filter(Boolean)) await sql.raw(statement).execute(db);
      return await knownAccess(db, name, lastChange);
    });
    const place = await newPlace("SQLite");
    return { ...(await restored({ file, place, known: async () => [known], nowMs: NOW_MS, ...options })), place };
  }
  const tokensIn = (place: DatabasePlace): Promise<readonly Record<string, unknown>[]> =>
    within(openToRead(place), async ({ db }) => {
      const rows = await db
        .selectFrom("access_tokens")
        .select(["id", "models", "revoked_at_ms"])
        .orderBy("id")
        .execute();
      return rows.map(({ id, models, revoked_at_ms: ms }) => ({ id, models, isRevoked: ms !== null }));
    });

  test("a token that a newer database knows as revoked or does not have any more is revoked", async () => {
    const { access, place } = await afterwards(
      "update access_tokens set revoked_at_ms = 7 where id = 'id-1';delete from access_tokens where id = 'id-2';update revisions set counter = counter + 2",
    );
    expect(access.revoked.toSorted()).toEqual(["id-1", "id-2"]);
    expect(access.uncertain).toEqual([]);
    expect((await tokensIn(place)).map(({ isRevoked }) => isRevoked)).toEqual([false, true, true]);
  });

  test("a token that had expired by the backup, and was given a later end since and then revoked, is revoked", async () => {
    for (const revokesAll of [false, true]) {
      const { access, place } = await afterwards(
        `update access_tokens set expires_at_ms = ${NOW_MS * 2};update access_tokens set revoked_at_ms = 7 where id = 'id-1';update revisions set counter = counter + 2`,
        { nowMs: NOW_MS * 2 - 1, revokesAll },
        NOW_MS,
      );
      expect(access.revoked.toSorted()).toEqual(revokesAll ? ["id-0", "id-1", "id-2"] : ["id-1"]);
      expect((await tokensIn(place)).map(({ isRevoked }) => isRevoked)).toEqual([revokesAll, true, revokesAll]);
    }
  });

  test("a newer database that was moved away does not know what was revoked after the move, so that the rest is listed", async () => {
    const { access } = await afterwards(
      "update access_tokens set revoked_at_ms = 7 where id = 'id-1';update revisions set counter = counter + 2;insert into database_move (id, role, state, other, until_ms) values ('move', 'from', 'moved', 'The database other.sqlite', 0)",
    );
    expect([access.newer.length, access.revoked]).toEqual([1, ["id-1"]]);
    expect(access.uncertain.map(({ id }) => id).toSorted()).toEqual(["id-0", "id-2"]);
  });

  test("a database from whose audit log the last change of the backup was removed because of its age is newer", async () => {
    const { access } = await afterwards(
      "insert into audit_removed (chain, sequence, at_ms, outcome, content_hash, hash) select chain, sequence + 100, at_ms, outcome, '', hash from audit_log;delete from audit_log;delete from access_tokens where id = 'id-2'",
    );
    expect([access.newer.length, access.revoked, access.uncertain]).toEqual([1, ["id-2"], []]);
  });

  test("a token has the rights and secrets that a newer database knows", async () => {
    const { access, place } = await afterwards(
      `update access_tokens set models = '["only"]' where id = 'id-1';update token_secrets set sha256 = 'abcd' where sha256 = '00';update revisions set counter = counter + 2`,
    );
    expect(access.changed).toBe(2);
    expect((await tokensIn(place))[1]!["models"]).toBe('["only"]');
    const secrets = await within(openToRead(place), ({ db }) =>
      db.selectFrom("token_secrets").select("sha256").execute(),
    );
    expect(secrets.map(({ sha256 }) => sha256).toSorted()).toEqual(["01", "02", "abcd"]);
  });

  test("what is taken over of tokens, roles and operators is in the audit log, and says how it was before", async () => {
    const { place } = await afterwards(
      `update access_tokens set models = '["only"]' where id = 'id-1';update memberships set role = 'viewer' where user_id = 'id-0';delete from memberships where user_id = 'id-1';update users set is_operator = 0;update revisions set counter = counter + 2`,
    );
    const rows = await within(openToRead(place), ({ db }) =>
      db
        .selectFrom("audit_log")
        .selectAll()
        .where("kind", "in", ["token", "membership", "user"])
        .orderBy("sequence")
        .execute(),
    );
    expect(
      rows.map(({ action, via, target_id: id, value_before: was, value_after: is }) => [
        `${via}: ${action} ${id}`,
        JSON.parse(was ?? "null"),
        JSON.parse(is ?? "null"),
      ]),
    ).toMatchObject([
      ["cli: change id-1", { models: [] }, { models: ["only"] }],
      ["cli: change id-0/id-0", { role: "developer" }, { role: "viewer" }],
      ["cli: remove id-1/id-0", { role: "developer" }, null],
      ["cli: change id-1", { operator: true }, { operator: false }],
    ]);
    const members = await within(openToRead(place), ({ db }) =>
      db.selectFrom("memberships").select(["user_id", "role"]).orderBy("user_id").execute(),
    );
    expect(members.map(({ user_id: id, role }) => `${id} ${role}`)).toEqual(["id-0 viewer", "id-2 developer"]);
  });

  test("a company login that a newer database does not have any more, or that is another one there, is taken away", async () => {
    const { place } = await afterwards(
      "update users set issuer = null, subject = null where id = 'id-0';update users set subject = 'other' where id = 'id-1';update revisions set counter = counter + 2",
    );
    const users = await within(openToRead(place), ({ db }) =>
      db.selectFrom("users").select(["id", "issuer", "subject"]).orderBy("id").execute(),
    );
    expect(users).toEqual([
      { id: "id-0", issuer: null, subject: null },
      { id: "id-1", issuer: null, subject: null },
      { id: "id-2", issuer: "issuer-2", subject: "subject-2" },
    ]);
  });

  test("what an older database or another gateway knows as revoked is revoked, and the rest is named as uncertain", async () => {
    const { access } = await afterwards(
      "update access_tokens set revoked_at_ms = 7 where id = 'id-1';delete from access_tokens where id = 'id-2';delete from audit_log;delete from audit_removed",
    );
    expect(access).toMatchObject({ newer: [], revoked: ["id-1"] });
    expect(access.uncertain.map(({ id }) => id)).toEqual(["id-0", "id-2"]);
  });

  test("a token is revoked that was revoked elsewhere while the database was filled", async () => {
    const source = await filledPlace("SQLite");
    await within(openSource(source), async ({ db }) => {
      await sql`update access_tokens set revoked_at_ms = null, expires_at_ms = ${NOW_MS * 2}`.execute(db);
    });
    const file = await backupOf(source);
    const { lastChange } = verifyBackup(file, null);
    const place = await newPlace("SQLite");
    const filledTokens: unknown[] = [];
    const known = () =>
      within(openSource(source), async ({ db, name }) => {
        // the database that is being filled is locked, and its files can be copied
        const filling = newPath();
        for (const end of ["", "-wal"])
          copyFileSync(`${(place as { readonly file: string }).file}.restoring${end}`, `${filling}${end}`);
        filledTokens.push(...(await tokensIn({ file: filling })));
        await sql`update access_tokens set revoked_at_ms = 7 where id = 'id-1'`.execute(db);
        return [await knownAccess(db, name, lastChange)];
      });
    expect((await restored({ file, place, known, nowMs: NOW_MS })).access.revoked).toEqual(["id-1"]);
    expect(filledTokens).toHaveLength(3);
  });

  test("with nothing known every valid token is named, or all are revoked", async () => {
    expect((await afterwards("", { known: async () => [] })).access.uncertain.length).toBe(3);
    const { access, place } = await afterwards("", { known: async () => [], revokesAll: true });
    expect([access.revoked.length, access.uncertain.length]).toEqual([3, 0]);
    expect((await tokensIn(place)).every(({ isRevoked }) => isRevoked)).toBe(true);
  });
});
