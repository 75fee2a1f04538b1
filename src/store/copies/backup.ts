// Backups: all rows of a database as of one moment, while gateways use it, in a form that a database of either kind takes
// back. The tables and their columns are named in it, so that a later version restores it into the schema that it was
// made of, and migrates that.

// Decides (records and configuration): What is in a backup, and of which moment is it? By: `writeBackup`. Also:
// `stored-tables.ts` (`COPIED_TABLES`), `restore.ts`. Rule: All rows of the database as of one moment. Not in it: the
// master key, the configuration file, and rows that are still in the ledger on disk.
import { jsonIn } from "../../core/json.ts";
import { counted } from "../../core/text/counted.ts";
import { rmSync } from "node:fs";
import type { Kysely } from "kysely";
import { z } from "zod";
import { type BackupWriter, backupLines, openBackupWriter } from "./backup-file.ts";
import type { Database } from "../database/database.ts";
import { requireNotMoved } from "../database/move-marks.ts";
import { inOneView } from "../database/transactions.ts";
import { migrationsRun, WATCHED } from "../migrations.ts";
import type { Schema } from "../schema.ts";
import { COPIED_TABLES } from "./stored-tables.ts";
import { StoreError } from "../store-error.ts";
import { pagesOf, type TableRow } from "../database/pages.ts";
import { type Column, type Columns, columnsOf } from "./table-copies.ts";
import { placeAs, unfinishedPath } from "./unfinished-file.ts";

/** The last time that a date can name. */
const MOST_MS = 8_640_000_000_000_000;

/** What stands in its first line. */
const ABOUT = z.object({
  kind: z.literal("about"),
  /** Of the program that wrote it. */
  program: z.string(),
  made_at_ms: z.int().min(0).max(MOST_MS),
  database: z.enum(["sqlite", "postgres"]),
  /** The names of the migrations that its tables have had. */
  migrations: z.array(z.string()).min(1),
});
const TABLE = z.object({
  kind: z.literal("table"),
  name: z.string(),
  columns: z.array(z.object({ name: z.string(), type: z.enum(["number", "text", "bytes"]) })),
});
const END = z.object({ kind: z.literal("end"), rows: z.record(z.string(), z.number()) });
/** A line that is no row: those stand after their table, as lists. */
const LINE = z.discriminatedUnion("kind", [ABOUT, TABLE, END]);

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const WORDS = { number: "an integer of 64 bits", text: "a text", bytes: "base64" } as const;

export interface BackupSummary {
  readonly program: string;
  readonly madeAtMs: number;
  readonly database: "sqlite" | "postgres";
  readonly migrations: readonly string[];
  /** Rows of each table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly columns: Columns;
  /** The hash of the last change in its audit log, by which a database shows that it goes on from there. */
  readonly lastChange: string | null;
  /** The number of changes of what snapshots are compiled from, by which databases are older and newer. */
  readonly revision: bigint;
}

export type BackupAbout = Omit<BackupSummary, "rows" | "columns" | "lastChange" | "revision">;
/** What writing a backup tells of it. */
export type WrittenBackup = Omit<BackupSummary, "columns" | "lastChange" | "revision">;

export type BackupPart =
  | { readonly kind: "about"; readonly about: BackupAbout }
  | { readonly kind: "table"; readonly name: string; readonly columns: readonly Column[] }
  /** `line` is the number of its line in the text of the backup, and `length` that of the characters in it. */
  | {
      readonly kind: "row";
      readonly table: string;
      readonly row: TableRow;
      readonly line: number;
      readonly length: number;
    }
  | { readonly kind: "end"; readonly rows: BackupSummary["rows"] };

export interface BackupOptions {
  readonly file: string;
  /** `null` for a backup that is not encrypted. */
  readonly passphrase: string | null;
  readonly program: string;
  readonly nowMs: number;
}

/**
 * Never overwrites a file, and leaves none when it fails. Throws StoreError, also for a database that gateways do not use
 * any more or not yet, or the system's error.
 */
export async function writeBackup(
  { db, kind, name }: Database,
  { file, passphrase, program, nowMs }: BackupOptions,
): Promise<WrittenBackup> {
  const unfinished = unfinishedPath(file);
  const writer = openBackupWriter(unfinished, passphrase);
  try {
    const columns = await columnsOf(db);
    const summary = await inOneView(db, async (tx) => {
      await requireNotMoved(tx, name);
      const about = { program, madeAtMs: nowMs, database: kind, migrations: await migrationsRun(tx) };
      writer.line(
        JSON.stringify({ kind: "about", program, made_at_ms: nowMs, database: kind, migrations: about.migrations }),
      );
      const rows: Record<string, number> = {};
      for (const table of COPIED_TABLES)
        rows[table.name] = await writeTable(tx, writer, table, columns.get(table.name) ?? []);
      writer.line(JSON.stringify({ kind: "end", rows }));
      return { ...about, rows };
    });
    writer.end();
    placeAs(unfinished, file);
    return summary;
  } catch (error) {
    writer.abandon();
    rmSync(unfinished, { force: true });
    throw error;
  }
}

async function writeTable(
  db: Kysely<Schema>,
  writer: BackupWriter,
  table: (typeof COPIED_TABLES)[number],
  columns: readonly Column[],
): Promise<number> {
  const described = columns.map(({ name, kind }) => ({ name, type: kind }));
  writer.line(JSON.stringify({ kind: "table", name: table.name, columns: described }));
  let rows = 0;
  for await (const page of pagesOf(db, table))
    for (const row of page) {
      writer.line(JSON.stringify(columns.map(({ name, kind }) => writtenValue(row[name], kind))));
      rows++;
    }
  return rows;
}

