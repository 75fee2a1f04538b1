// Prometheus metrics of the ledger, read when metrics are scraped.
import { Counter, Gauge, type Registry } from "prom-client";
import type { LedgerStatus } from "../../store/open-ledger.ts";

/** `standing` returns null while there is no ledger. */
export function ledgerGauges(registry: Registry, standing: () => LedgerStatus | null): void {
  const registers = [registry];
  const gauge = (name: string, help: string, of: (standing: LedgerStatus) => number): void => {
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const now = standing();
        if (now !== null) this.set(of(now));
      },
    });
  };
  const counter = (name: string, help: string, of: (standing: LedgerStatus) => number): void => {
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        const now = standing();
        this.inc(now === null ? 0 : of(now));
      },
    });
  };
  gauge("dragoman_ledger_writable", "1 while rows of the ledger can be written, else 0.", ({ fault }) =>
    fault === null ? 1 : 0,
  );
  counter(
    "dragoman_ledger_rows_total",
    "Rows written to the ledger's journal, opening and closing.",
    ({ rows }) => rows,
  );
  counter(
    "dragoman_ledger_shipped_rows_total",
    "Rows that went from the journal to the database.",
    ({ shipped }) => shipped,
  );
  counter("dragoman_ledger_lost_rows_total", "Rows that neither disk nor memory took.", ({ lost }) => lost);
  counter(
    "dragoman_ledger_unrecorded_refusals_total",
    "Refused calls beyond the number that leaves rows.",
    ({ unrecorded }) => unrecorded,
  );
  gauge("dragoman_ledger_open_calls", "Calls with an opening row and no closing row.", ({ openCalls }) => openCalls);
  gauge(
    "dragoman_ledger_waiting_rows",
    "Rows in memory that wait for room on the disk.",
    ({ waitingRows }) => waitingRows,
  );
  gauge(
    "dragoman_ledger_unshipped_bytes",
    "Bytes of the journal that the database does not have yet.",
    ({ unshippedBytes }) => unshippedBytes,
  );
  gauge(
    "dragoman_ledger_sync_seconds",
    "How long the disk took to sync the journal last.",
    ({ lastSyncMs }) => (lastSyncMs ?? 0) / 1000,
  );
}
