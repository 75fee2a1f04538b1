// Reads every row of a gateway's ledger, whether it is in the journal, in the database, or in both.
import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { recordIn, textOfBlock } from "../../src/store/calls/call-blocks.ts";
import { readEntry, withoutRoomAhead } from "../../src/store/journal/journal-entry.ts";
import { segmentPath, segmentsOf } from "../../src/store/journal/journal-folder.ts";
import { parseCallRecord } from "../../src/wire/json/record-json.ts";

export interface KeptRow {
  readonly traceId: string;
  /** The number that the client sent in `metadata`. */
  readonly call: number;
  readonly settled: boolean;
  readonly status: number;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
}

/** PostgreSQL returns large numbers as text. */
type Figure = number | string;

export interface StoredRow {
  readonly trace_id: string;
  readonly settled: Figure;
  readonly status: Figure;
  readonly prompt_tokens: Figure;
  readonly completion_tokens: Figure;
  readonly block_id: string;
  /** The block with its record. */
  readonly body: Uint8Array;
}

export const SELECT =
  "select call.trace_id, settled, status, prompt_tokens, completion_tokens, cast(block_id as text) as block_id, body from call join call_block on call_block.id = block_id";

/** Returns the rows of calls that have a number. Throws when the journal is damaged or a trace id occurs twice. */
export function keptRows(
  dataFolder: string,
  stored: readonly StoredRow[] = sqliteRows(dataFolder),
): readonly KeptRow[] {
  const rows = new Map<string, KeptRow>();
  for (const row of journalRows(join(dataFolder, "ledger"))) {
    if (rows.has(row.traceId)) throw new Error(`call ${row.call} has two closing rows in the journal`);
    rows.set(row.traceId, row);
  }
  const database = new Set<string>();
  const textOf = memoizedTexts();
  for (const row of stored) {
    if (database.has(row.trace_id)) throw new Error(`the trace id ${row.trace_id} stands twice in the database`);
    database.add(row.trace_id);
    const { metadata } = parseCallRecord(recordIn(textOf(row), row.trace_id)!);
    if (metadata !== null)
      rows.set(row.trace_id, {
        traceId: row.trace_id,
        call: Number(metadata["call"]),
        settled: Number(row.settled) === 1,
        status: Number(row.status),
        promptTokens: Number(row.prompt_tokens),
        completionTokens: Number(row.completion_tokens),
      });
  }
  return [...rows.values()];
}

/** A block holds the records of many rows. */
function memoizedTexts(): (row: StoredRow) => Buffer {
  const texts = new Map<string, Buffer>();
  return ({ block_id: id, body }) => {
    const known = texts.get(id);
    if (known !== undefined) return known;
    const text = textOfBlock(body);
    texts.set(id, text);
    return text;
  };
}

/** Counts the calls in the database and in its sums, without explained calls, which are not part of any sum. */
export function countedCalls(dataFolder: string): { readonly calls: number; readonly inSums: number } {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  try {
    return database
      .query<{ calls: number; inSums: number }, []>(
        "select (select count(*) from call where explained = 0) as calls, (select coalesce(sum(calls), 0) from call_hour) as inSums",
      )
      .get()!;
  } finally {
    database.close();
  }
}

function sqliteRows(dataFolder: string): readonly StoredRow[] {
  const database = new Database(join(dataFolder, "dragoman.sqlite"), { readonly: true });
  try {
    return database.query<StoredRow, []>(SELECT).all();
  } finally {
    database.close();
  }
}

function journalRows(folder: string): readonly KeptRow[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder).flatMap((slot) =>
    segmentsOf(join(folder, slot)).flatMap((segment) => segmentRows(segmentPath(join(folder, slot), segment))),
  );
}

function segmentRows(path: string): readonly KeptRow[] {
  const bytes = withoutRoomAhead(readFileSync(path));
  const rows: KeptRow[] = [];
  for (let at = 0; at < bytes.length;) {
    const entry = readEntry(bytes, at);
    if (typeof entry !== "object") throw new Error(`${path} is damaged at ${at}`);
    at = entry.end;
    if (entry.kind !== "closing" && entry.kind !== "unsettled") continue;
    const { traceId, metadata, status, usage } = parseCallRecord(entry.text);
    if (metadata !== null)
      rows.push({
        traceId,
        call: Number(metadata["call"]),
        settled: entry.kind === "closing",
        status,
        promptTokens: usage?.prompt_tokens ?? null,
        completionTokens: usage?.completion_tokens ?? null,
      });
  }
  return rows;
}
