// Inserts ledger rows into ClickHouse, each trace id once. What is stored already is looked up first; if two gateways
// insert the same call at the same time, both rows have one key, of which every read shows one (`final`), merged or not.
// A settled row replaces the row that was charged with a reservation, by a higher version of the same key.
import { TRACE_TIME_DIGITS } from "../core/ids.ts";
import { deduplicated, incomingOf } from "./call-ingest.ts";
import type { Incoming } from "./call-insert.ts";
import { tellsTime } from "./call-keys.ts";
import type { ClickHouse } from "./clickhouse-client.ts";
import { chSql, rawSql, type Sql } from "./clickhouse-sql.ts";
import type { LedgerRow } from "./ledger.ts";

/** A settled row is above an unsettled one, and a row that says that its key is left is above both. */
const LEFT = 2;
const AT_ONCE = 500;

interface StoredRow {
  readonly traceId: string;
  readonly timeMs: number;
  readonly isSettled: boolean;
}

export async function ingestInto(database: ClickHouse, rows: readonly LedgerRow[]): Promise<void> {
  const batch = deduplicated(rows.map(incomingOf));
  const stored = Map.groupBy(await storedRows(database, batch), ({ traceId }) => traceId);
  const added = batch.filter(({ figures }) => {
    const there = stored.get(figures.trace_id);
    return there === undefined || (figures.settled === 1 && !there.some(({ isSettled }) => isSettled));
  });
  const left = added.flatMap(({ figures }) =>
    (stored.get(figures.trace_id) ?? []).filter(({ timeMs }) => timeMs !== figures.time_ms),
  );
  // A call counts from the moment on at which it has its row: what belongs to it comes before.
  await database.insert(
    "call_detail",
    added.flatMap(({ figures, detail }) =>
      detail === null
        ? []
        : [
            {
              trace_id: figures.trace_id,
              time_ms: figures.time_ms,
              detail: Buffer.from(detail).toString("utf8"),
              version: figures.settled,
            },
          ],
    ),
  );
  await database.insert("call", [
    ...left.map(({ traceId, timeMs }) => ({ trace_id: traceId, time_ms: timeMs, version: LEFT, is_deleted: 1 })),
    ...added.map(rowOf),
  ]);
}

function rowOf({ figures, asked }: Incoming): object {
  return {
    ...figures,
    tags: figures.tags === "" ? [] : (JSON.parse(figures.tags) as readonly string[]),
    asked: asked.map(({ provider, model, code, tookMs }) => ({ provider, model, code, took_ms: Math.round(tookMs) })),
    end_ms: figures.time_ms + figures.total_ms,
    version: figures.settled,
    is_deleted: 0,
  };
}

async function storedRows(database: ClickHouse, batch: readonly Incoming[]): Promise<readonly StoredRow[]> {
  const found: StoredRow[] = [];
  for (let at = 0; at < batch.length; at += AT_ONCE) {
    const some = batch.slice(at, at + AT_ONCE);
    const timed = some.filter(({ figures }) => tellsTime(figures.trace_id, figures.time_ms));
    const others = some.filter((one) => !timed.includes(one));
    const conditions: readonly Sql[] = [
      ...(timed.length === 0
        ? []
        : [
            chSql`time_ms in ${timed.map(({ figures }) => figures.time_ms)} and trace_id in ${timed.map(({ figures }) => figures.trace_id)}`,
          ]),
      ...(others.length === 0 ? [] : [chSql`trace_id in ${others.map(({ figures }) => figures.trace_id)}`]),
    ];
    for (const condition of conditions)
      for (const row of await database.read(
        chSql`select trace_id, time_ms, settled from call final where ${condition}`,
      ))
        found.push({
          traceId: String(row["trace_id"]),
          timeMs: Number(row["time_ms"]),
          isSettled: Number(row["settled"]) === 1,
        });
  }
  return found;
}

/** Which rows have this trace id: first where its own time says, then anywhere. */
export function placesOfTrace(traceId: string): readonly Sql[] {
  const timeMs = Number.parseInt(traceId.slice(0, TRACE_TIME_DIGITS), 16);
  const anywhere = chSql`trace_id = ${traceId}`;
  return Number.isSafeInteger(timeMs) ? [chSql`time_ms = ${timeMs} and ${anywhere}`, anywhere] : [anywhere];
}

export const FROM_CALLS: Sql = rawSql("from call final");
