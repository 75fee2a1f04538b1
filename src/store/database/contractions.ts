// How a schema is changed while gateways of two versions use it. A migration only adds, so that the former version goes on
// beside it. A contraction takes away what that version needs: it runs later, once no gateway of that version has been
// heard for a minute, and the database then names the oldest program that can use it (promise 15.4).

// Decides (records and configuration): When does a schema lose what an earlier version needs? By: `contract`. Also:
// `snapshot/replica-watch.ts`. Rule: Once no gateway of that version was heard for a minute; it cannot use the database
// afterwards.
import type { Kysely } from "kysely";
import type { Migration } from "kysely/migration";
import { VERSION } from "../../core/version.ts";
import { fromInteger, toInteger } from "./columns.ts";
import type { Schema } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import { readFirst } from "./pages.ts";
import { beginWriting } from "./transactions.ts";

type Db = Kysely<Schema>;

/** A program, by the last migration that it knows. */
export interface Program {
  /** The number with which the name of that migration begins. */
  readonly step: number;
  /** The first version that knows it. */
  readonly version: string;
}

export interface Contraction extends Pick<Migration, "up"> {
  /** The oldest program that can use the database afterwards. It and all newer ones can use it before, too. */
  readonly oldest: Program;
}

export interface SchemaHistory {
  /** Run in the order of their names, at the start. */
  readonly migrations: Readonly<Record<string, Migration>>;
  /** Run in this order. */
  readonly contractions: Readonly<Record<string, Contraction>>;
}

export const stepOf = (migration: string): number => Number(migration.slice(0, 4));

/** The step that a program with these migrations knows. */
export function stepOfProgram({ migrations }: SchemaHistory): number {
  return Math.max(0, ...Object.keys(migrations).map(stepOf));
}

/** Why a program with this history cannot use a database whose oldest program is `oldest`. */
export function refusalOf(databaseName: string, oldest: Program | null, history: SchemaHistory): string | null {
  const step = stepOfProgram(history);
  if (oldest === null || oldest.step <= step) return null;
  return `${databaseName} has a schema that only Dragoman ${oldest.version} and newer can use (from schema step ${oldest.step}). This is Dragoman ${VERSION}, which knows schema step ${step}. Start ${oldest.version} or newer, or restore a backup from before that upgrade.`;
}

/** `null` when nothing was contracted yet. */
export async function oldestProgram(db: Db): Promise<Program | null> {
  const oldest = db
    .selectFrom("schema_contraction")
    .select(["oldest_step", "oldest_version"])
    .orderBy("oldest_step", "desc")
    .limit(1);
  return await readFirst(oldest, (row) => ({ step: fromInteger(row.oldest_step), version: row.oldest_version }));
}

/**
 * Makes the contractions that leave a program of the step `oldestHeard` able, each in a transaction of its own, and
 * returns their names. Safe when several processes do it at once.
 */
export async function contract(
  db: Db,
  { contractions }: SchemaHistory,
  oldestHeard: number,
): Promise<readonly string[]> {
  if (Object.keys(contractions).length === 0) return [];
  const made: string[] = [];
  for (const [name, contraction] of Object.entries(contractions)) {
    if (contraction.oldest.step > oldestHeard) break;
    if (await isContracted(db, name)) continue;
    const isMade = await beginWriting(db).execute(async (tx) => {
      // The row of this table is the lock under which everything is written.
      await tx
        .updateTable("revisions")
        .set((row) => ({ counter: row("counter", "+", 1n) }))
        .execute();
      if (await isContracted(tx, name)) return false;
      await contraction.up(tx);
      await tx
        .insertInto("schema_contraction")
        .values({
          name,
          oldest_step: toInteger(contraction.oldest.step),
          oldest_version: contraction.oldest.version,
        })
        .execute();
      return true;
    });
    if (isMade) made.push(name);
  }
  return made;
}

async function isContracted(db: Db, name: string): Promise<boolean> {
  return (
    (await db.selectFrom("schema_contraction").select("name").where("name", "=", name).executeTakeFirst()) !== undefined
  );
}

/**
 * Whether this program can use a database that has migrations which it does not know. Throws StoreError `unusable`
 * otherwise.
 */
export async function requireAble(
  db: Db,
  databaseName: string,
  { run, history }: { readonly run: readonly string[]; readonly history: SchemaHistory },
): Promise<void> {
  const known = Object.keys(history.migrations);
  const unknown = run.filter((name) => !known.includes(name));
  if (known.some((name) => !run.includes(name)))
    throw new StoreError(
      "unusable",
      `${databaseName} was migrated by another version of Dragoman (${unknown.join(", ")}), which does not know every migration of this one. Run that version, or restore a backup from before the migration.`,
    );
  const refusal = refusalOf(databaseName, await oldestProgram(db), history);
  if (refusal !== null) throw new StoreError("unusable", refusal);
}
