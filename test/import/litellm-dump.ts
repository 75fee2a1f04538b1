// Makes a dump of LiteLLM's database as pg_dump writes it, for tests.
import { createHash } from "node:crypto";

export const hashOf = (key: string): string => createHash("sha256").update(key).digest("hex");

/** Columns without a value are null. */
export type DumpRow = Readonly<Record<string, string>>;

export function dumpOf(tables: Readonly<Record<string, readonly DumpRow[]>>): string {
  const blocks = Object.entries(tables).map(([table, rows]) => {
    const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const lines = rows.map((row) => columns.map((column) => row[column] ?? "\\N").join("\t"));
    return [`COPY public."${table}" (${columns.join(", ")}) FROM stdin;`, ...lines, "\\.", ""].join("\n");
  });
  return ["--", "-- PostgreSQL database dump", "--", "SET statement_timeout = 0;", "", ...blocks].join("\n");
}
