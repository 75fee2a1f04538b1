// Opens what is stored about calls.
import { join } from "node:path";
import { completeJournals } from "../../admission/valkey/lease-journal.ts";
import { type EarlierWorkers, openEarlierWorkers } from "../../admission/valkey/earlier-workers.ts";
import { systemClock } from "../../core/clock.ts";
import { openContentLog } from "../../observe/content-log.ts";
import { type ContentWriter, openContentStore } from "../../store/calls/content-store.ts";
import { ledgerFolderOf, leasesFolderOf } from "../../store/data-folder.ts";
import type { LedgerOptions } from "../../store/journal/ledger-options.ts";
import { type LimitCounts, openLimitCounts } from "../../store/journal/limit-counts.ts";
import { openLedger } from "../../store/journal/open-ledger.ts";
import { type Base, LAST_WRITES_MS } from "./base.ts";
import type { Storage } from "./open-storage.ts";

/** Time for the ledger to be shipped and synced. The rest is shipped after the next start. */
const LAST_ROWS_MS = 5000;

/**
 * How far before the last saved counts the ledger's rows are searched, because the clocks of files and of the process
 * differ.
 */
const COUNTED_BEFORE_MS = 60_000;

export interface Records extends CallRecords {
  /** For limits that are counted in this process alone; `null` when a shared limit store counts them. */
  readonly countStore: LimitCounts | null;
  /** With a shared limit store: what workers of a killed supervisor held there. */
  readonly earlierWorkers?: EarlierWorkers;
  /** CountedOptions of the ledger. Limits are opened after the ledger and fill it in. */
  readonly counting: { kept?: () => () => boolean };
}

/** Opens what is stored about calls: their costs, their content, and their counts for limits. */
export async function openRecords(base: Base, storage: Storage): Promise<Records> {
  const { options, log, closing } = base;
  if (options.limitStore !== null) return await openRecordsOfShared(base, storage);
  const countStore = openLimitCounts(join(options.dataFolder, "limits.sqlite"));
  closing.add(() => countStore.close());
  const keepsCounts = countStore.hold();
  const counting: Records["counting"] = {};
  if (!keepsCounts) log.warn({ source: "limits" }, "another process counts limits in this data folder");
  const records = await openCallRecords(base, storage, {
    sink: storage.calls,
    counted: {
      atStart: keepsCounts,
      keepsCounts: () => countStore.isHeld,
      sinceMs: () => Math.min(countStore.keptAtMs(), systemClock.now()) - COUNTED_BEFORE_MS,
      kept: () => counting.kept?.() ?? null,
    },
  });
  return { ...records, countStore, counting };
}

/** With a shared limit store, journals state no counts, but what workers of a killed supervisor held. */
async function openRecordsOfShared(base: Base, storage: Storage): Promise<Records> {
  const { options, closing } = base;
  const { dataFolder, ledger } = options;
  const earlierWorkers = openEarlierWorkers(dataFolder, ledgerFolderOf({ dataFolder, ledgerFolder: ledger.folder }));
  closing.add(() => earlierWorkers.close());
  const records = await openCallRecords(base, storage, {
    sink: storage.calls,
    beforeRecovery: () => completeJournals(leasesFolderOf(dataFolder)),
    counted: {
      atStart: false,
      keepsCounts: () => earlierWorkers.isCharged(),
      sinceMs: () => Number.POSITIVE_INFINITY,
      kept: () => () => true,
    },
  });
  return { ...records, countStore: null, counting: {}, earlierWorkers };
}

interface CallRecordOptions extends Pick<LedgerOptions, "sink" | "counted" | "adopts" | "beforeRecovery"> {
  /** What writes the content of calls, unless this process does. */
  readonly contentWriter?: ContentWriter;
}

type CallRecords = Awaited<ReturnType<typeof openCallRecords>>;

/** Opens what is stored about calls but for the counts of limits. */
export async function openCallRecords(
  { options, log, closing }: Base,
  { calls, cipher }: Storage,
  { contentWriter, ...ledgerOptions }: CallRecordOptions,
) {
  const contents = openContentStore({ calls, writer: contentWriter, cipher, now: () => systemClock.now() });
  const contentLog = openContentLog({
    store: contents,
    onProblem(message, isRetried) {
      if (isRetried) log.warn({ error_detail: message }, "the content of calls could not be kept; this is retried");
      else log.warn({ error_detail: message }, "the content of calls is not kept");
    },
  });
  const ledger = await openLedger({
    folder: ledgerFolderOf({ dataFolder: options.dataFolder, ledgerFolder: options.ledger.folder }),
    settings: options.ledger,
    clock: systemClock,
    ...ledgerOptions,
    log: (level, message, fields = {}) => log[level]({ ...fields }, message),
  });
  // From here on the parts finish their pending work at close, and none needs another for that.
  closing.add(() => ledger.end(), LAST_ROWS_MS);
  closing.beside(() => contentLog.end(LAST_WRITES_MS));
  return { calls, contents, contentLog, ledger };
}
