// Rows of a worker's calls on their way to the database: the supervisor is the one that writes them. The worker's shipper
// sends batches over the channel, and goes on when the supervisor has them in the database.
import { bytesOf, rowOf } from "../../store/journal/journal-row.ts";
import type { LedgerRow, LedgerSink } from "../../store/journal/ledger.ts";
import type { SupervisorChannel, WorkerChannel } from "./messages.ts";

/** The sink of a worker's journal. */
export function remoteLedgerSink(channel: SupervisorChannel): LedgerSink {
  return {
    async ingest(rows, place) {
      const texts = rows.map(bytesOf);
      await channel.request(
        "ledger_rows",
        { rows: texts.map(({ length }, index) => (rows[index]!.settled ? length : -length)), place },
        Buffer.concat(texts),
      );
    },
    places: (journals, runs) => channel.request("ledger_places", { journals, runs }),
  };
}

/** Takes the rows of a worker into the supervisor's sink. */
export function serveLedger(channel: WorkerChannel, sink: LedgerSink): void {
  channel.handle("ledger_rows", ({ rows, place }, bytes) => sink.ingest(rowsIn(rows, bytes), place));
  channel.handle("ledger_places", ({ journals, runs }) => sink.places(journals, runs));
}

/** Throws RangeError when the lengths are not those of the bytes. */
function rowsIn(lengths: readonly number[], bytes: Uint8Array): readonly LedgerRow[] {
  let offset = 0;
  const rows = lengths.map((signed) => {
    const length = Math.abs(signed);
    const row = rowOf(Buffer.from(bytes.buffer, bytes.byteOffset + offset, length), signed > 0);
    offset += length;
    return row;
  });
  if (offset !== bytes.length) throw new RangeError(`${bytes.length} bytes arrived for rows of ${offset}`);
  return rows;
}
