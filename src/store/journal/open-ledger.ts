// Opens the ledger of one process: its own journal folder, what an earlier process left in it, and the shipper of its
// rows (docs/design/journal.md). Several processes on one data folder have a folder each. The others take over what a
// process leaves behind that does not come back.

// Decides (records and configuration): What if two processes start on one data folder? By: `ownFolder`,
// `adoptOthers`. Also: `limit-counts.ts`; docs/design/journal.md. Rule: Each has a journal folder of its own; a
// journal that was left is taken over.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathFault } from "../../config/path-fault.ts";
import { MAX_WORKERS } from "../../config/worker-count.ts";
import { ledgerFolderUnusable } from "../data-folder.ts";
import { type FolderLock, lockFolder, lockPath, segmentsOf, slotsOf } from "./journal-folder.ts";
import { inspectJournal } from "./journal-recovery.ts";
import { readState } from "./journal-state.ts";
import { JournalledCounts } from "./journalled-counts.ts";
import type { Ledger, SettlementLedger } from "./ledger.ts";
import { unshippedBytes } from "./ledger-status.ts";
import { StoreError } from "../store-error.ts";
import { openJournal, endJournal } from "./open-journal.ts";
import type { LedgerOptions } from "./ledger-options.ts";

/** A supervisor, its workers, and those whose calls still run although they were replaced, several times over. */
const MAX_PROCESSES = 15 * MAX_WORKERS;
/** How often the folders of other processes are checked. */
const ADOPT_MS = 30_000;

export type OpenLedger = Awaited<ReturnType<typeof openLedger>>;
/** The figures that operators see. */
export type LedgerStatus = ReturnType<OpenLedger["status"]>;

/** Throws StoreError. */
export async function openLedger(options: LedgerOptions) {
  const { slot, lock } = ownFolder(options);
  const counts = new JournalledCounts();
  const later = new JournalledCounts();
  if (options.counted?.atStart === true) countOthers(options, slot, counts);
  const own = await openJournal(
    options,
    join(options.folder, slot),
    lock,
    options.counted?.atStart === true ? counts : null,
  );
  const { journal, shipper } = own;
  shipper.start();
  const met = new Set<string>();
  let adopting = adoptOthers(options, slot, later, met);
  /** Takes over the journals of processes that have ended, at once. Never rejects. */
  const adopt = (): Promise<void> => (adopting = adopting.then(() => adoptOthers(options, slot, later, met)));
  const timer = setInterval(() => void adopt(), options.pace?.adoptMs ?? ADOPT_MS).unref();
  const ledger: Ledger & SettlementLedger = {
    refusal: () => journal.refusal(),
    open: (record, meter) => journal.open(record, meter),
    reopen: (entry) => journal.reopen(entry),
    writeStateOf: (traceIds) => journal.writeStateOf(traceIds),
    countBeside: (beside) => journal.countBeside(beside),
    countWhenStated: (traceId, count) => journal.countWhenStated(traceId, count),
    countSettled: () => journal.countSettled(),
    written: (entry) => journal.written(entry),
    close: (entry, record) => journal.close(entry, record),
  };
  return {
    ...ledger,
    status: () => ({
      ...journal.status(),
      shipped: shipper.shipped,
      /** Bytes of the journal that have not been shipped, opening entries included. */
      unshippedBytes: unshippedBytes(own.folder, shipper.place, journal.writtenTo),
      folder: own.folder,
    }),
    adopt,
    /** Calls of earlier processes that were in flight when these ended. */
    recovered: own.recovered,
    /** The last count of each account of a limit in the entries of processes that had ended. */
    counts: counts.all,
    /** The same for processes that have ended since. */
    laterCounts() {
      countOthers(options, slot, later);
      return later.all;
    },
    /** What calls of workers held at the start, by all journals there are. */
    holds: counts.holds,
    /** The same now. */
    laterHolds() {
      countOthers(options, slot, later);
      return later.holds;
    },
    /** Ships what it can within seconds; the rest stays on the disk. */
    async end(): Promise<void> {
      clearInterval(timer);
      await adopting;
      await endJournal(own, options.log);
    },
  };
}

/** Takes the first folder that no other process holds. */
function ownFolder({ folder, lock: take = lockFolder }: LedgerOptions): {
  readonly slot: string;
  readonly lock: FolderLock;
} {
  try {
    for (let slot = 0; slot < MAX_PROCESSES; slot++) {
      const lock = take(join(folder, String(slot)));
      if (lock !== null) return { slot: String(slot), lock };
    }
  } catch (error) {
    throw ledgerFolderUnusable(folder, pathFault(error, folder), error);
  }
  throw new StoreError("busy", `${MAX_PROCESSES} processes, the maximum, have ledgers in ${folder} already.`);
}

/**
 * Reads the journals of other folders too, because the process that counted last may have used one of them. In journals of
 * running processes, only what workers held is read: the supervisor that counted for them may have ended before them.
 */
function countOthers(
  { folder, lock: take = lockFolder, counted }: LedgerOptions,
  ownSlot: string,
  counts: JournalledCounts,
): void {
  if (counted === undefined) return;
  for (const slot of slotsOf(folder)) {
    const lock = slot === ownSlot ? null : take(join(folder, slot));
    try {
      const { openings } = inspectJournal(join(folder, slot), {
        sinceMs: counted.sinceMs(),
        onEntry: lock === null ? counts.onHold : counts.onEntry,
      });
      // A call that has not ended may have begun long ago.
      for (const opening of openings) counts.onHold(opening);
    } catch {
      // The process that takes the folder over reports what is wrong with it.
    }
    lock?.release();
  }
}

/**
 * Ships what processes that no longer run have left. A journal without rows is opened once as well, because it may be
 * the one that knows what a restored database lacks. Never rejects: the next round handles what this one did not.
 */
async function adoptOthers(
  options: LedgerOptions,
  ownSlot: string,
  counts: JournalledCounts,
  met: Set<string>,
): Promise<void> {
  const { folder: all, counted, adopts = true } = options;
  if (!adopts) return;
  // The process that keeps the counts reads them from there first.
  if (counted?.keepsCounts() === false) return;
  const told = async (folder: string, work: () => Promise<boolean>): Promise<boolean> => {
    try {
      return await work();
    } catch (fault) {
      options.log("error", "rows of the ledger that another process left cannot be taken over", {
        folder,
        error_detail: String(fault),
      });
      return true;
    }
  };
  await told(all, async () => {
    for (const slot of slotsOf(all).filter((name) => name !== ownSlot))
      if (!(await told(join(all, slot), () => adoptOther(options, slot, counts, met)))) return false;
    return true;
  });
}

/** Returns false when the database takes no rows now: the next round tries again. */
async function adoptOther(
  options: LedgerOptions,
  slot: string,
  counts: JournalledCounts,
  met: Set<string>,
): Promise<boolean> {
  const { folder: all, lock: take = lockFolder } = options;
  const folder = join(all, slot);
  const hasRows = segmentsOf(folder).length > 0;
  if (!existsSync(lockPath(folder)) || !(hasRows || (!met.has(slot) && readState(folder) !== null))) return true;
  const lock = take(folder);
  if (lock === null) return true;
  try {
    if (hasRows) options.log("info", "taking over rows of the ledger that another process left", { folder });
    const other = await openJournal(options, folder, lock, counts);
    const isShipped = await endJournal(other, options.log);
    if (other.shipper.progress !== null) met.add(slot);
    return isShipped || other.shipper.shipped > 0;
  } catch (fault) {
    // Whoever can read the folder, such as a newer version, may take it.
    lock.release();
    throw fault;
  }
}