/** Integers that a number cannot represent are texts, and bytes are in base64. */
function writtenValue(value: unknown, kind: Column["kind"]): unknown {
  if (value === null) return null;
  if (kind === "bytes") return Buffer.from(value as Uint8Array).toString("base64");
  if (kind === "text") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : (value as bigint).toString();
}

/** `undefined` when the column cannot have been written so. */
function readValue(value: unknown, kind: Column["kind"]): unknown {
  if (value === null) return null;
  if (kind === "number") return readInteger(value);
  if (typeof value !== "string") return undefined;
  if (kind === "text") return value;
  return BASE64.test(value) ? Buffer.from(value, "base64") : undefined;
}

function readInteger(value: unknown): bigint | undefined {
  if (!Number.isSafeInteger(value) && !(typeof value === "string" && /^-?\d{16,19}$/.test(value))) return undefined;
  const integer = BigInt(value as number | string);
  return BigInt.asIntN(64, integer) === integer ? integer : undefined;
}

/** Everything in a backup, in its order, checked. Throws StoreError `invalid`. */
export function* backupParts(file: string, passphrase: string | null): Iterable<BackupPart> {
  const found = new Map<string, number>();
  let table: Table | null = null;
  let isOver = false;
  let number = 0;
  for (const line of backupLines(file, passphrase)) {
    number += 1;
    const value = readLine(line, { file, number, table, isOver });
    switch (value.kind) {
      case "row":
        found.set(table!.name, found.get(table!.name)! + 1);
        yield { kind: "row", table: table!.name, row: value.row, line: number, length: line.length };
        break;
      case "about": {
        const { program, made_at_ms: madeAtMs, database, migrations } = value;
        yield { kind: "about", about: { program, madeAtMs, database, migrations } };
        break;
      }
      case "table": {
        const { name, columns } = value;
        if (found.has(name)) throw unreadable(file, number, `it names the table ${name} for the second time`);
        table = value;
        found.set(name, 0);
        yield { kind: "table", name, columns: columns.map((one) => ({ name: one.name, kind: one.type })) };
        break;
      }
      case "end":
        for (const name of new Set([...found.keys(), ...Object.keys(value.rows)])) {
          const [count, told] = [found.get(name) ?? 0, value.rows[name] ?? 0];
          if (count !== told)
            throw new StoreError(
              "invalid",
              `The backup ${file} has ${counted(count, "row")} of the table ${name} in place of ${told}. Use another copy of it.`,
            );
        }
        isOver = true;
        yield { kind: "end", rows: value.rows };
    }
  }
  if (!isOver)
    throw new StoreError("invalid", `The backup ${file} does not say where it ends. Use another copy of it.`);
}

type Table = z.infer<typeof TABLE>;

interface LinePlace {
  readonly file: string;
  readonly number: number;
  /** Whose rows may stand here. */
  readonly table: Table | null;
  /** Whether the end was read before. */
  readonly isOver: boolean;
}

/** Each frame has a digest, so that only a file that another program wrote has such a line. */
const unreadable = (file: string, number: number, what: string): StoreError =>
  new StoreError(
    "invalid",
    `This version cannot read line ${number} of the backup ${file}: ${what}. Use a file that dragoman backup has written, and at least the version that wrote it.`,
  );

/** Throws StoreError `invalid`. */
function readLine(
  line: string,
  { file, number, table, isOver }: LinePlace,
): z.infer<typeof LINE> | { readonly kind: "row"; readonly row: TableRow } {
  const value = jsonIn(line);
  if (value === undefined) throw unreadable(file, number, "it is not JSON");
  if (isOver) throw unreadable(file, number, "it stands behind the line that ends the backup");
  if (Array.isArray(value) && table !== null) {
    const row = rowOfLine(value, table);
    if (typeof row === "string") throw unreadable(file, number, row);
    return { kind: "row", row };
  }
  const { data } = LINE.safeParse(value);
  if (data === undefined) throw unreadable(file, number, "it says neither what was backed up nor what follows");
  if ((data.kind === "about") !== (number === 1))
    throw unreadable(file, number, "what was backed up has to be said in the first line, and there alone");
  return data;
}

/** What is wrong with it, where it is no row of the table. */
function rowOfLine(values: readonly unknown[], { name: table, columns }: Table): TableRow | string {
  if (values.length !== columns.length)
    return `it has ${counted(values.length, "value")}, and the table ${table} has ${counted(columns.length, "column")}`;
  const row: Record<string, unknown> = {};
  for (const [index, { name, type }] of columns.entries()) {
    row[name] = readValue(values[index], type);
    if (row[name] === undefined) return `its value of the column ${name} of the table ${table} is not ${WORDS[type]}`;
  }
  return row;
}

/** Reads all of a backup and restores nothing. Throws StoreError `invalid` when anything in it is not as it was written. */
export function verifyBackup(file: string, passphrase: string | null): BackupSummary {
  let about: BackupAbout | null = null;
  let rows: BackupSummary["rows"] = {};
  const columns = new Map<string, readonly Column[]>();
  let last: TableRow | null = null;
  let revision = 0n;
  for (const part of backupParts(file, passphrase)) {
    if (part.kind === "about") ({ about } = part);
    else if (part.kind === "table") columns.set(part.name, part.columns);
    else if (part.kind === "end") ({ rows } = part);
    else if (part.kind === "row" && part.table === "audit_log" && isLater(part.row, last)) last = part.row;
    else if (part.kind === "row" && part.table === "revisions" && part.row["name"] === WATCHED)
      revision = part.row["counter"] as bigint;
  }
  return { ...about!, rows, columns, lastChange: last === null ? null : (last["hash"] as string), revision };
}

const isLater = ({ revision }: TableRow, last: TableRow | null): boolean =>
  typeof revision === "bigint" && (last === null || revision > (last["revision"] as bigint));
