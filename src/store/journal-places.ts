// How far the journals have been shipped, as the database knows it: written in the transaction of the rows, so that it goes back with them when the database is
// restored. One row for each run (journal-identity.ts) that has shipped anything.
import { type Kysely, sql, type Transaction } from "kysely";
import type { CallSchema } from "./call-schema.ts";
import type { ShippedPlace } from "./ledger.ts";
import { toInteger } from "./schema.ts";

/** A batch that was given up, and is committed late, does not take the place back. */
export async function keepPlace(
  tx: Transaction<CallSchema>,
  { journal, run, segment, offset, rows, lastMs }: ShippedPlace,
): Promise<void> {
  await sql`insert into journal_place (journal, run, segment, position, shipped_rows, last_ms) values (${journal}, ${run}, ${BigInt(segment)}, ${BigInt(offset)}, ${BigInt(rows)}, ${BigInt(Math.floor(lastMs))})
    on conflict (journal, run) do update set segment = excluded.segment, position = excluded.position, shipped_rows = excluded.shipped_rows, last_ms = excluded.last_ms where excluded.shipped_rows > journal_place.shipped_rows`.execute(
    tx,
  );
}

/** Those of these runs, and the last one of each of the journals. */
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
  return [...last, ...ofRuns].map((row) => ({
    journal: row.journal,
    run: row.run,
    segment: Number(row.segment),
    offset: Number(row.position),
    rows: Number(row.shipped_rows),
    lastMs: Number(row.last_ms),
  }));
}

/**
 * Removes the places of runs that their journal has left behind, where their last call began before this moment. A journal's last place stays for good, because its
 * folder may be started again after years. The others are asked for by a folder alone that was put back as it was so long ago, and then their rows are moved again,
 * which changes nothing while the calls are kept. Gives how many went.
 */
export async function prunePlaces(db: Kysely<CallSchema>, beforeMs: number): Promise<number> {
  const { numAffectedRows } =
    await sql`delete from journal_place where last_ms < ${toInteger(beforeMs)} and exists (select 1 from journal_place as later where later.journal = journal_place.journal and later.shipped_rows > journal_place.shipped_rows)`.execute(
      db,
    );
  return Number(numAffectedRows ?? 0);
}
