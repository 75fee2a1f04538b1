// How far the journals have been shipped, as the database knows it. It is written in the transaction of the rows, so it
// goes back with them when the database is restored. There is one row for each run (journal-identity.ts) that has
// shipped anything.
import { type Kysely, sql, type Transaction } from "kysely";
import { type CallSchema, PLACE } from "./call-schema.ts";
import type { ShippedPlace } from "../journal/ledger.ts";
import { keptIn, toInteger } from "../database/columns.ts";

/** A batch that was given up and is committed late does not set the place back. */
export async function keepPlace(
  tx: Transaction<CallSchema>,
  { journal, run, segment, offset, rows, lastMs }: ShippedPlace,
): Promise<void> {
  await sql`insert into journal_place (journal, run, segment, position, shipped_rows, last_ms) values (${journal}, ${run}, ${BigInt(segment)}, ${BigInt(offset)}, ${BigInt(rows)}, ${BigInt(Math.floor(lastMs))})
    on conflict (journal, run) do update set segment = excluded.segment, position = excluded.position, shipped_rows = excluded.shipped_rows, last_ms = excluded.last_ms where excluded.shipped_rows > journal_place.shipped_rows`.execute(
    tx,
  );
}

/** Returns the places of these runs, and the last place of each of the journals. */
export async function findPlaces(
  db: Kysely<CallSchema>,
  journals: readonly string[],
  runs: readonly string[],
): Promise<readonly ShippedPlace[]> {
  const all = db.selectFrom("journal_place").selectAll();
  const last = [];
  for (const journal of journals)
    last.push(
      ...(await all.where("journal", "=", journal).orderBy("shipped_rows", "desc").limit(sql.lit(1)).execute()),
    );
  const ofRuns = runs.length === 0 ? [] : await all.where("run", "in", runs).execute();
  return [...last, ...ofRuns].map((row) => {
    const { position: offset, shippedRows: rows, ...place } = keptIn(PLACE, row);
    return { ...place, offset, rows };
  });
}

/**
 * Removes the places of runs that their journal has left behind, if their last call began before this time. The last
 * place of a journal is kept permanently, because its folder may be started again after years. The other places would
 * be needed only for a folder that is restored to its state of that long ago; its rows are then shipped again, which
 * changes nothing while the calls are kept. Returns how many were removed.
 */
export async function prunePlaces(db: Kysely<CallSchema>, beforeMs: number): Promise<number> {
  const { numAffectedRows } =
    await sql`delete from journal_place where last_ms < ${toInteger(beforeMs)} and exists (select 1 from journal_place as later where later.journal = journal_place.journal and later.shipped_rows > journal_place.shipped_rows)`.execute(
      db,
    );
  return Number(numAffectedRows ?? 0);
}
