// Prometheus metrics of the ledger, read when metrics are scraped.
import type { Registry } from "prom-client";
import type { LedgerStatus } from "../../store/journal/open-ledger.ts";
import { scrapedMetrics } from "./scraped-metrics.ts";

/** `status` returns null while there is no ledger. */
export function ledgerGauges(registry: Registry, status: () => LedgerStatus | null): void {
  const { gauge, counter } = scrapedMetrics(registry, status);
  gauge(
    "dragoman_ledger_writable",
    "1 while rows of the ledger can be written, otherwise 0.",
    ({ fault }) => (fault === null ? 1 : 0),
    [],
    "min",
  );
  counter(
    "dragoman_ledger_rows_total",
    "Rows written to the ledger's journal, opening and closing.",
    ({ rows }) => rows,
  );
  counter(
    "dragoman_ledger_shipped_rows_total",
    "Rows shipped from the journal to the database.",
    ({ shipped }) => shipped,
  );
  counter(
    "dragoman_ledger_lost_rows_total",
    "Rows lost because neither disk nor memory had room for them.",
    ({ lost }) => lost,
  );
  counter(
    "dragoman_ledger_unrecorded_refusals_total",
    "Refused calls beyond the number for which rows are written.",
    ({ unrecorded }) => unrecorded,
  );
  gauge("dragoman_ledger_open_calls", "Calls with an opening row and no closing row.", ({ openCalls }) => openCalls);
  gauge(
    "dragoman_ledger_waiting_rows",
    "Rows in memory, waiting for space on the disk.",
    ({ waitingRows }) => waitingRows,
  );
  gauge(
    "dragoman_ledger_unshipped_bytes",
    "Bytes of the journal that are not yet in the database.",
    ({ unshippedBytes }) => unshippedBytes,
  );
  gauge(
    "dragoman_ledger_sync_seconds",
    "Duration of the last sync of the journal to disk.",
    ({ lastSyncMs }) => (lastSyncMs ?? 0) / 1000,
    [],
    "max",
  );
}
