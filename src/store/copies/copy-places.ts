// Opens databases for commands that copy all of one to another: with the patience that large tables need, and the target
// for nobody else.
import { mkdirSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Client } from "pg";
import { isDatabaseUrl } from "../../config/sections.ts";
import { pathFault } from "../../config/path-fault.ts";
import { databaseFile, dataFolderUnusable } from "../data-folder.ts";
import type { Database, DatabasePlace } from "../database/database.ts";
import { MIGRATION_NAMES, migrationsRun } from "../migrations.ts";
import { isRestoring, notFilled, requireFilled } from "../database/move-marks.ts";
import { OWNERS_FOLDER } from "../database/owner-only.ts";
import { openSqliteDatabase } from "../sqlite.ts";
import { StoreError } from "../store-error.ts";

/** A place in a message, without a password. */
export const EXPECTED_PLACE =
  "postgresql://user:password@host:port/database, or sqlite:<folder> for the file dragoman.sqlite in a data folder";

const SQLITE = "sqlite:";
/** One statement may read a table as a whole. */
const STATEMENT_MS = 4 * 3_600_000;
const APPLICATION = "dragoman copy";
/** One command at a time fills a database. */
const LOCK = 7_205_761;
/** The connection of a command that was killed ends soon. */
const FREE_WITHIN_MS = 10_000;
/** A gateway that was stopped is gone soon after its process: PostgreSQL lists its connections for a moment longer. */
const LEFT_WITHIN_MS = 2_000;

/** The database of another place, as a person names it. Throws StoreError. */
export function namedPlace(text: string, flag = "--to"): DatabasePlace {
  if (text.startsWith(SQLITE) && text.length > SQLITE.length)
    return { file: databaseFile(resolve(text.slice(SQLITE.length))) };
  if (isDatabaseUrl(text)) return { url: text };
  throw new StoreError("invalid", `${flag}: expected ${EXPECTED_PLACE}.`);
}

/** Whether both are one database. Files are compared by their whole paths, and servers without users and options. */
export function isSamePlace(one: DatabasePlace, other: DatabasePlace): boolean {
  if ("file" in one) return "file" in other && one.file === other.file;
  if ("file" in other) return false;
  const [a, b] = [new URL(one.url), new URL(other.url)];
  return a.host === b.host && a.pathname === b.pathname;
}

/** What gateways may be using. It is migrated. Throws StoreError. */
export async function openSource(place: DatabasePlace): Promise<Database> {
  if ("file" in place && (statSync(place.file, { throwIfNoEntry: false })?.size ?? 0) === 0)
    throw new StoreError(
      "unusable",
      `There is no database ${place.file}. Name the server's data folder with --data (DRAGOMAN_DATA), or its database with DATABASE_URL.`,
    );
  const database = await opened(place, false);
  return await closingOnError(database, async () => {
    if (await database.store.isNew())
      throw new StoreError("unusable", `${database.name} has no tables of the gateway: there is nothing to copy.`);
    await requireFilled(database.db, database.name);
    await migrated(database);
    return database;
  });
}

/** To be read only, as it is: nothing in it is changed. Throws StoreError. */
export const openToRead = (place: DatabasePlace): Promise<Database> => opened(place, false);

/** To be filled, by nobody else. Its tables are made unless `isMigrated` is false. Throws StoreError. */
export async function openTarget(place: DatabasePlace, isMigrated = true): Promise<Database> {
  if ("file" in place)
    try {
      mkdirSync(dirname(place.file), { recursive: true, mode: OWNERS_FOLDER });
    } catch (error) {
      throw dataFolderUnusable(dirname(place.file), pathFault(error, dirname(place.file)), error);
    }
  const lock = "url" in place ? await lockPostgres(place.url) : null;
  try {
    const database = await opened(place, true);
    return await closingOnError(database, async () => {
      if (isMigrated) {
        // the remaining rows of a restore fit only the present tables
        if (await isRestoring(database.db)) throw notFilled(database.name);
        await migrated(database);
      }
      const close = async (): Promise<void> => {
        await database.store.close();
        await lock?.end().catch(() => {});
      };
      return { ...database, store: { ...database.store, close } };
    });
  } catch (error) {
    await lock?.end().catch(() => {});
    throw error instanceof StoreError && error.kind === "busy" && "file" in place
      ? inUse(`The database ${place.file}`, error)
      : error;
  }
}

/** Gateways can use what a newer version has added to, but this version would copy only what it knows. */
async function migrated({ db, name, store }: Database): Promise<void> {
  await store.migrate();
  const unknown = (await migrationsRun(db)).filter((migration) => !MIGRATION_NAMES.includes(migration));
  if (unknown.length > 0)
    throw new StoreError(
      "unusable",
      `${name} was migrated by a newer version of Dragoman (${unknown.join(", ")}), and this one does not know all of its tables. Run that version.`,
    );
}

/** Does what uses a database of PostgreSQL, with errors that name the database and the cure. */
export async function explainedBy<T>(place: DatabasePlace, run: () => Promise<T>): Promise<T> {
  if ("file" in place) return await run();
  const { explainingPostgres } = await import("../postgres.ts");
  return await explainingPostgres({ run }, place.url).run();
}

const inUse = (name: string, cause?: unknown): StoreError =>
  new StoreError(
    "conflict",
    `${name} is in use by a gateway or another command. Stop what uses it, or name another database.`,
    cause,
  );

async function opened(place: DatabasePlace, isAlone: boolean): Promise<Database> {
  if ("file" in place)
    return await openSqliteDatabase({
      file: place.file,
      isAlone,
      ...(isAlone && { busyTimeoutMs: LEFT_WITHIN_MS }),
    });
  const { openPostgresDatabase } = await import("../postgres.ts");
  return openPostgresDatabase({
    url: place.url,
    statementTimeoutMs: STATEMENT_MS,
    applicationName: APPLICATION,
    poolSize: 4,
  });
}

async function closingOnError<T>({ store }: Database, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The lock ends with its connection. */
async function lockPostgres(url: string): Promise<Client> {
  const [{ default: pg }, { explainingPostgres, GATEWAYS, databaseName }] = await Promise.all([
    import("pg"),
    import("../postgres.ts"),
  ]);
  const name = databaseName(url);
  const client = new pg.Client({
    connectionString: url,
    application_name: APPLICATION,
    connectionTimeoutMillis: 5_000,
  });
  client.on("error", () => {});
  const take = async (): Promise<void> => {
    await client.connect();
    const beganMs = performance.now();
    for (;;) {
      const { rows } = await client.query<{ readonly locked: boolean; readonly others: string }>(
        "select pg_try_advisory_lock($1) as locked, (select count(*) from pg_stat_activity where datname = current_database() and application_name = $2) as others",
        [LOCK, GATEWAYS],
      );
      const { locked, others } = rows[0]!;
      const isServed = Number(others) > 0;
      if (locked && !isServed) return;
      if (performance.now() - beganMs > (isServed ? LEFT_WITHIN_MS : FREE_WITHIN_MS)) throw inUse(name);
      await Bun.sleep(100);
    }
  };
  try {
    await explainingPostgres({ take }, url).take();
    return client;
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
}
