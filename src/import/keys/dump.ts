// Reads a dump of LiteLLM's database, made by `pg_dump` with its usual COPY blocks, as a tree that knows the line of each
// row: the tables that say who may call, with the rows and columns that have a value. Other tables are counted only.
// https://www.postgresql.org/docs/current/sql-copy.html
import { ConfigurationError } from "../../config/problem.ts";
import { jsonIn } from "../../core/json.ts";
import { type ForeignFile, type ForeignNode, NOTHING } from "../foreign-file.ts";

export const KEYS = "LiteLLM_VerificationToken";
export const TEAMS = "LiteLLM_TeamTable";
export const BUDGETS = "LiteLLM_BudgetTable";

const READ: ReadonlySet<string> = new Set([KEYS, TEAMS, BUDGETS]);
/** Without these columns the dump is of a version that the import does not know. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  [KEYS]: ["token"],
  [TEAMS]: ["team_id"],
  [BUDGETS]: ["budget_id"],
};
const MAX_ROWS = 20_000;

const COPY = /^COPY (?:[\w"]+\.)?"?(\w+)"? \(([^)]*)\) FROM stdin;\r?$/;
const INSERT = /^INSERT INTO (?:[\w"]+\.)?"?LiteLLM_(?:VerificationToken|TeamTable|BudgetTable)"?\s/;
const END = /^\\\.\r?$/;
/** What says nothing: no value, and empty lists and objects. */
const EMPTY: ReadonlySet<string> = new Set(["\\N", "", "{}", "[]", "null"]);

/** Throws ConfigurationError. */
export function parseDump(file: string, text: string): ForeignFile {
  const lines = text.split("\n");
  const refuse = (line: number, message: string): never => {
    throw new ConfigurationError([{ file, line, column: 1, path: "", message }]);
  };
  const tables = new Map<string, ForeignNode>();
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at]!;
    if (INSERT.test(line)) refuse(at + 1, "expected COPY and not INSERT: make the dump without --inserts");
    const [, name, columns] = COPY.exec(line) ?? [];
    if (name === undefined) continue;
    const end = lines.findIndex((each, index) => index > at && END.test(each));
    if (end === -1) refuse(at + 1, "the rows of this table have no end: the dump is not whole");
    if (tables.has(name)) refuse(at + 1, "this table stands in the dump twice");
    tables.set(name, tableOf(name, namesOf(columns!), { first: at + 1, rows: lines.slice(at + 1, end) }, refuse));
    at = end;
  }
  if (!tables.has(KEYS))
    refuse(
      1,
      `this is no dump of LiteLLM's database: it has no rows of ${KEYS}; make one with pg_dump --data-only, in the plain format`,
    );
  return { file, root: { ...PLACE, ...NOTHING, kind: "mapping", members: tables }, replaced: [] };
}

const PLACE = { path: [], line: 1, column: 1 } as const;

interface Block {
  /** The line of the COPY, counted from 1. */
  readonly first: number;
  readonly rows: readonly string[];
}

function namesOf(columns: string): readonly string[] {
  return columns.split(",").map((each) => each.trim().replaceAll('"', ""));
}

function tableOf(
  name: string,
  columns: readonly string[],
  { first, rows }: Block,
  refuse: (line: number, message: string) => never,
): ForeignNode {
  const place = { path: [name], line: first, column: 1 };
  // one line of the report for a table that is not read
  if (!READ.has(name)) return { ...place, ...NOTHING, kind: "scalar", value: rows.length };
  const missing = REQUIRED[name]!.filter((each) => !columns.includes(each));
  if (missing.length > 0)
    refuse(
      first,
      `the table has no column ${missing.join(", ")}: it is of a version of LiteLLM that the import does not know`,
    );
  if (rows.length > MAX_ROWS) refuse(first, `the table has more than ${MAX_ROWS} rows`);
  const items = rows.map((row, index): ForeignNode => {
    const fields = row.replace(/\r$/, "").split("\t");
    const line = first + 1 + index;
    if (fields.length !== columns.length) refuse(line, `expected ${columns.length} columns and found ${fields.length}`);
    const path = [name, index];
    const members = columns.flatMap((column, at): readonly (readonly [string, ForeignNode])[] =>
      EMPTY.has(fields[at]!)
        ? []
        : [[column, fieldOf(plain(fields[at]!), { path: [...path, column], line, column: 1 })]],
    );
    return { path, line, column: 1, ...NOTHING, kind: "mapping", members: new Map(members) };
  });
  return { ...place, ...NOTHING, kind: "list", items };
}

const ESCAPED: Readonly<Record<string, string>> = { t: "\t", n: "\n", r: "\r", b: "\b", f: "\f", v: "\v" };

function plain(field: string): string {
  return field.replaceAll(/\\(.)/g, (_, letter: string) => ESCAPED[letter] ?? letter);
}

/**
 * Arrays of texts are lists, and JSON stays a text. So do numbers and booleans (`t`, `f`), because the dump does not tell
 * them apart.
 */
function fieldOf(text: string, place: Pick<ForeignNode, "path" | "line" | "column">): ForeignNode {
  const list = /^\{(.*)\}$/s.exec(text)?.[1];
  if (list === undefined || jsonIn(text) !== undefined) return { ...place, ...NOTHING, kind: "scalar", value: text };
  const items = Array.from(list.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g), ([, quoted, bare], index): ForeignNode => {
    const value = quoted === undefined ? bare! : quoted.replaceAll(/\\(.)/g, "$1");
    return { ...place, path: [...place.path, index], ...NOTHING, kind: "scalar", value };
  });
  return { ...place, ...NOTHING, kind: "list", items };
}
